"""Search that finds places: sections, claims, equations, figures and exercises, listed when the site is built.

The list goes into `places.js`, next to the pages; `book/_static/search.js` searches it in the browser, without a server.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx

from lib import files
from lib.markdown import plain, sentence
from lib.site import ledger, toc
from lib.site.formulas import mathml

# What a place is, by the class of its element. Each is a place of its own, and not part of the text around it.
KINDS = {"claim": "claim", "math": "equation", "exercise": "exercise", "solution": "solution", "proof": "theorem"}
KINDS |= {"citation": "reference"}
LISTS_OF_CLAIMS = ("what_replicates", "margins")  # pages whose tables repeat what is a place already
THINGS = "div.math[id], div.claim[id], figure[id]"  # that may stand within other things
SPOKEN = ("p", "ul", "ol", "dl", "table")
FORMULA = re.compile(r'<math data-tex="(.*?)".*?</math>', re.DOTALL)
UNSEARCHED = re.compile(r"<(svg|script|style|pre)\b.*?</\1>|<a class=\"headerlink.*?</a>", re.DOTALL)
SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z])")  # between two
AROUND = 400  # letters, at most, of the sentences before and after an equation, by which it is found


@dataclass
class Place:
    """One thing that can be found.

    Attributes
    ----------
    page : file of the page, from the root of the site
    anchor : id of the element
    kind : chapter, page, section, claim, equation, figure, exercise, solution, theorem, reference or item (of a document)
    number : the book's number, as "2.4", or ""
    title : heading, statement of a claim, title of an exercise
    text : what is searched besides
    section : number and heading of the section that holds it
    source : where a claim stands in the document
    verdict : of a claim
    formula : of an equation, in MathML
    terms : what a section emphasizes, since it says what that is
    """

    page: str
    anchor: str
    kind: str
    number: str = ""
    title: str = ""
    text: str = ""
    section: str = ""
    source: str = ""
    verdict: str = ""
    formula: str = ""
    terms: str = ""


def readable(element: Tag) -> str:
    """Return the words of an element in one line, with formulas in plain text."""
    text = re.sub(r"\\\((.+?)\\\)", lambda m: plain(m[1]), element.get_text(), flags=re.DOTALL)
    return " ".join(text.split())


class Reader:
    """Reads one page and collects its places."""

    def __init__(self, page: str, kind: str, claims: dict[str, dict]) -> None:
        """Take the page's file, what the whole of it is (chapter or page), and the claims by their anchors."""
        self.page, self.kind, self.claims = page, kind, claims
        self.repeats = Path(page).stem in LISTS_OF_CLAIMS
        self.places: list[Place] = []
        self.open: list[Place] = []  # equations that wait for the text behind them

    def read(self, html: str) -> list[Place]:
        """Return the places of a page."""
        words = FORMULA.sub(r"\\(\1\\)", UNSEARCHED.sub("", html))
        self._children(BeautifulSoup(words, "html.parser"), Place(self.page, "", self.kind))
        return self.places

    def _children(self, element: Tag, section: Place) -> None:
        for child in element.find_all(True, recursive=False):
            self._element(child, section)

    def _element(self, element: Tag, section: Place) -> None:
        classes = element.get("class", [])
        kind = "figure" if element.name == "figure" else next((KINDS[name] for name in classes if name in KINDS), "")
        heading = element.find(re.compile("h[1-6]"), recursive=False) if element.name == "section" else None
        if heading:
            self._section(element, heading)
        elif kind and element.get("id") and (kind != "theorem" or element.find(class_="caption-number")):
            self._thing(element, kind, section)
        elif "cell" in classes:  # of code and what it prints only these are for readers
            for part in element.select(THINGS):
                self._element(part, section)
        elif "toctree-wrapper" in classes:
            return
        elif "coverage" in classes and Path(self.page).stem == "where":
            self._items(element, section)
        elif kind == "equation" or (element.name in SPOKEN and not element.select(THINGS)):
            if element.name != "table" or not self.repeats:
                self._say(element, section)
        else:
            self._children(element, section)

    def _section(self, element: Tag, heading: Tag) -> None:
        number = heading.find(class_="section-number")
        place = Place(self.page, element["id"], "section" if heading.name != "h1" else self.kind)
        if number:
            place.number = number.extract().get_text().strip(" .")
        place.title = readable(heading)
        place.section = place.title
        heading.extract()
        self.open = []
        if heading.name == "h1" or not self.repeats:
            self.places.append(place)
        self._children(element, place)

    def _thing(self, element: Tag, kind: str, section: Place) -> None:
        for part in element.select(THINGS):  # in an exercise or its solution
            self._element(part.extract(), replace(section))
        for cell in element.select("div.cell"):
            cell.extract()
        place = Place(self.page, element["id"], kind, section=f"{section.number} {section.title}".strip())
        self.places.append(place)
        if kind == "claim":
            record = self.claims[place.anchor]
            place.title, place.text, place.source = (sentence(record[part]) for part in ("statement", "why", "source"))
            place.verdict = record["verdict"]
            return
        number = element.find(class_="eqno" if kind == "equation" else "caption-number")
        if number:
            place.number = re.sub(r"[^0-9.]", "", number.extract().get_text()).strip(".")
        if kind == "equation":
            place.formula = mathml(element.get_text().strip().removeprefix(r"\(").removesuffix(r"\)"), block=True)
            place.title, place.text = readable(element), SENTENCE.split(section.text)[-1][-AROUND:]
            self.open.append(place)
            section.text = f"{section.text} {place.title}".strip()
            return
        title = element.find(class_=["admonition-title", "label"])
        if title:
            place.title = re.sub(r"^\((.*)\)$", r"\1", readable(title.extract()))
        place.text = readable(element)

    def _items(self, table: Tag, section: Place) -> None:
        document = readable(table.find("th"))
        for row in table.select("tbody tr"):
            name, *cells = map(readable, row.find_all("td"))
            title, text = f"{document}, {name}", " · ".join(filter(None, cells))
            self.places.append(Place(self.page, row.span["id"], "item", title=title, text=text, section=section.title))

    def _say(self, element: Tag, section: Place) -> None:
        text = _rows(element) if element.name == "table" else readable(element)
        terms = [readable(term) for term in element.find_all("em")]
        section.terms = "; ".join(filter(None, [section.terms, *(term for term in terms if re.search(r" .*\w$", term))]))
        for equation in self.open:
            equation.text += f" … {SENTENCE.split(text)[0][:AROUND]}"
        self.open = []
        section.text = f"{section.text} {text}".strip()


def _rows(table: Tag) -> str:
    """Return the rows of a table as sentences."""
    cells = ([readable(cell) for cell in row.find_all(["td", "th"])] for row in table.find_all("tr"))
    return " ".join(" · ".join(filter(None, row)) + "." for row in cells)


def synonyms(html: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield from the notation page's table the names that others use, and those that the book uses for the same thing."""
    table = BeautifulSoup(html, "html.parser").select_one("section#other-names table")
    for row in table.select("tbody tr") if table else ():
        here, elsewhere = (readable(cell).lower().split(", ") for cell in row.find_all("td")[:2])
        yield elsewhere, here


def index(site: Path, root: Path) -> dict:
    """Return what is searched: the pages with their titles, the places, and the synonyms.

    Raises
    ------
    KeyError
        If a page shows a claim that the ledger does not know.
    """
    claims = {record["id"].replace("/", "-"): record for record in ledger.read(root)}
    chapters, places, names = {f"book/{name}" for name in toc.chapters(root)}, [], []
    for name in toc.pages(root):
        html = (site / f"{name}.html").read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        places += Reader(f"{name}.html", "chapter" if name in chapters else "page", claims).read(html)
        names += synonyms(html) if Path(name).name == "notation" else ()
    pages = {
        place.page: f"{place.number} {place.title}".strip() for place in reversed(places) if place.kind in ("chapter", "page")
    }
    return {"pages": pages, "places": [astuple(place) for place in places], "synonyms": names}


def replace_theirs(app: Sphinx) -> None:
    """Keep the page of results, but make no index of Sphinx's own for it."""
    app.builder.search = False
    app.config.html_additional_pages["search"] = "search.html"


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the list of places beside the pages."""
    if problem is None and app.builder.name == "html":
        site = Path(app.outdir)
        whole = json.dumps(index(site, Path(app.srcdir)), ensure_ascii=False, separators=(",", ":"))
        files.write(site / "places.js", f"const PLACES = {whole};\n")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_css_file("search.css")
    app.connect("builder-inited", replace_theirs)
    app.connect("build-finished", write)
