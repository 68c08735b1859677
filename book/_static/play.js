// Moving figures play: a button moves the slider to its end, frame by frame, and stops there. It knows nothing of the frames.
for (const button of document.querySelectorAll(".moving-play")) { // hidden where the reader wants less motion
  const slider = button.parentElement.querySelector("input");
  const name = slider.labels[0].textContent;
  let timer;
  const say = () => {
    button.setAttribute("aria-label", filled(timer ? said.pause : said.play, name));
    button.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${timer ? "M3 2h4v12H3zM9 2h4v12H9z" : "M3 1l11 7-11 7z"}"/></svg>`;
  };
  const pause = () => {
    timer = clearInterval(timer);
    say();
  };
  const move = (frame) => {
    slider.value = frame;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    if (slider.value === slider.max) pause();
  };
  button.addEventListener("click", () => {
    if (timer) return pause();
    if (slider.value === slider.max) move(0);
    timer = setInterval(() => move(slider.valueAsNumber + 1), Math.max(80, Math.min(400, 5000 / slider.max)));
    say();
  });
  slider.addEventListener("input", (event) => event.isTrusted && pause()); // the reader takes over
  matchMedia("(prefers-reduced-motion: reduce)").addEventListener("change", pause);
  say();
}
