"""Slides: each deck `book/NAME/slides.md` as a page of its own, `slides/NAME.html`.

It needs no server and no network. A deck is Markdown with formulas between dollars. Each heading
of the second level begins a slide; what stands before the first is on the title slide. It copies
nothing of the book: a paragraph `![](#LABEL)` is the equation, figure, claim, theorem or exercise
of that label as the built chapter shows it, `[](#LABEL)` is a link that says its number, and in
`[{measured:.2f}](#CLAIM)` stands what the claim has measured, or `{printed}`. A label that the
book does not have is an error, and so the end of the build.

On paper, on a phone and without scripts a deck is a document; elsewhere reveal.js
(`_static/vendor/reveal`, MIT) shows one slide at a time.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from docutils import nodes
from jinja2 import Template
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.errors import ExtensionError
from sphinx.locale import _

from lib import files
from lib.site import citing, formulas, languages, ledger
from lib.site.book import Book
from lib.site.myst import figure
from lib.site.pictures import with_buttons
from lib.site.reading import scrolling
from lib.site.shown import Part, part

VERDICT = re.compile(r'class="[^"]*\bclaim-line\b[^"]*"><strong>(?:<[^>]*>)*([^<]*)')
SHOWN = re.compile(r'<p><img src="#([^"]+)" alt="" /></p>')
LINK = re.compile(r'<a href="#([^"]+)">(.*?)</a>')
ASKS = re.compile(r"<p>(?:(?!</p>).)*<strong>", re.DOTALL)
FIGURE = re.compile(r'(<figure\b[^>]* class=")')
PICTURES = re.compile(r'src="[./]+/_images/')


@cache
def moving(book: Book, notebook: str) -> dict[str, str]:
    """Return the figures with a slider of an executed notebook, by name."""
    found = {}
    for cell in book.notebook(notebook)["cells"]:
        name = figure(cell).get("name")
        for output in cell.get("outputs", []):
            page = "".join(output.get("data", {}).get("text/html", ""))
            if name and page.startswith('<div class="moving">'):
                found[name] = page
    return found


def slides(text: str, known: Mapping[str, Part], records: Mapping[str, dict]) -> list[str]:
    """Return the slides of a deck as HTML; the first is what stands before the first heading.

    Raises
    ------
    ValueError
        If a label is not known, a formula cannot be written, or a claim lacks the number that is
        asked for.
    """

    def linked(found: re.Match) -> str:
        label, words = found.groups()
        one = part(known, label)
        said = _number(words, label, records) if "{" in words else words or name(one)
        return f'<a href="../{one.page}.html#{one.anchor}">{said}</a>'

    markdown = MarkdownIt("commonmark").enable("table")
    markdown.use(dollarmath_plugin, renderer=_formula)
    html = LINK.sub(linked, markdown.render(text))
    html = SHOWN.sub(lambda found: part(known, found[1]).html, html)
    return [_finished(slide.strip()) for slide in re.split("(?=<h2>)", html)]


def _finished(slide: str) -> str:
    """Make tables scroll, and find the pictures.

    Where a slide asks to decide first, in bold letters, show its picture after a key press.
    """
    slide = scrolling(slide)
    slide = PICTURES.sub('loading="lazy" src="../_images/', slide)
    asks = ASKS.search(slide.partition("<figure")[0]) and '<div class="moving">' not in slide
    return FIGURE.sub(r"\1fragment ", slide, count=1) if asks else slide


def _formula(latex: str, options: dict) -> str:
    block = options["display_mode"]
    written = formulas.mathml(latex, block)
    if block:
        return f'<div class="math">{formulas.scrolled("div", written)}</div>'
    return f'<span class="math">{written}</span>'


def name(found: Part) -> str:
    """Say what a link to a part says: its number, or the kind of claim that it is."""
    verdict = VERDICT.search(found.html)
    return found.number or (verdict[1].lower() if verdict else found.anchor)


def _number(form: str, label: str, records: Mapping[str, dict]) -> str:
    try:
        return form.format(**ledger.numbers(records[label]))
    except (LookupError, ValueError) as problem:
        raise ValueError(
            f"{label} is not a claim, or lacks the number that {form} takes: {problem}"
        ) from problem


def _with_sliders(book: Book, known: Mapping[str, Part]) -> dict[str, Part]:
    """Return what the built pages show, with the sliders of figures."""
    found = dict(known)
    for notebook in book.notebooks:
        for label, slider in moving(book, notebook).items():
            one = part(known, label)
            html = one.html.replace("<figcaption", f"{with_buttons(slider)}<figcaption", 1)
            found[nodes.make_id(label)] = one._replace(html=html)
    return found


def _path(name: str, resource: int = 0) -> str:
    """Return where a deck finds a page or, if it is a resource, a file."""
    return f"../{name}" if resource else f"../{name}.html"


def write(book: Book, site: Path, known: Mapping[str, Part], language: str = "en") -> None:
    """Write the decks of a site whose chapters show what is known."""
    citation = citing.read(book)
    template = book.folder / "_templates" / "deck.html"
    deck = Template(template.read_text(encoding="utf-8"))
    known = _with_sliders(book, known)
    records = {ledger.label(record["id"]): record for record in ledger.records(book)}
    for chapter, text in book.beside("slides").items():
        try:
            written = slides(text, known, records)
        except ValueError as mistake:
            raise ExtensionError(f"book/{chapter}/slides.md: {mistake}") from mistake
        planned = chapter in book.beside("plan")
        title = book.title(chapter)
        html = deck.render(
            title=title,
            chapter=chapter,
            planned=planned,
            slides=written,
            language=language,
            licence=citation.rest,
            authors=citation.people,
            citing=citing.end(book, f"slides/{chapter}", title, _path),
            said=languages.for_scripts(),
            _=_,
        )
        files.write(site / "slides" / f"{chapter}.html", html + "\n")
