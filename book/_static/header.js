// The theme takes the focus off the buttons of the header, against the tooltips of the mouse; who uses keys needs it there, also
// when a dialog closes. The button of the colours says which are shown, and that of a solution which it opens.
for (const button of document.querySelectorAll(".theme-switch-button, .search-button, .sidebar-toggle")) {
  button.blur = () => button.matches(":focus-visible") || HTMLElement.prototype.blur.call(button);
}
for (const button of document.querySelectorAll(".theme-switch-button")) {
  const name = button.ariaLabel;
  const say = () => {
    const { title } = button.querySelector(`[data-mode="${document.documentElement.dataset.mode}"]`);
    button.ariaLabel = `${name}: ${title}`;
  };
  say();
  new MutationObserver(say).observe(document.documentElement, { attributeFilter: ["data-mode"] });
}
// Dialogs have names. After a link of the page's contents the keys go on from where it leads, not from the button.
const dialogs = { "pst-search-dialog": said.search, "pst-primary-sidebar-modal": said.chapters, "pst-secondary-sidebar-modal": said.here };
for (const [id, name] of Object.entries(dialogs)) {
  const dialog = document.getElementById(id);
  if (!dialog) continue;
  let goal = "";
  dialog.ariaLabel = name;
  dialog.addEventListener("click", (event) => (goal = event.target.closest('a[href^="#"]')?.hash.slice(1) ?? ""));
  dialog.addEventListener("close", () => {
    const heading = document.getElementById(decodeURIComponent(goal))?.querySelector("h1, h2, h3, h4");
    if (!heading) return;
    heading.tabIndex = -1;
    setTimeout(() => heading.focus({ preventScroll: true })); // after the theme, which goes back
  });
}
addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".toggle-button")) button.ariaLabel = inWords(button.parentElement);
});
