// "Before you look": what follows a question and its button is hidden, up to the next heading or the next question, until the
// reader asks for it or a link leads into it.
{
  const answers = new Map();  // a button, and what it shows
  const all = document.querySelector(".all-answers");

  const show = (button) => {
    for (const part of answers.get(button)) part.classList.remove("undecided");
    answers.delete(button);
    button.remove();
    if (!answers.size) all.remove();
  };

  for (const button of document.querySelectorAll(".answer")) {
    const hidden = [];
    let next = button.nextElementSibling;
    while (next && !next.matches("section, p:has(+ .answer)")) {
      hidden.push(next);
      next = next.nextElementSibling;
    }
    for (const part of hidden) part.classList.add("undecided");
    answers.set(button, hidden);
    button.addEventListener("click", () => {
      show(button);
      hidden[0].tabIndex = -1;  // the keyboard goes on from what appears
      hidden[0].focus({ preventScroll: true });
    });
  }

  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (const [button, hidden] of answers) {
      if (!hidden.some((part) => part.contains(target))) continue;
      show(button);
      target.scrollIntoView();
    }
  };

  all?.addEventListener("click", () => {
    const [first] = answers.values();
    for (const button of [...answers.keys()]) show(button);
    first[0].tabIndex = -1;
    first[0].focus({ preventScroll: true });
  });
  follow();
  addEventListener("hashchange", follow);
}
