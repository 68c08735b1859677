"""Search with Pagefind: each page is handed over as HTML that is made for the index only.

Pagefind finds pages and, within them, headings with the text behind them. So each claim, numbered
equation, figure, exercise, item of a document and symbol gets a heading of its own, and moves to
the end of its section.
"""

import re
import shutil
import subprocess
import sys
from copy import copy
from pathlib import Path
from textwrap import shorten

from bs4 import BeautifulSoup, Tag
from sphinx.locale import _

from lib.markdown import plain
from lib.site.sources import package

LISTS_OF_CLAIMS = ("book/what_replicates", "book/margins")  # their tables repeat what others say
IDLE = "summary, aside, .materials, .toctree-wrapper, .where-index, .moving, .claim-details a"
THINGS = "div.claim[id], div.math[id], figure[id], div.exercise[id], div.solution[id]"
THINGS += ", .coverage tr:has(span[id]), tr:has(span[id^=symbol-])"
END = re.compile(r"\.(?=[\s<])")  # a dot that is no part of a number; search.js writes those again
NO_DOT = "\u2024"  # looks like a dot, and Pagefind does not take it for a part of the word
BEHIND = 0.2  # the weight of pages of code, which come behind lessons
LONG = 120  # letters, at most, of a heading


def searched(page: str, article: BeautifulSoup, language: str = "en") -> str:
    """Turn the article of a page of the site into what is searched."""
    for formula in article.select("math"):
        formula.replace_with(plain(formula["alttext"]))
    for idle in article.select(f"{IDLE}, table" if page in LISTS_OF_CLAIMS else IDLE):
        idle.decompose()
    for heading in article.select("section[id] > :is(h1, h2, h3, h4)"):
        heading["id"] = heading.parent.attrs.pop("id")
    for thing in article.select(THINGS):
        parents = thing.parents
        section = next(one for one in parents if one.find(re.compile("h[1-4]"), recursive=False))
        name = thing.attrs.pop("id", None) or thing.select_one("span[id]").attrs.pop("id")
        title, content = _told(thing)
        short = shorten(title, LONG, placeholder=" …")
        section.extend([article.new_tag("h5", id=name, string=short), *content])
    text = END.sub(NO_DOT, str(article))
    weight = f' data-pagefind-weight="{BEHIND}"' if package(page) else ""
    return f'<html lang="{language}"><body{weight}>{text}</body></html>'


def _told(thing: Tag) -> tuple[str, list[Tag]]:
    """Return what the heading of a thing says, and what stands below it.

    Below an equation are the paragraphs around it.
    """
    classes = thing.get("class", [])
    if "math" in classes:
        around = thing.find_previous_sibling("p"), thing.find_next_sibling("p")
        number = thing.find(class_="eqno").extract().get_text()
        title = _("Eq. {}").format(f"{number} {thing.get_text()}")
        return title, [copy(part) for part in around if part]
    if "claim" in classes:
        title = _("Claim: {}").format(thing.find(class_="claim-statement").get_text())
    else:
        head = thing.figcaption or thing.th or thing.find(class_="admonition-title")
        title = head.get_text()
    table = thing.find_parent("table", class_="coverage")
    if table and table.thead:
        title = f"{table.thead.th.get_text()}: {title}"  # of the document
    return title, [thing.extract()]


def index(folder: str, site: Path) -> None:
    """Write the index of what is searched, and what searches it, into `pagefind` of the site."""
    place = site / "pagefind"
    shutil.rmtree(place, ignore_errors=True)
    command = [sys.executable, "-m", "pagefind", "--include-characters", ".", "--quiet"]
    subprocess.run([*command, "--site", folder, "--output-path", str(place)], check=True)
