// "Before you look": the figure that answers a question stays hidden until the reader asks for it, or a link leads to it.
for (const question of document.querySelectorAll(".bd-article p")) {
  if (!/before you look/i.test(question.textContent)) continue;
  const follows = (figure) => question.compareDocumentPosition(figure) & Node.DOCUMENT_POSITION_FOLLOWING;
  const figure = [...question.closest("section").querySelectorAll("figure[id]")].find(follows);
  const named = () => decodeURIComponent(location.hash.slice(1)) === figure?.id;
  if (!figure || named()) continue;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn";
  button.textContent = "Show the figure";
  const show = () => {
    figure.classList.remove("undecided");
    button.remove();
  };
  button.addEventListener("click", show);
  addEventListener("hashchange", () => named() && show());
  figure.classList.add("undecided");
  figure.append(button);
}
