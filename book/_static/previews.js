// Previews: a link to an equation, figure, claim, exercise, symbol or cited work shows it in a card: on hover, on focus, on a
// first tap (a second one follows the link). Escape closes. What a page holds for cards is in NAME.preview.js beside it (lib/site/previews.py),
// which is loaded when first asked for.
{
  const LINKS = '.bd-article a[href*="#"]:not([href*=":"], .headerlink)'; // those within the site
  const scripts = new Map();
  const card = document.createElement("div");
  Object.assign(card, { id: "preview", className: "preview cell_output", role: "tooltip", hidden: true });
  document.querySelector(".bd-article")?.append(card);
  let shown, timer, pointer;

  const load = (src) => {
    if (!scripts.has(src)) {
      const script = Object.assign(document.createElement("script"), { src });
      const loaded = new Promise((done) => (script.onload = script.onerror = ({ type }) => done(type === "load" && window.preview)));
      scripts.set(src, loaded);
      document.head.append(script);
    }
    return scripts.get(src);
  };
  const excerpts = (link) => load(link.href.replace(/(\.html)?[?#].*$/, ".preview.js"));

  function fit() {
    for (const formula of card.querySelectorAll("div.math > :not(.eqno)")) {
      const share = formula.clientWidth / formula.scrollWidth;
      if (share < 1) formula.style.fontSize = `${Math.max(60, Math.floor(98 * share))}%`;
    }
  }

  async function show(link) {
    hide();
    shown = link;
    const { title, parts = {} } = await excerpts(link);
    if (shown !== link) return; // another was asked for meanwhile
    const name = decodeURIComponent(link.hash.slice(1));
    if (!parts[name]) {
      shown = undefined;
      return "nothing";
    }
    card.innerHTML = parts[name];
    for (const image of card.querySelectorAll("img")) image.src = new URL(image.getAttribute("src"), link.href).href;
    if (link.pathname === location.pathname) {
      const drawing = document.getElementById(name)?.querySelector(".moving svg");
      if (drawing) card.prepend(drawing.cloneNode(true));
    }
    const where = [link.pathname !== location.pathname && title, pointer === "touch" && said.again].filter(Boolean).join(" · ");
    if (where) card.append(Object.assign(document.createElement("p"), { className: "preview-where", textContent: where }));
    link.setAttribute("aria-description", inWords(card)); // in its flat text a fraction would be a product
    link.removeAttribute("title"); // or the browser shows a second card
    card.style.visibility = "hidden";
    card.hidden = false;
    await Promise.all([...card.querySelectorAll("img")].map((image) => image.decode().catch(() => {})));
    if (shown !== link) return;
    fit();
    place(link);
  }

  function place(link) {
    const at = link.getBoundingClientRect();
    const above = at.top - 64; // under the bar that stays
    const below = innerHeight - at.bottom - 12;
    Object.assign(card.style, { left: "0", top: "0", maxHeight: "" });
    const { left, top, width, height } = card.getBoundingClientRect();
    const down = height <= below || below >= above;
    const most = Math.max(120, down ? below : above);
    const x = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8));
    const y = down ? at.bottom + 6 : at.top - Math.min(height, most) - 6;
    Object.assign(card.style, { left: `${x - left}px`, top: `${y - top}px`, maxHeight: `${most}px`, visibility: "" });
  }

  function hide() {
    clearTimeout(timer);
    shown?.removeAttribute("aria-description");
    shown = undefined;
    card.hidden = true;
  }

  const later = (what, wait) => {
    clearTimeout(timer);
    timer = setTimeout(what, wait);
  };
  const linkAt = (event) => event.target.closest?.(LINKS);
  document.addEventListener("pointerdown", (event) => (pointer = event.pointerType), true);
  document.addEventListener("pointerover", (event) => {
    const link = linkAt(event);
    if (event.pointerType === "touch") return;
    pointer = event.pointerType;
    clearTimeout(timer);
    if (card.contains(event.target) || (link && link === shown)) return;
    if (link) {
      excerpts(link);
      later(() => show(link), 150);
    } else if (!shown?.matches(":focus-visible")) later(hide, 250);
  });
  document.addEventListener("focusin", (event) => {
    const link = linkAt(event);
    if (link?.matches(":focus-visible")) show(link);
  });
  document.addEventListener("focusout", (event) => event.target === shown && hide());
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("click", async (event) => {
    const link = linkAt(event);
    if (link && link !== shown && (event.pointerType ?? pointer) === "touch") {
      event.preventDefault();
      if ((await show(link)) === "nothing") location.assign(link.href);
    } else if (!card.contains(event.target)) hide();
  });
}
