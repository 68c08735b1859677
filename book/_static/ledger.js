// The ledger: filtered by chapter, verdict and words, sorted by a column, 25 rows a page. Without JavaScript it is a plain table.
const PER_PAGE = 25;
const form = document.querySelector(".ledger-filter");
const { chapter, verdict, words } = form.elements;
const pages = document.querySelector(".ledger-pages");
const heads = [...document.querySelectorAll(".all-claims thead th")];
const body = document.querySelector(".all-claims tbody");
const rows = [...body.rows].map((row, number) => {
  const cells = [...row.cells].map((cell) => cell.textContent.trim());
  const verdict = row.querySelector("td:last-child span").className.replace("-", " "); // whatever its word is
  return { row, cells, number, chapter: cells.at(-2), verdict, words: plain(row.textContent) };
});
for (const value of new Set(rows.map((entry) => entry.chapter))) chapter.add(new Option(value));
const asked = new URLSearchParams(location.search);
let page = Number(asked.get("page") ?? 1);
let order = asked.get("order") ?? ""; // a column's name, behind a minus if the last comes first

const isVerdict = (found) => ["", found].includes(verdict.value) || (verdict.value === "errata" && /^(corrected|slip)$/.test(found));
const chosen = () =>
  rows.filter(
    (entry) => ["", entry.chapter].includes(chapter.value) && isVerdict(entry.verdict) && entry.words.includes(plain(words.value)),
  );
const sorted = (entries) => {
  const column = heads.findIndex((head) => head.textContent.trim() === order.replace("-", ""));
  const compare = new Intl.Collator(document.documentElement.lang, { numeric: true }).compare;
  const sign = order.startsWith("-") ? -1 : 1;
  return column < 0 ? entries : entries.sort((a, b) => sign * compare(a.cells[column], b.cells[column]) || a.number - b.number);
};
const show = () => {
  const fit = sorted(chosen());
  const last = Math.max(1, Math.ceil(fit.length / PER_PAGE));
  page = Math.min(Math.max(1, page), last);
  body.replaceChildren(...fit.slice((page - 1) * PER_PAGE, page * PER_PAGE).map((entry) => entry.row));
  form.querySelector("output").textContent = filled(said.claims, fit.length, rows.length);
  pages.hidden = last === 1;
  pages.querySelector("output").textContent = filled(said.page, page, last);
  for (const button of pages.querySelectorAll("button")) {
    const goal = page + Number(button.value);
    button.ariaDisabled = goal < 1 || goal > last; // not `disabled`, which would lose the focus
  }
  for (const head of heads) {
    const own = order.replace("-", "") === head.textContent.trim();
    head.ariaSort = own ? (order.startsWith("-") ? "descending" : "ascending") : null;
  }
};
const change = (to) => {
  page = to;
  show();
  const address = new URL(location);
  address.hash = "";
  const state = { chapter: chapter.value, verdict: verdict.value, words: words.value, order, page: page > 1 ? page : "" };
  for (const [name, value] of Object.entries(state)) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(history.state, "", address); // so that what is shown can be linked to, and is there after "back"
};

// a link to a claim shows it, whatever is chosen
const follow = () => {
  const wanted = location.hash && rows.find((entry) => entry.row.querySelector(`[id="${location.hash.slice(1)}"]`));
  if (!wanted) return;
  if (!chosen().includes(wanted)) for (const choice of [chapter, verdict, words]) choice.value = "";
  page = 1 + Math.floor(sorted(chosen()).indexOf(wanted) / PER_PAGE);
  show();
  wanted.row.scrollIntoView({ block: "center" });
};

for (const choice of [chapter, verdict, words]) choice.value = asked.get(choice.name) ?? "";
for (const head of heads) {
  const button = document.createElement("button");
  button.append(...head.querySelector("p").childNodes);
  head.querySelector("p").append(button);
  button.addEventListener("click", () => {
    const name = head.textContent.trim();
    order = order === name ? `-${name}` : name;
    change(1);
  });
}
form.addEventListener("input", () => change(1));
form.addEventListener("reset", () => {
  order = "";
  setTimeout(() => change(1)); // when the fields are empty
});
form.addEventListener("submit", (event) => event.preventDefault());
pages.addEventListener("click", (event) => event.target.ariaDisabled === "false" && change(page + Number(event.target.value)));
form.hidden = false;
show();
follow();
addEventListener("hashchange", follow);
