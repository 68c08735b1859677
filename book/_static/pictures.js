// A picture opens at its full size, to be moved about by touch, wheel or arrow keys; without this script its link shows the file.
addEventListener("DOMContentLoaded", () => {
  if (!document.querySelector("a.zoom")) return;
  const box = document.createElement("dialog");
  box.className = "zoomed";
  box.setAttribute("aria-label", "Picture at full size");
  box.innerHTML = '<form method="dialog"><button aria-label="Close">×</button></form><div tabindex="0" autofocus></div>';
  document.querySelector("article").append(box);
  const inside = box.querySelector("div");

  box.addEventListener("keydown", event => { if (event.key === "Escape") box.close(); }); // the theme keeps Escape from dialogs
  document.addEventListener("click", event => {
    const link = event.target.closest("a.zoom");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      inside.replaceChildren(link.querySelector("img").cloneNode());
      box.showModal();
      inside.scrollTo(0, 0);
    } else if (event.target === box) {
      box.close();
    }
  });
});
