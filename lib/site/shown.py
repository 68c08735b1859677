"""What the built pages show: each is parsed once, for previews, decks, notebooks and the search.

Previews: beside each page lies a script with what links may point at there, for the cards that
`_static/previews.js` shows.
"""

import json
import re
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import NamedTuple

from bs4 import BeautifulSoup, Tag
from docutils import nodes

from lib import files
from lib.site.book import Book

KINDS = "div.math, figure, div.claim, div.exercise, div.theorem, div.citation, tr span[id^=symbol-]"
IDLE = "button, details, input, .output:has(.moving)"  # what a card can do without
LEFT_OUT = re.compile(  # before parsing, which is slow
    r'<div class="highlight"><pre>.*?</pre>\s*</div>|<(svg|script|style|pre)\b.*?</\1>'
    r'|<a class="headerlink.*?</a>',
    re.DOTALL,
)
NUMBER = re.compile(r'class="(?:eqno|caption-number)">\s*([^<]*\w\)?)')


class Part(NamedTuple):
    """A piece of a built page that has a label: where it is, its HTML, and its formula in TeX."""

    page: str
    anchor: str
    html: str
    tex: str = ""

    @property
    def number(self) -> str:
        """Its number, with that of the chapter, as in
        (2.1), Fig. 2.1 or Exercise 2.1; or nothing.
        """
        found = NUMBER.search(self.html)
        return found[1].strip() if found else ""


def article(site: Path, page: str) -> BeautifulSoup:
    """Read the article of a page of a site, without code and drawings."""
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    text = html[html.index("<article") : html.index("</article>")]
    return BeautifulSoup(LEFT_OUT.sub("", text), "html.parser")


def parts(page: str, article: Tag) -> dict[str, Part]:
    """Return by label what a link's card shows.

    Equations, figures, claims, exercises, theorems and works are shown whole, symbols as the row
    of their table. A card is to be read, not worked with: links in it are plain words, and no id
    comes twice on a page.
    """
    found = {}
    for part in article.select(KINDS):
        anchor = part.get("id")
        if not anchor:
            continue
        shown = _row(part) if part.name == "span" else copy(part)
        formula = shown.find("math")
        tex = formula["alttext"] if formula else ""
        for idle in shown.select(IDLE):
            idle.decompose()
        for link in shown.find_all("a"):
            link.unwrap()
        for tag in (shown, *shown.find_all(True)):
            for attribute in ("id", "tabindex", "loading"):
                tag.attrs.pop(attribute, None)
        found[anchor.removeprefix("equation-")] = Part(page, anchor, str(shown), tex)
    return found


def _row(anchor: Tag) -> Tag:
    """Lay out the row of a table that holds an anchor: a line for each cell, with its head."""
    heads = anchor.find_parent("table").select("thead th")
    cells = anchor.find_parent("tr").find_all(["th", "td"])
    lines = ""
    for head, cell in zip(heads, cells, strict=True):
        if cell.get_text(strip=True):
            title = head.get_text().capitalize()
            inside = cell.decode_contents().replace("<p>", "").replace("</p>", " ")
            lines += f"<p><strong>{title}:</strong> {inside}</p>"
    return BeautifulSoup(f"<div>{lines}</div>", "html.parser").div


def write_previews(site: Path, page: str, title: str, found: Mapping[str, Part]) -> None:
    """Write a page's parts beside it: a script, since pages on a disk may not fetch."""
    said = {"title": title, "parts": {part.anchor: part.html for part in found.values()}}
    script = f"var preview = {json.dumps(said, ensure_ascii=False)};\n"
    files.write(site / f"{page}.preview.js", script)


def read(book: Book, site: Path) -> dict[str, Part]:
    """Return by label what the built lessons and evidence pages show.

    Raises
    ------
    ValueError
        If the site has not been built.
    """
    found = {}
    for name in book.notebooks:
        page = f"book/{name}"
        if not (site / f"{page}.html").is_file():
            raise ValueError(f"{site} has no {page}.html: run `python -m lib build` first")
        found |= parts(page, article(site, page))
    return found


def part(known: Mapping[str, Part], label: str) -> Part:
    """Return the part with a label, or raise a ValueError."""
    for name in (label, nodes.make_id(label)):  # the second is what docutils makes of a name with _
        if name in known:
            return known[name]
    kinds = "an equation, a figure, a claim, a theorem or an exercise"
    raise ValueError(f"no chapter has {kinds} named {label}")
