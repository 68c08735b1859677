"""Search with Pagefind: each page is handed over as HTML that is made for the index, and is not part of the site.

Pagefind finds pages and, within them, headings with the text behind them. So each claim, numbered equation, figure, exercise,
item of a document and symbol gets a heading of its own, and moves to the end of its section.
"""

import re
import shutil
import subprocess
import sys
from copy import copy
from html import escape, unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten

from bs4 import BeautifulSoup, Tag

from lib import files
from lib.markdown import plain
from lib.site import toc

LISTS_OF_CLAIMS = ("what_replicates", "margins")  # their tables repeat what other pages say
FORMULA = re.compile(r'<math data-tex="(.*?)".*?</math>', re.DOTALL)
UNSEARCHED = re.compile(r"<(svg|script|style|pre)\b.*?</\1>|<a class=\"headerlink.*?</a>", re.DOTALL)  # parsing them is slow
IDLE = "summary, aside, .materials, .toctree-wrapper, .moving, .claim-details a"
THINGS = "div.claim[id], div.math[id], figure[id], div.exercise[id], div.solution[id]"
THINGS += ", .coverage tr:has(span[id]), tr:has(span[id^=symbol-])"
END = re.compile(r"\.(?=[\s<])")  # a dot that is no part of a number; search.js writes those again
NO_DOT = "\u2024"  # looks like a dot, and Pagefind does not take it for a part of the word
LONG = 120  # letters, at most, of a heading


def searched(html: str, lists_claims: bool = False) -> str:
    """Return the article of a page of the site as it is searched; `lists_claims` leaves its tables out."""
    article = html[html.index("<article") : html.index("</article>")]
    text = FORMULA.sub(lambda found: escape(plain(unescape(found[1]))), UNSEARCHED.sub("", article))
    page = BeautifulSoup(END.sub(NO_DOT, text), "html.parser")
    for idle in page.select(f"{IDLE}, table" if lists_claims else IDLE):
        idle.decompose()
    for heading in page.select("section[id] > :is(h1, h2, h3, h4)"):
        heading["id"] = heading.parent.attrs.pop("id")
    for thing in page.select(THINGS):
        section = next(parent for parent in thing.parents if parent.find(re.compile("h[1-4]"), recursive=False))
        name = thing.attrs.pop("id", None) or thing.select_one("span[id]").attrs.pop("id")
        title, content = _told(thing)
        heading = page.new_tag("h5", id=name, string=shorten(title, LONG, placeholder=" …"))
        section.extend([heading, *content])
    return f'<html lang="en"><body>{page}</body></html>'


def _told(thing: Tag) -> tuple[str, list[Tag]]:
    """Return what the heading of a thing says, and what stands below it: of an equation the paragraphs around it."""
    classes = thing.get("class", [])
    if "math" in classes:
        around = thing.find_previous_sibling("p"), thing.find_next_sibling("p")
        number = thing.find(class_="eqno").extract().get_text()
        return f"Eq{NO_DOT} {number} {thing.get_text()}", [copy(part) for part in around if part]
    if "claim" in classes:
        title = f"Claim: {thing.find(class_='claim-statement').get_text()}"
    else:
        title = (thing.figcaption or thing.td or thing.find(class_="admonition-title")).get_text()
    return title, [thing.extract()]


def index(root: Path, site: Path) -> None:
    """Write the index of a built site, and what searches it in the browser, into its folder `pagefind`."""
    shutil.rmtree(site / "pagefind", ignore_errors=True)
    with TemporaryDirectory() as folder:
        for name in toc.pages(root):
            html = (site / f"{name}.html").read_text(encoding="utf-8")
            files.write(Path(folder, f"{name}.html"), searched(html, Path(name).name in LISTS_OF_CLAIMS))
        options = ["--site", folder, "--output-path", str(site / "pagefind"), "--include-characters", ".", "--quiet"]
        subprocess.run([sys.executable, "-m", "pagefind", *options], check=True)
