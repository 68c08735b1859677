// "Before you look": what follows a question is hidden, up to the next heading or the next question, until the reader asks
// for it or a link leads into it.
{
  const asks = (part) => part.matches("p") && /before you look/i.test(part.textContent);
  const answers = new Map();  // a button, and what it shows

  const button = (words, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "btn predict";
    made.textContent = words;
    made.addEventListener("click", act);
    return made;
  };

  const show = (one) => {
    for (const part of answers.get(one)) part.classList.remove("undecided");
    answers.delete(one);
    one.remove();
    if (!answers.size) all.remove();
  };

  const all = button("Show all answers", () => [...answers.keys()].forEach(show));

  for (const question of [...document.querySelectorAll(".bd-article section > p")].filter(asks)) {
    const hidden = [];
    let next = question.nextElementSibling;
    while (next && !next.matches("section") && !asks(next)) {
      hidden.push(next);
      next = next.nextElementSibling;
    }
    if (!hidden.length) continue;
    for (const part of hidden) part.classList.add("undecided");
    const one = button("Show the answer", () => {
      show(one);
      hidden[0].tabIndex = -1;  // the keyboard goes on from what appears
      hidden[0].focus({ preventScroll: true });
    });
    answers.set(one, hidden);
    question.after(one);
  }
  if (answers.size) document.querySelector(".bd-article h1").after(all);

  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (const [one, hidden] of answers) {
      if (!hidden.some((part) => part.contains(target))) continue;
      show(one);
      target.scrollIntoView();
    }
  };
  follow();
  addEventListener("hashchange", follow);
}
