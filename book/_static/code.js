// "Show all code": opens every folded cell, on this page and on those to come; without JavaScript each fold has its own line.
{
  const folds = document.querySelectorAll("details.hide, details.claim-fold");
  const button = document.querySelector(".all-code");
  const memory = {
    get shown() { try { return localStorage.getItem("code") === "shown"; } catch { return false; } }, // storage may be barred
    set shown(all) { try { all ? localStorage.setItem("code", "shown") : localStorage.removeItem("code"); } catch {} },
  };
  if (button) {
    const open = (all) => {
      button.setAttribute("aria-pressed", all);
      for (const fold of folds) fold.open = all;
    };
    button.addEventListener("click", () => {
      const all = button.getAttribute("aria-pressed") !== "true";
      // what the reader looks at stays where it is
      const parts = [...document.querySelectorAll(".bd-article section > *")];
      const seen = scrollY ? parts.find((part) => part.localName !== "section" && part.getBoundingClientRect().bottom > 80) : undefined;
      const before = seen?.getBoundingClientRect().top;
      open(all);
      if (seen) scrollBy({ top: seen.getBoundingClientRect().top - before, behavior: "instant" });
      memory.shown = all;
    });
    button.setAttribute("aria-pressed", memory.shown);
    if (memory.shown) open(true); // what a link has opened stays open
  }
}
