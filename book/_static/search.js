/* The page of results: Pagefind's own interface. The address keeps the question, and a citation is found as a whole. */
(() => { // so that its names are its own
"use strict";

const CITATION = new RegExp(`^(${said.places}) \\(?\\d+(\\([a-z]\\))?\\)?$`, "i"); // of a source: no dot
const RESULT = ".pagefind-ui__result";
const RANKING = { pageLength: 0.3, termSimilarity: 10 }; // long chapters before short plans; 2.4 before 2.45

/** Return what Pagefind is asked for: no dots that end a word, and a citation such as "Eq. 7" in quotes. */
function processTerm(asked) {
  const words = asked.trim().replace(/\.(?=\s|$)/g, "").replace(/^equation /i, "eq ").replace(/^figure (?=E?\d+\.\d)/i, "fig ")
    .replace(/\b(figure \d+)\(?([a-z])\)?(?=\s|$)/i, "$1($2)"); // 1b is 1(b)
  return CITATION.test(words) ? `"${words}"` : words;
}

/** Show the three best places of a page, first those whose heading has the words, with dots as they are on the page. */
function processResult(page) {
  const score = (place) => place.weighted_locations.reduce((sum, word) => sum + word.balanced_score, 0);
  const places = page.sub_results.filter((place) => place.url !== page.url).sort((a, b) => score(b) - score(a)).slice(0, 3);
  return JSON.parse(JSON.stringify({ ...page, sub_results: places }).replaceAll("\u2024", "."));
}

function start() {
  const place = document.getElementById("search"), address = new URL(location);
  if (address.protocol === "file:") {
    place.innerHTML = said.serve;
    return;
  }
  document.getElementById("search-hints").hidden = false;
  const site = new URL(".", address).pathname;
  const search = new PagefindUI({
    element: place, baseUrl: site, bundlePath: `${site}pagefind/`, showSubResults: true, showImages: false, autofocus: true,
    excerptLength: 24, pageSize: 10, ranking: RANKING, processTerm, processResult,
  });
  const field = place.querySelector("input");
  field.setAttribute("aria-label", said.search);
  const keep = (question) => {
    if (question) address.searchParams.set("q", question);
    else address.searchParams.delete("q");
    history.replaceState(null, "", address);
  };
  const clear = () => {
    keep("");
    field.focus(); // Pagefind takes it away
  };
  let next; // the first result of those that "load more" brings
  field.addEventListener("input", () => keep(field.value));
  field.addEventListener("keydown", (event) => event.key === "Escape" && clear());
  place.addEventListener("click", ({ target }) => target.matches(".pagefind-ui__search-clear") && clear());
  place.addEventListener("click", ({ target }) => {
    if (target.matches(".pagefind-ui__button")) next = place.querySelectorAll(RESULT).length;
  }, true); // before they are there
  // how many there are is said, too
  const status = Object.assign(document.createElement("p"), { className: "visually-hidden", role: "status" });
  place.before(status);
  new MutationObserver(() => {
    const said = place.querySelector(".pagefind-ui__message")?.textContent ?? "";
    if (status.textContent !== said) status.textContent = said;
    const link = next && place.querySelectorAll(RESULT)[next]?.querySelector("a");
    if (!link) return;
    next = undefined;
    if (document.activeElement === document.body) link.focus(); // the last "load more" is gone
  }).observe(place, { childList: true, characterData: true, subtree: true });
  const asked = address.searchParams.get("q");
  if (asked) search.triggerSearch(asked);
}

addEventListener("DOMContentLoaded", start);
})();
