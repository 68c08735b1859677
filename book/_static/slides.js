// The pictures of a deck are there before they are turned to or printed; those of the other theme are not loaded.
{
  const other = document.documentElement.dataset.theme === "dark" ? ".only-light" : ".only-dark";
  for (const picture of document.querySelectorAll(`img:not(${other})`)) picture.loading = "eager";
}
// A deck is a document. Where there is room for a slide, and not on paper, reveal.js shows one at a time. It undoes a reader's zoom,
// which takes that room away.
const room = matchMedia("(min-width: 700px) and (min-height: 420px)");
const paged = room.matches && !location.search.includes("print");
room.addEventListener("change", () => {
  if (room.matches !== paged && !location.search.includes("print") && !matchMedia("print").matches) location.reload();
});
if (paged) {
  const deck = document.querySelector("main");
  document.documentElement.dataset.deck = "slides";
  deck.classList.add("reveal");
  deck.firstElementChild.className = "slides";
  Reveal.initialize({
    width: 1120, height: 700, margin: 0.04, center: false, display: "flex", transition: "none", hash: true, slideNumber: "c/t",
    controlsTutorial: false,
  }).then(() => {
    // To a screen reader reveal.js is an application, which hides its pictures, and says the ticks of drawings: a slide is a
    // part of a page here, and is said in words.
    deck.removeAttribute("role");
    deck.querySelector(".aria-status").remove();
    const status = Object.assign(document.createElement("p"), { className: "visually-hidden", role: "status" });
    deck.append(status);
    const say = (part) => {
      status.textContent = inWords(part);
      queueMicrotask(() => { // the last slide disables the button that led to it
        if (document.activeElement.disabled) Reveal.getCurrentSlide().querySelector("h1, h2").focus();
      });
    };
    for (const heading of deck.querySelectorAll("h1, h2")) heading.tabIndex = -1;
    Reveal.on("slidechanged", ({ currentSlide }) => say(currentSlide));
    Reveal.on("fragmentshown", ({ fragment }) => say(fragment));
    // a slider that was moved with the mouse gives the keys back to the deck
    for (const slider of document.querySelectorAll("input[type=range]")) slider.addEventListener("pointerup", () => slider.blur());
  });
} else if (location.hash.startsWith("#/")) {
  history.scrollRestoration = "manual"; // the address says where the reader is: #/3 is a slide
  document.querySelectorAll("main section")[location.hash.split("/")[1]]?.scrollIntoView();
}
