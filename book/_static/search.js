/* Search among the places that places.js lists: by words, by the book's numbers ("2.4", "Fig. 2.6") and by the sources' ("Eq. 7"). */
(() => { // so that its names are its own
"use strict";

const [PAGE, ANCHOR, KIND, NUMBER, TITLE, TEXT, SECTION, SOURCE, VERDICT, FORMULA, TERMS] = Array(11).keys();
const FIRST = 20; // results that are shown before one asks for all

/* ---- words ---- */

// What is cited by number, and its numbers: "Eqs. 43–48", "Theorem 6", "Figure 1(b)", "§3.1", "App. B".
const CITED = new Set(
  ("eq equation theorem thm lemma prop proposition corollary definition assumption fig figure table sec section § chapter exercise " +
    "app appendix").split(" "),
);
const NUMBERS = new RegExp(
  "\\.?\\s*((?:\\(?(?:\\d[\\d.]*|[A-Z](?:\\.\\d+)*(?!\\p{L}))(?:\\([a-z]\\))?\\)?(?:\\s*[–-]\\s*|,\\s*(?:and\\s*)?|\\s+and\\s+)?)+)",
  "uy",
);
const SHORT = { equation: "eq", thm: "theorem", proposition: "prop", figure: "fig", sec: "section", "§": "section", appendix: "app" };
const GREEK = Object.fromEntries(
  ("α alpha β beta γ gamma δ delta ε epsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi ο omicron π pi ρ rho " +
    "ς sigma σ sigma τ tau υ upsilon φ phi ϕ phi χ chi ψ psi ω omega").match(/\S+ \S+/g).map((pair) => pair.split(" ")),
);
const WORD = /[§Α-Ωα-ωϕ]|(?:(?![Α-Ωα-ωϕ])[\p{L}\p{N}\p{M}])+(?:\.\d+)*/gu;
const STOP = new Set(
  "a an and are as at be but by for from how in is it its of on or so than that the their then this to was what when where which with".split(" "),
);

const normal = (word) => {
  if (/^[a-z\d.]+$/i.test(word)) return word.toLowerCase();
  const plain = word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return GREEK[plain] || plain;
};

/** Remember what a function made of a word. */
const remembering = (make, known = new Map()) => (word) => {
  if (!known.has(word)) known.set(word, make(word));
  return known.get(word);
};

const stem = remembering((word) => {
  const one = word.replace(/(?:ies|y)$/, "i").replace(/(?<!s)s$/, "");
  const short = one.replace(/([^aeiouls])\1(?:ing|ed)$/, "$1").replace(/(?:ing|ed|e)$/, "");
  return short.length >= 3 ? short : word;
});

/** List the words of a text, each with where it begins and ends: {word, also, from, to}. A citation is one word, "eq.7". */
function words(text) {
  const found = [];
  let end = 0; // of the last citation
  for (const match of text.matchAll(WORD)) {
    const word = normal(match[0]), from = match.index;
    if (from < end) continue;
    const name = CITED.has(word) ? word : word.replace(/s$/, "");
    if (CITED.has(name)) {
      NUMBERS.lastIndex = from + match[0].length;
      const cited = NUMBERS.exec(text);
      if (cited) {
        end = citation(found, SHORT[name] || name, cited[1], from, NUMBERS.lastIndex, name !== word);
        continue;
      }
    }
    found.push({ word, from, to: from + match[0].length });
  }
  return found;
}

/** Add to the words those of a citation that reaches from one place to another with a list of numbers; say where it ends. */
function citation(found, kind, list, from, to, many) {
  const numbers = [...list.matchAll(/(\d[\d.]*|[A-Z](?:\.\d+)*)(\([a-z]\))?\)?(\s*[–-](?=\s*\(?\d))?/gu)];
  if (!many && !numbers[0][3]) numbers.length = 1; // "in Eq. 7, 20 starts" cites one equation
  const last = numbers.at(-1), end = to - list.length + last.index + last[0].replace(/\.$/, "").length;
  const add = (number, also) => found.push({ word: `${kind}.${number}`, also, from, to: end });
  let start = null; // of a range
  for (const [, digits, letter, goesOn] of numbers) {
    const number = digits.replace(/\.$/, "").toLowerCase();
    for (let between = start; start !== null && between < Number(number); between++) add(between);
    if (letter) add(number + letter[1], `${kind}.${number}`);
    else add(number, number.includes(".") ? number : undefined);
    start = goesOn && /^\d+$/.test(number) ? Number(number) + 1 : null;
  }
  return end;
}

/* ---- the index ---- */

const KINDS = {
  chapter: ["Chapter", "chapter section", 1.1], page: ["Page", "", 0.7], section: ["Section", "section", 1.15],
  claim: ["Claim", "", 1], equation: ["Equation", "eq", 0.95], figure: ["Fig.", "fig", 0.95], theorem: ["Theorem", "theorem", 1.1],
  exercise: ["Exercise", "exercise", 0.8], solution: ["Solution", "", 0.5], reference: ["Reference", "", 0.6],
  item: ["Where", "", 1.4],
};

/** Weigh every word of every place: a map from words to [place, weight] pairs. */
function weigh(places, pages) {
  const index = new Map();
  places.forEach((place, which) => {
    const weights = new Map();
    const count = (word, weight) => word && weights.set(word, (weights.get(word) || 0) + weight);
    const add = (text, weight) => words(text).forEach(({ word, also }) => [word, also].forEach((each) => count(each, weight)));
    const [, names] = KINDS[place[KIND]];
    if (place[NUMBER]) add(names.split(" ").map((name) => `${name} ${place[NUMBER]}`).join("; "), 60);
    if (!place[NUMBER].includes(".")) count(place[NUMBER], 60); // of a chapter
    add(place[TITLE], 6 / (1 + place[TITLE].length / 80));
    add(place[SOURCE], 4);
    add(place[TEXT], 1 / (0.5 + place[TEXT].length / 1200));
    add(place[TERMS], 4);
    add(`${place[KIND]} ${place[VERDICT]}`, 4);
    if (place[KIND] === "claim") add(place[ANCHOR].replace(/[-_]/g, " "), 1.5);
    else add(pages[place[PAGE]], 0.2);
    weights.forEach((weight, word) => (index.get(word) || index.set(word, []).get(word)).push([which, weight]));
  });
  return index;
}

/** Say how well a word of the text answers a word of the query, from 0 to 1. */
function likeness(asked, word) {
  if (asked === word) return 1;
  if (/\d/.test(asked)) return 0; // "eq.7" is not "eq.70"
  if (stem(asked) === stem(word)) return 0.7;
  if (asked.length >= 3 && word.startsWith(asked)) return 0.5;
  return stem(asked).length >= 5 && word.startsWith(stem(asked)) ? 0.4 : 0;
}

class Finder {
  constructor({ pages, places, synonyms }) {
    Object.assign(this, { pages, places, synonyms });
    this.index = weigh(places, pages);
    this.flat = remembering((text) => ` ${words(text).map(({ word }) => stem(word)).join(" ")} `);
  }

  /**
   * Find the places for a query: {found: the places, best first; marked: words to mark; instead: the book's names that were searched
   * besides; complete: whether some place has all the words}.
   */
  find(query) {
    const asked = words(query.replace(/(?<=\p{L})[_/-](?=[\p{L}\d])/gu, " ")).map(({ word }) => word), whole = ` ${asked.join(" ")} `;
    const scores = new Map(), marked = new Set(), instead = [];
    const search = (list, share) => {
      const { total, whole } = this.scores(list, marked);
      total.forEach((score, which) => scores.set(which, Math.max(scores.get(which) || 0, (whole ? share : share / 3) * score)));
      return whole;
    };
    let complete = search(asked, 1);
    for (const [elsewhere, here] of this.synonyms) {
      for (const name of elsewhere) {
        const named = ` ${words(name).map(({ word }) => word).join(" ")} `;
        if (!whole.includes(named)) continue;
        for (const other of here) complete = search(words(whole.replace(named, ` ${other} `)).map(({ word }) => word), 0.9) || complete;
        instead.push(...here.filter((other) => !instead.includes(other)));
      }
    }
    const found = [...scores].sort((one, other) => other[1] - one[1] || one[0] - other[0]).map(([which]) => this.places[which]);
    return { found, marked, instead, complete };
  }

  /** Say how much a place counts: chapters are what the book is about. */
  share(place) {
    return KINDS[place[KIND]][2] * (place[KIND] !== "section" || /^\d/.test(this.pages[place[PAGE]]) ? 1 : 0.7);
  }

  /** Score the places that have all words of a list, or, if none has, those that have the most. */
  scores(asked, marked) {
    const plain = asked.filter((word) => !STOP.has(word)), list = [...new Set(plain.length ? plain : asked)];
    const total = new Map(), hits = new Map(), matched = [];
    for (const word of list) {
      const best = new Map();
      for (const [other, entries] of this.index) {
        const like = likeness(word, other);
        if (!like) continue;
        matched.push(other);
        for (const [which, weight] of entries) best.set(which, Math.max(best.get(which) || 0, (like * weight) / (like * weight + 2)));
      }
      const rarity = Math.log(1 + this.places.length / (1 + best.size));
      best.forEach((share, which) => {
        total.set(which, (total.get(which) || 0) + rarity * share);
        hits.set(which, (hits.get(which) || 0) + 1);
      });
    }
    const most = Math.max(...hits.values(), 0), phrase = ` ${asked.map(stem).join(" ")} `;
    if (most) matched.forEach((word) => marked.add(word));
    hits.forEach((count, which) => {
      if (count < most) return total.delete(which);
      const place = this.places[which], title = `${place[TITLE]} / ${place[SOURCE]} / ${place[VERDICT]}`;
      const together = this.flat(title).includes(phrase) ? 1.6 : list.length > 1 && this.flat(place[TEXT]).includes(phrase) ? 1.3 : 1;
      total.set(which, total.get(which) * together * this.share(place));
    });
    return { total, whole: most === list.length };
  }
}

/* ---- what is shown ---- */

const element = (name, attributes, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children.filter((child) => child !== ""));
  return made;
};

/** Put a text into an element, with the words that were found marked. */
function mark(parent, text, marked) {
  let end = 0;
  for (const { word, also, from, to } of words(text)) {
    if (from < end || !(marked.has(word) || (also && marked.has(also))) || STOP.has(word)) continue;
    parent.append(text.slice(end, from), element("mark", {}, text.slice(from, to)));
    end = to;
  }
  parent.append(text.slice(end));
  return parent;
}

/** Choose the sentence with the most of the words, and no more of it than a few lines. */
function sentence(text, marked, length = 240) {
  let best = "", most = 0, where = 0;
  for (const part of text.split(/(?<=[.!?…])\s+(?=[\p{Lu}“])/u)) {
    const found = words(part).filter(({ word, also }) => (marked.has(word) || marked.has(also)) && !STOP.has(word));
    const count = new Set(found.map(({ word }) => stem(word))).size;
    if (count > most) [best, most, where] = [part, count, found[0].from];
  }
  if (!best) best = text;
  if (best.length <= length) return best;
  const from = where < length * 0.7 ? 0 : best.indexOf(" ", where - length / 3) + 1;
  const to = best.lastIndexOf(" ", from + length);
  return (from ? "… " : "") + best.slice(from, to > from ? to : from + length) + (to < best.length ? " …" : "");
}

function result(place, pages, marked) {
  const [kind] = KINDS[place[KIND]], claim = place[KIND] === "claim", reference = place[KIND] === "reference";
  const link = element("a", { href: `${place[PAGE]}#${place[ANCHOR]}` });
  const name = claim || place[KIND] === "solution" || !place[NUMBER] ? kind : `${kind} ${place[NUMBER]}`;
  link.append(element("span", { className: "place-kind" }, name), " ");
  const verdict = `place-verdict ${place[VERDICT].replaceAll(" ", "-")}`;
  if (place[VERDICT]) link.append(element("span", { className: verdict }, place[VERDICT]), " ");
  if (!place[FORMULA]) mark(link, place[TITLE], marked);
  const item = element("li", {}, link);
  if (place[FORMULA]) item.append(element("div", { className: "place-formula", tabIndex: 0, innerHTML: place[FORMULA] }));
  const text = sentence(place[TEXT], marked);
  if (text && !(claim && !place[TEXT])) item.append(mark(element("p", { className: "place-text" }), text, marked));
  const where = [pages[place[PAGE]], place[SECTION] === place[TITLE] || reference ? "" : place[SECTION]];
  const itself = `${place[NUMBER]} ${place[TITLE]}`.trim();
  const line = element("p", { className: "place-where" }, where.filter((part) => part && part !== itself).join(" › "));
  if (place[SOURCE]) mark(line, ` · ${place[SOURCE]}`, marked);
  if (line.textContent) item.append(line);
  return item;
}

function start() {
  const field = document.querySelector(".bd-search-container input[name=q]"), out = document.getElementById("search-results");
  const status = document.getElementById("search-status"), finder = new Finder(PLACES);
  window.findPlaces = (query) => finder.find(query).found; // for the tests

  const show = (query, all = false) => {
    out.replaceChildren();
    document.getElementById("search-hints").hidden = Boolean(query);
    if (!query) return void (status.textContent = "");
    const { found, marked, instead, complete } = finder.find(query), shown = all ? found : found.slice(0, FIRST);
    const some = shown.length < found.length ? `, the first ${FIRST} shown` : "";
    const few = complete ? "" : " No exact match; the closest results are shown.";
    const besides = instead.length ? ` Also searched for the book’s own terms: ${instead.join(", ")}.` : "";
    status.textContent = found.length
      ? `${found.length} ${found.length === 1 ? "result" : "results"} for “${query}”${some}.${few}${besides}`
      : `No results for “${query}”. The search covers the book’s words, its numbers and those of the sources.`;
    const list = element("ol", { className: "places" }, ...shown.map((place) => result(place, finder.pages, marked)));
    out.append(list);
    if (shown.length < found.length) {
      const more = element("button", { type: "button", className: "places-more" }, `Show all ${found.length}`);
      more.addEventListener("click", () => {
        show(query, true);
        out.querySelectorAll("li > a")[FIRST].focus();
      });
      out.append(more);
    }
  };

  let waiting;
  const search = () => {
    clearTimeout(waiting);
    const query = field.value.trim();
    try {
      history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : location.pathname);
    } catch { /* some browsers forbid it for files: the address stays */ }
    show(query);
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 150);
  });
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  field.closest(".bd-search-container").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], stops = [field, ...out.querySelectorAll("li > a")];
    const at = stops.indexOf(document.activeElement);
    if (!step || at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    stops[Math.max(0, Math.min(stops.length - 1, at + step))].focus();
  });
  field.value = new URLSearchParams(location.search).get("q") || "";
  show(field.value.trim());
  field.focus();
  field.select();
}

document.addEventListener("DOMContentLoaded", start);
})();
