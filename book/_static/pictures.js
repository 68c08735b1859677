// A picture opens at its full size, to be moved about by touch, wheel or arrow keys; without this script its link shows the file.
// A figure that moves does so where the page is narrow, with its sliders, and goes back to its place.
addEventListener("DOMContentLoaded", () => {
  const moving = document.querySelectorAll(".bd-article div.moving");
  if (!document.querySelector("a.zoom") && !moving.length) return;
  const box = document.createElement("dialog");
  box.className = "zoomed cell_output";
  box.setAttribute("aria-label", said.picture);
  box.innerHTML = '<form method="dialog"><button>×</button></form><div tabindex="0" autofocus></div>';
  box.querySelector("button").setAttribute("aria-label", said.close);
  document.querySelector("article").append(box);
  const inside = box.querySelector("div");
  const open = (picture) => {
    inside.replaceChildren(picture);
    box.showModal();
    inside.scrollTo(0, 0);
  };

  for (const figure of moving) {
    const button = figure.querySelector(".enlarge");
    button.addEventListener("click", () => {
      const place = document.createElement("div");
      place.style.height = `${figure.offsetHeight}px`; // so that the page stays as it is
      figure.replaceWith(place);
      open(figure);
      box.addEventListener("close", () => {
        place.replaceWith(figure);
        button.focus();
      }, { once: true });
    });
  }
  box.addEventListener("keydown", event => { if (event.key === "Escape") box.close(); }); // the theme keeps Escape from dialogs
  document.addEventListener("click", event => {
    const link = event.target.closest("a.zoom");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      open([...link.querySelectorAll("img")].find((image) => image.checkVisibility()).cloneNode());
    } else if (event.target === box) {
      box.close();
    }
  });
});
