// Figures that move: the slider swaps the attributes and contents in which the frames differ.
for (const figure of document.querySelectorAll(".moving:not([data-ready])")) {
  const { alt, values, said, tracks } = JSON.parse(figure.querySelector('[type="application/json"]').textContent);
  const parts = tracks.map(([part]) => figure.querySelector(`[data-part="${part}"]`));
  const slider = figure.querySelector("input"), output = figure.querySelector("output"), picture = figure.querySelector("svg");
  const show = () => {
    const frame = slider.valueAsNumber;
    tracks.forEach(([, name, states], track) => {
      const state = typeof states[frame] === "number" ? states[states[frame]] : states[frame];
      if (name === "") parts[track].innerHTML = state;
      else if (state === null) parts[track].removeAttribute(name);
      else parts[track].setAttribute(name, state);
    });
    slider.setAttribute("aria-valuetext", `${values[frame]}: ${said[frame]}`);
    picture.setAttribute("aria-label", `${alt} ${said[frame]}`);
    output.textContent = values[frame];
  };
  slider.addEventListener("input", show);
  slider.parentElement.hidden = false;
  show(); // a browser may restore the slider of an earlier visit
  figure.dataset.ready = "";
}
