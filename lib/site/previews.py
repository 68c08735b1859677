"""Previews: beside each page a script with what links may point at there, for the cards that `_static/previews.js` shows."""

import json
import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from lib import files

KINDS = "div.math, figure, div.claim, div.exercise, div.theorem, div.citation, td span[id^=symbol-]"
IDLE = ".headerlink, button, details, input, script, .output:has(.moving)"  # what a card can do without
LEFT_OUT = (  # before parsing, which is slow: code and drawings that move
    r'<div class="highlight"><pre>.*?</pre>\s*</div>',
    r"<svg\b.*?</svg>",
)


def excerpts(body: str) -> dict[str, str]:
    """Return, for the body of a page, what a link's card shows, as HTML, by the id that the link points at.

    Equations, figures, claims, exercises, theorems and works are shown whole, symbols as the row of their table.
    A card is to be read, not worked with: links in it are plain words, and no id comes twice on a page.
    """
    for pattern in LEFT_OUT:
        body = re.sub(pattern, "", body, flags=re.S)
    found = {}
    for part in BeautifulSoup(body, "html.parser").select(KINDS):
        if not part.get("id"):
            continue
        name, shown = part["id"], _row(part) if part.name == "span" else part
        for idle in shown.select(IDLE):
            idle.decompose()
        for link in shown.find_all("a"):
            link.unwrap()
        for tag in (shown, *shown.find_all(True)):
            for attribute in ("id", "tabindex", "loading", "data-tex"):
                tag.attrs.pop(attribute, None)
        found[name] = str(shown)
    return found


def _row(anchor: Tag) -> Tag:
    """Lay out the row of a table that holds an anchor: a line for each cell, with the head of its column."""
    heads = [head.get_text().capitalize() for head in anchor.find_parent("table").select("thead th")]
    lines = BeautifulSoup("<div></div>", "html.parser").div
    for head, cell in zip(heads, anchor.find_parent("tr").find_all("td"), strict=True):
        if cell.get_text(strip=True):
            inside = cell.decode_contents().replace("<p>", "").replace("</p>", " ")
            lines.append(BeautifulSoup(f"<p><strong>{head}:</strong> {inside}</p>", "html.parser"))
    return lines


def write(site: Path, page: str, title: str, body: str) -> None:
    """Write a page's excerpts beside it; a script that sets a variable, since pages on a disk may not fetch."""
    said = {"title": BeautifulSoup(title, "html.parser").get_text(), "parts": excerpts(body)}
    files.write(site / f"{page}.preview.js", f"var preview = {json.dumps(said, ensure_ascii=False)};\n")
