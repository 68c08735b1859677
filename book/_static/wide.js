// A formula in the text that is wider than its line gets a line of its own, which scrolls.
addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  const widen = () => {
    for (const formula of document.querySelectorAll(".bd-article mjx-container:not([display], .wide)")) {
      const line = formula.parentElement.closest("p, li, dd, td, figcaption, div");
      const width = formula.querySelector("mjx-math")?.getBoundingClientRect().width ?? 0;
      if (line.clientWidth && width > line.clientWidth) formula.classList.add("wide");
    }
  };
  widen();
  addEventListener("resize", widen);
  document.addEventListener("toggle", widen, true);
  document.addEventListener("click", () => setTimeout(widen), true); // solutions that unfold
});
