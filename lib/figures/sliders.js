// Figures that move: the sliders swap the attributes and contents in which the frames differ.
for (const figure of document.querySelectorAll(".moving:not([data-ready])")) {
  const { values, tracks } = JSON.parse(figure.querySelector('[type="application/json"]').textContent);
  const parts = tracks.map(([part]) => figure.querySelector(`[data-part="${part}"]`));
  const sliders = [...figure.querySelectorAll("input")];
  const show = () => {
    const frame = sliders.reduce((row, slider, k) => row * values[k].length + slider.valueAsNumber, 0);
    tracks.forEach(([, name, states], track) => {
      const state = typeof states[frame] === "number" ? states[states[frame]] : states[frame];
      if (name === "") parts[track].innerHTML = state;
      else if (state === null) parts[track].removeAttribute(name);
      else parts[track].setAttribute(name, state);
    });
    sliders.forEach((slider, k) => {
      const value = values[k][slider.value];
      slider.setAttribute("aria-valuetext", value);
      slider.parentElement.querySelector("output").textContent = value;
    });
  };
  for (const slider of sliders) {
    slider.addEventListener("input", show);
    slider.parentElement.hidden = false;
  }
  show(); // a browser may restore the sliders of an earlier visit
  figure.dataset.ready = "";
}
