// "Where is Figure 5?": rows by document, verdict, scale and words. Without JavaScript all of them are there.
{
  const form = document.querySelector(".ledger-filter");
  const { paper, verdict, scale, words } = form.elements;
  const tables = [...document.querySelectorAll("table.coverage")];
  const names = tables.map((table) => table.querySelector("th").textContent.trim());
  const rows = tables.flatMap((table, number) => [...table.tBodies[0].rows].map((row) => ({
    row,
    paper: names[number],
    verdicts: [...row.querySelectorAll("[data-verdict]")].map((one) => one.dataset.verdict),
    compared: Boolean(row.querySelector(".source-scale")),
    words: plain(row.textContent),
  })));
  for (const name of names) paper.add(new Option(name)); // that of a whole paper begins those of its parts
  const asked = new URLSearchParams(location.search);

  const fits = (entry) =>
    entry.paper.startsWith(paper.value) && (!verdict.value || entry.verdicts.includes(verdict.value)) &&
    (!scale.value || entry.compared === (scale.value === "compared")) && entry.words.includes(plain(words.value));
  const show = () => {
    let count = 0;
    for (const entry of rows) {
      entry.row.hidden = !fits(entry);
      count += !entry.row.hidden;
    }
    for (const table of tables) table.closest("section").hidden = [...table.tBodies[0].rows].every((row) => row.hidden);
    document.querySelector(".where-index").hidden = count < rows.length; // what is found comes first
    form.querySelector("output").textContent = filled(said.shown, count, rows.length);
  };
  const fields = [paper, verdict, scale, words];
  const change = () => {
    show();
    const address = new URL(location);
    for (const choice of fields) {
      if (choice.value) address.searchParams.set(choice.name, choice.value);
      else address.searchParams.delete(choice.name);
    }
    history.replaceState(history.state, "", address);
  };

  // a link to a row shows it, whatever is filtered
  const follow = () => {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("tr[hidden]");
    if (!row) return;
    for (const choice of fields) choice.value = "";
    change();
    row.scrollIntoView();
  };

  for (const choice of fields) choice.value = asked.get(choice.name) ?? "";
  form.addEventListener("input", change);
  form.addEventListener("reset", () => setTimeout(change)); // when the fields are empty
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
  follow();
  addEventListener("hashchange", follow);
}
