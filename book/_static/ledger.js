// The ledger's filter: by chapter, verdict and words; without JavaScript the whole table stands there.
const form = document.querySelector(".ledger-filter");
const { chapter, verdict, words } = form.elements;
const plain = (text) => text.toLowerCase().replaceAll("’", "'"); // as it is typed
const ledger = [...document.querySelectorAll(".bd-article section section")].filter((part) => part.querySelector("table"));
const rows = ledger.flatMap((part) =>
  [...part.querySelectorAll("tbody tr")].map((row) => ({
    row,
    chapter: part.querySelector("h2").textContent.replace(/#$/, ""), // the sign is the heading's own link
    verdict: row.lastElementChild.textContent.trim(),
    words: plain(row.textContent),
  })),
);
for (const [choice, name] of [[chapter, "chapter"], [verdict, "verdict"]]) {
  for (const value of new Set(rows.map((entry) => entry[name]))) choice.add(new Option(value));
}
const show = () => {
  let shown = 0;
  for (const entry of rows) {
    const fits =
      ["", entry.chapter].includes(chapter.value) &&
      ["", entry.verdict].includes(verdict.value) &&
      entry.words.includes(plain(words.value));
    entry.row.hidden = !fits;
    shown += fits;
  }
  for (const part of ledger) part.hidden = !part.querySelector("tbody tr:not([hidden])");
  form.querySelector("output").textContent = `${shown} of ${rows.length} claims`;
};
const asked = new URLSearchParams(location.search);
for (const choice of [chapter, verdict, words]) choice.value = asked.get(choice.name) ?? "";
form.addEventListener("input", () => {
  show();
  const address = new URL(location);
  for (const choice of [chapter, verdict, words]) {
    if (choice.value) address.searchParams.set(choice.name, choice.value);
    else address.searchParams.delete(choice.name);
  }
  history.replaceState(history.state, "", address); // so that what is shown can be linked to, and is there after "back"
});
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
show();
