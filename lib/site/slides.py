"""Slides: each deck `book/slides/NAME.md` as a page of its own, `slides/NAME.html`, that needs no server and no network.

A deck is Markdown with formulas between dollars. Each heading of the second level begins a slide; what stands before the
first is on the title slide. It copies nothing of the book: a paragraph `![](#LABEL)` is the equation, figure, claim, theorem
or exercise of that label as the built chapter shows it, `[](#LABEL)` is a link that says its number, and in
`[{measured:.2f}](#CLAIM)` stands what the claim has measured, or `{printed}`. A label that the book does not have is an
error, and so the end of the build.

On paper, on a phone and without scripts a deck is a document; elsewhere reveal.js (`_static/vendor/reveal`, MIT) shows one
slide at a time.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import NamedTuple

from docutils import nodes
from jinja2 import Template
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.errors import ExtensionError

from lib import files
from lib.site import formulas, ledger
from lib.site.toc import beside, notebooks, title

NUMBER = re.compile(r'class="(?:eqno|caption-number)">\s*([^<]*\w\)?)')
PICTURE = re.compile(r'src="([^":]+)"')  # a file of the site


class Part(NamedTuple):
    """A piece of a built lesson or evidence page that has a label: where it is, and its HTML."""

    notebook: str
    anchor: str
    html: str

    @property
    def address(self) -> str:
        """The link to it from a deck."""
        return f"../book/{self.notebook}.html#{self.anchor}"


def parts(root: Path, site: Path) -> dict[str, Part]:
    """Return by label what the built lessons and evidence pages show: their previews, with the notebooks' figures that move."""
    found = {}
    for name in notebooks(root):
        script = (site / "book" / f"{name}.preview.js").read_text(encoding="utf-8")
        sliders = {nodes.make_id(figure): html for figure, html in moving(root / "book" / f"{name}.ipynb").items()}
        for anchor, html in json.loads(script[script.index("{") : script.rindex("}") + 1])["parts"].items():
            shown = html.replace('class="formula"', 'class="formula" tabindex="0"')
            shown = PICTURE.sub(lambda found, name=name: f'src="{normpath(join("../book", dirname(name), found[1]))}"', shown)
            if anchor in sliders:
                shown = shown.replace("<figcaption", f"{sliders[anchor]}<figcaption", 1)
            found[anchor.removeprefix("equation-")] = Part(name, anchor, shown)
    return found


def moving(notebook: Path) -> dict[str, str]:
    """Return the figures with a slider, by name."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    figures = {cell["metadata"].get("mystnb", {}).get("figure", {}).get("name"): cell.get("outputs", []) for cell in cells}
    pages = {name: "".join("".join(one.get("data", {}).get("text/html", "")) for one in all_) for name, all_ in figures.items()}
    return {name: page for name, page in pages.items() if name and page.startswith('<div class="moving">')}


def slides(text: str, known: Mapping[str, Part], records: Mapping[str, dict]) -> list[str]:
    """Return the slides of a deck as HTML; the first is what stands before the first heading.

    Raises
    ------
    ValueError
        If a label is not known, a formula cannot be written, or a claim has not the number that is asked for.
    """
    markdown = MarkdownIt("commonmark").enable("table")
    markdown.use(dollarmath_plugin, renderer=lambda latex, options: _formula(latex, options["display_mode"]))
    tokens, starts = _filled(markdown.parse(text), known, records), [0]
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            starts.append(number)
    pieces = [tokens[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    written = [markdown.renderer.render(piece, markdown.options, {}).strip() for piece in pieces]
    return [_finished(one) for one in written]


def _finished(slide: str) -> str:
    """Make tables scroll; where the slide asks to decide first, show a static picture only after a key press."""
    slide = re.sub("<table.*?</table>", r'<div class="scrolling" tabindex="0">\g<0></div>', slide, flags=re.DOTALL)
    asks = "<strong>Decide" in slide and '<div class="moving">' not in slide
    return slide.replace('<figure class="', '<figure class="fragment ', 1) if asks else slide


def _formula(latex: str, block: bool) -> str:
    written = formulas.mathml(latex, block)
    if block:
        return f'<div class="math"><div class="formula" tabindex="0">{written}</div></div>'
    return f'<span class="math">{written}</span>'


def _filled(tokens: list[Token], known: Mapping[str, Part], records: Mapping[str, dict]) -> list[Token]:
    """Put the parts where they are asked for, and their numbers and addresses into links."""
    whole: list[Token] = []
    for token in tokens:
        inside = token.children or []
        image = inside[0].attrs.get("src", "") if [one.type for one in inside] == ["image"] else ""
        if str(image).startswith("#"):
            whole[-1] = Token("html_block", "", 0, content=_part(known, image).html + "\n")  # it was the paragraph's beginning
            continue
        if token.type == "paragraph_close" and whole[-1].type == "html_block":
            continue
        for number, one in enumerate(inside):
            address = str(one.attrs.get("href", ""))
            if one.type == "link_open" and address.startswith("#"):
                part = _part(known, address)
                one.attrs["href"] = part.address
                if inside[number + 1].type == "link_close":
                    inside.insert(number + 1, Token("text", "", 0, content=name(part)))
                elif "{" in inside[number + 1].content:
                    inside[number + 1].content = _number(inside[number + 1].content, address[1:], records)
        whole.append(token)
    return whole


def _part(known: Mapping[str, Part], address: str) -> Part:
    for label in (address[1:], nodes.make_id(address[1:])):  # the second is what docutils makes of a name with _
        if label in known:
            return known[label]
    raise ValueError(f"no chapter has an equation, a figure, a claim, a theorem or an exercise named {address[1:]}")


def name(part: Part) -> str:
    """Say what a link to a part says: its number, with that of the chapter, or the kind of claim that it is."""
    if found := NUMBER.search(part.html):
        return found[1].strip()
    verdict = re.search(r'class="[^"]*\bclaim claim-([\w-]+)', part.html)
    return verdict[1].replace("-", " ") if verdict else part.anchor


def _number(form: str, label: str, records: Mapping[str, dict]) -> str:
    record = records.get(label)
    try:
        return form.format(**{part: float(record[part]) for part in ("measured", "printed") if record[part] is not None})
    except (LookupError, ValueError, TypeError) as problem:
        raise ValueError(f"{label} is not a claim, or lacks the number that {form} takes: {problem}") from problem


def write(root: Path, site: Path) -> None:
    """Write the decks of a site whose chapters are there."""
    deck = Template((root / "book" / "_templates" / "deck.html").read_text(encoding="utf-8"))
    known = parts(root, site)
    records = {record["id"].replace("/", "-"): record for record in ledger.read(root)}
    for chapter, path in beside(root, "slides").items():
        try:
            written = slides(path.read_text(encoding="utf-8"), known, records)
        except ValueError as mistake:
            raise ExtensionError(f"{path}: {mistake}") from mistake
        facts = {"title": title(root, chapter), "chapter": chapter, "planned": chapter in beside(root, "course")}
        files.write(site / "slides" / f"{chapter}.html", deck.render(facts, slides=written) + "\n")
