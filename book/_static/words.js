/* A message of the page, `said`, with its {} filled. */
function filled(message, ...values) {
  return message.replace(/\{\}/g, () => values.shift());
}

/* A text as one types it. */
function plain(text) {
  return text.toLowerCase().replaceAll("’", "'").replace(/\s+/g, " ");
}

/* What is shown of an element in words, for those who hear it: formulas as TeX, pictures, once, by their alternatives. */
function inWords(element) {
  const copy = element.cloneNode(true);
  for (const idle of copy.querySelectorAll("script, button, .only-dark, .fragment:not(.visible)")) idle.remove();
  for (const formula of copy.querySelectorAll("math[alttext]")) formula.replaceWith(formula.getAttribute("alttext"));
  for (const picture of copy.querySelectorAll("img[alt], svg[aria-label]")) {
    picture.replaceWith(` ${picture.getAttribute("aria-label") ?? picture.alt} `);
  }
  return copy.textContent.replace(/\s+/g, " ").trim();
}
