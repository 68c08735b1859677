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
from posixpath import dirname, join, normpath

from docutils import nodes
from jinja2 import Template
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.errors import ExtensionError

from lib import files
from lib.site import formulas, ledger
from lib.site.book import Book
from lib.site.myst import figure
from lib.site.reading import SCROLLING, TABLE
from lib.site.shown import Part, part

VERDICT = re.compile(r'class="[^"]*\bclaim claim-([\w-]+)')
PICTURE = re.compile(r'src="([^":]+)"')  # a file of the site


@cache
def moving(book: Book, notebook: str) -> dict[str, str]:
    """Return the figures with a slider of an executed notebook, by name."""
    found = {}
    executed = book.notebook(notebook)
    assert executed is not None  # the site was built from it
    for cell in executed["cells"]:
        name = figure(cell).get("name")
        pages = [output.get("data", {}).get("text/html", "") for output in cell.get("outputs", [])]
        page = "".join(map("".join, pages))
        if name and page.startswith('<div class="moving">'):
            found[name] = page
    return found


def for_decks(book: Book, known: Mapping[str, Part]) -> dict[str, Part]:
    """Return what the built pages show as a deck shows it: with sliders, seen from `slides/`."""
    found = {}
    for label, one in known.items():
        folder = join("..", dirname(one.page))
        html = one.html.replace('class="formula"', 'class="formula" tabindex="0"')
        html = PICTURE.sub(lambda src, up=folder: f'src="{normpath(join(up, src[1]))}"', html)
        for name, slider in moving(book, one.page.removeprefix("book/")).items():
            if nodes.make_id(name) == one.anchor:
                html = html.replace("<figcaption", f"{slider}<figcaption", 1)
        found[label] = one._replace(html=html)
    return found


def slides(text: str, known: Mapping[str, Part], records: Mapping[str, dict]) -> list[str]:
    """Return the slides of a deck as HTML; the first is what stands before the first heading.

    Raises
    ------
    ValueError
        If a label is not known, a formula cannot be written, or a claim lacks the number that is
        asked for.
    """
    markdown = MarkdownIt("commonmark").enable("table")
    markdown.use(dollarmath_plugin, renderer=_formula)
    pieces: list[list[Token]] = [[]]
    for token in _filled(markdown.parse(text), known, records):
        if token.type == "heading_open" and token.tag == "h2":
            pieces.append([])
        pieces[-1].append(token)
    written = [markdown.renderer.render(piece, markdown.options, {}) for piece in pieces]
    return [_finished(one.strip()) for one in written]


def _finished(slide: str) -> str:
    """Make tables scroll; where a slide asks to decide
    first, show its picture after a key press.
    """
    slide = TABLE.sub(SCROLLING, slide)
    asks = "<strong>Decide" in slide and '<div class="moving">' not in slide
    return slide.replace('<figure class="', '<figure class="fragment ', 1) if asks else slide


def _formula(latex: str, options: dict) -> str:
    block = options["display_mode"]
    written = formulas.mathml(latex, block)
    if block:
        return f'<div class="math"><div class="formula" tabindex="0">{written}</div></div>'
    return f'<span class="math">{written}</span>'


def _filled(
    tokens: list[Token], known: Mapping[str, Part], records: Mapping[str, dict]
) -> list[Token]:
    """Put the parts where they are asked for, and their numbers and addresses into links."""
    whole: list[Token] = []
    for token in tokens:
        inside = token.children or []
        image = (
            str(inside[0].attrs.get("src", "")) if [one.type for one in inside] == ["image"] else ""
        )
        if image.startswith("#"):
            html = part(known, image[1:]).html + "\n"
            whole[-1] = Token("html_block", "", 0, content=html)  # it was the paragraph's beginning
            continue
        if token.type == "paragraph_close" and whole[-1].type == "html_block":
            continue
        for number, one in enumerate(inside):
            address = str(one.attrs.get("href", ""))
            if one.type == "link_open" and address.startswith("#"):
                found = part(known, address[1:])
                one.attrs["href"] = f"../{found.page}.html#{found.anchor}"
                words = inside[number + 1]
                if words.type == "link_close":
                    inside.insert(number + 1, Token("text", "", 0, content=name(found)))
                elif "{" in words.content:
                    words.content = _number(words.content, address[1:], records)
        whole.append(token)
    return whole


def name(found: Part) -> str:
    """Say what a link to a part says: its number, or the kind of claim that it is."""
    verdict = VERDICT.search(found.html)
    return found.number or (verdict[1].replace("-", " ") if verdict else found.anchor)


def _number(form: str, label: str, records: Mapping[str, dict]) -> str:
    try:
        return form.format(**ledger.numbers(records[label]))
    except (LookupError, ValueError) as problem:
        raise ValueError(
            f"{label} is not a claim, or lacks the number that {form} takes: {problem}"
        ) from problem


def write(book: Book, site: Path, known: Mapping[str, Part]) -> None:
    """Write the decks of a site whose chapters show what is known."""
    template = book.folder / "_templates" / "deck.html"
    deck = Template(template.read_text(encoding="utf-8"))
    known = for_decks(book, known)
    records = {ledger.label(record["id"]): record for record in ledger.records(book)}
    for chapter, text in book.beside("slides").items():
        try:
            written = slides(text, known, records)
        except ValueError as mistake:
            raise ExtensionError(f"book/{chapter}/slides.md: {mistake}") from mistake
        planned = chapter in book.beside("plan")
        facts = {"title": book.title(chapter), "chapter": chapter, "planned": planned}
        html = deck.render(facts, slides=written)
        files.write(site / "slides" / f"{chapter}.html", html + "\n")
