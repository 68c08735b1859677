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
addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".toggle-button")) button.ariaLabel = inWords(button.parentElement);
});
