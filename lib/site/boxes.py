"""Claims as lines: verdict, statement, measured number and bound.

Rivals, source and the code of the check are folded below.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from docutils import nodes
from myst_nb.core.render import MimeData
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform

from lib import claims
from lib.markdown import FORMULA, escape, plain
from lib.site import ledger, names
from lib.site.book import book_of
from lib.site.languages import message

DETAILS = 3  # the place of what is folded in a claim's box
STATEMENT = 2  # its place in the first line
FOLD = '<details class="claim-fold"><summary>{}<span class="visually-hidden"> {}</span></summary>'
NAMED = 2  # of what a cell defines, at most, in the words of its fold


class ClaimRenderer:
    """Show a claim's output as a line, made from the record in the output's metadata."""

    # A picture's alternative is a message, too.
    mime_priority_overrides: ClassVar[list] = [("gettext", "image/png", 1)]

    @staticmethod
    def handle_mime(renderer: object, data: MimeData, inline: bool) -> list[nodes.Element] | None:
        """Render a claim's output; leave every other to myst-nb."""
        record = data.output_metadata.get("claim")
        if record is None or inline or data.mime_type != "text/plain":
            return None
        return [box(record)]


def box(record: dict) -> nodes.container:
    """Lay out a claim, first what it says, then its numbers; its anchor is CHAPTER-NAME.

    Each part in words is a message of its own for those who translate the book, without numbers.
    """
    verdict = record["verdict"]
    name = ledger.label(record["id"])
    whole = nodes.container(ids=[name], classes=["claim", "claim-" + verdict.replace(" ", "-")])
    line = nodes.paragraph(classes=["claim-line"], translatable=False)
    line += [nodes.strong("", "", _message(verdict.capitalize())), nodes.Text(" ")]
    line += nodes.inline("", "", _message(record["statement"]), classes=["claim-statement"])
    measure = nodes.paragraph(classes=["claim-number"], translatable=False)
    measure += [nodes.inline("", "", _message(record["measure"])), nodes.Text(_numbers(record))]
    folded = nodes.container(classes=["claim-details"])
    if record["why"]:
        folded += _words(record["why"])
    if record["rivals"]:
        folded += _rivals(record)
    folded += _words(record["source"])
    fold = FOLD.format(_("details"), _("of {}").format(name))
    whole += [line, measure, _html(fold), folded, _html("</details>")]
    return whole


def _message(text: str) -> nodes.inline:
    return message(escape(text), typeset(text))


def _words(text: str) -> nodes.paragraph:
    return nodes.paragraph(escape(text), "", *typeset(text))


def _numbers(record: dict) -> str:
    """Write what stands behind a claim's measure."""
    text = claims.numbers_text(record).removeprefix(record["measure"])
    said = {
        "at most": "≤",
        "at least": "≥",
        "expected": _("expected"),
        "as printed": _("as printed"),
        "agrees to": _("agrees to"),
        "below": _("below"),
        "exactly": _("exactly"),
    }
    for words, own in said.items():
        text = text.replace(words, str(own))
    return text


def _rivals(record: dict) -> nodes.paragraph:
    line = nodes.paragraph(translatable=False)
    before = _("Rivals that fail:") + " "
    for name, score in record["rivals"].items():
        line += [nodes.Text(before), nodes.inline("", "", _message(name))]
        line += nodes.Text(f": {claims.number_text(record, score)}")
        before = "; "
    return line


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def boxes(part: nodes.Element) -> list[nodes.container]:
    """List the claims in a part of a page."""
    return [one for one in part.findall(nodes.container) if "claim" in one["classes"]]


def typeset(text: str) -> list[nodes.Node]:
    """Turn words with formulas between dollars into nodes."""
    kinds = (nodes.Text, lambda tex: nodes.math("", tex))
    return [kinds[number % 2](part) for number, part in enumerate(FORMULA.split(text))]


def register(app: Sphinx, doctree: nodes.document) -> None:
    """Make each claim's anchor a label, so that `{ref}` finds it from every page.

    Links of former names lead to it, too. Its box says if the bound was set after looking.
    """
    book = book_of(app)
    labels = app.env.get_domain("std")
    assert isinstance(labels, StandardDomain)
    for file in (ledger.AFTER_LOOKING, names.NAMES):
        if (book.root / file).is_file():  # a missing one would make every page new in every build
            app.env.note_dependency(str(book.root / file))
    for claim in boxes(doctree):
        label = claim["ids"][0]
        labels.labels[label] = (app.env.docname, label, _said(claim))
        labels.anonlabels[label] = (app.env.docname, label)
        name = label.replace("-", "/", 1)
        claim["ids"] += map(ledger.label, names.former(book, name))
        if name in ledger.after_looking(book):
            claim[1] += nodes.Text(_(" (bound set after looking)"))


def _said(claim: nodes.container) -> str:
    """Return what a claim says, its formulas in plain text."""
    parts = claim[0][STATEMENT].findall(nodes.Text)
    return "".join(plain(part) if isinstance(part.parent, nodes.math) else part for part in parts)


class FoldCode(SphinxPostTransform):
    """Fold the code of cells that check claims or draw figures, behind what it shows.

    What teaches stays open. The code that checks one claim goes into that claim's details. The
    cell of parameters goes: they are for the run, and the downloaded notebook has them.
    """

    default_priority = 198  # before myst-nb folds what is tagged
    formats = ("html",)

    def _figures(self) -> dict[str, str]:
        """Return the numbers of this page's figures, as they are shown, by their names."""
        numbers = self.env.toc_fignumbers.get(self.env.docname, {}).get("figure", {})
        form = self.config.numfig_format["figure"]
        return {name: form % ".".join(map(str, number)) for name, number in numbers.items()}

    def run(self, **options: Any) -> None:
        """Wrap the cells' code, and end the details of each claim with its links."""
        for cell in list(self.document.findall(nodes.container)):
            if "tag_parameters" in cell["classes"]:
                cell.parent.remove(cell)
            elif cell.children and cell[0].get("nb_element") == "cell_code_source":
                fold(cell, self._figures())
        up = "../" * (self.env.docname.count("/") - 1)
        for claim in boxes(self.document):
            for part in list(claim.findall(nodes.inline)):
                if not part["classes"]:
                    part.replace_self(part.children)  # it was there to be translated
            source = list(claim[DETAILS].findall(nodes.paragraph))[-1]
            name = claim["ids"][0]
            entry = f"{up}what_replicates.html#what_replicates-{name}"
            for words, place in ((_("link to this claim"), f"#{name}"), (_("ledger"), entry)):
                source += [nodes.Text(" · "), nodes.reference("", words, refuri=place)]


def fold(cell: nodes.container, figures: Mapping[str, str]) -> None:
    """Fold the code of a cell that shows claims or a figure or is tagged so.

    What unfolds it says what the code is for and how long it is; `figures` has their numbers.

    The table of all claims, which is long, is folded as a whole, and so are claims whose cell has
    the tag hide-output.
    """
    code = cell[0]
    if code.astext().strip() == "claims.table()":
        cell["hide_mode"] = "all"
        cell.attributes |= _prompts(_("all claims of this chapter"), _("the claims"))
        return
    shown = boxes(cell)
    drawn = [name for found in cell.findall(nodes.figure) for name in found["ids"]]
    if shown:
        names = [claim["ids"][0].partition("-")[2] for claim in shown]
        what = _("the checks of {}").format(_listed(names))
    elif drawn:
        names = [figures.get(name, _("the figure")) for name in drawn]
        what = _("the code of {}").format(_listed(names))
    elif names := _defined(code.astext()):
        what = _("the code of {}").format(_listed(names))
    else:
        what = _("the code")
    lines = len(code.astext().strip().splitlines())
    long = _("1 line") if lines == 1 else _("{} lines").format(lines)
    prompts = _prompts(f"{what} ({long})", what)
    if not shown and not drawn:
        cell.attributes |= prompts
        return
    mode = cell.attributes.pop("hide_mode", None) or ""
    cell.remove(code)
    if len(shown) == 1:
        shown[0][DETAILS].append(code)
    else:
        cell += HideCodeCellNode("", code, **prompts, classes=["above-input", "behind"])
    if shown and "output" in mode:
        count = len(shown)
        checks = _("1 further check") if count == 1 else _("{} further checks").format(count)
        prompts = _prompts(checks, checks)
        inside = HideCodeCellNode("", *cell, **prompts, classes=["above-input", "further"])
        cell.children = []
        cell += inside


def _listed(names: Sequence[str]) -> str:
    """List the first names, and say that there are more."""
    more = ["…"] * (len(names) > NAMED)
    return ", ".join([*map(str, names[:NAMED]), *more])


def _defined(code: str) -> list[str]:
    """Name what a cell defines, functions, classes and variables, and what it calls."""
    found = {}
    for line in ast.parse(code).body:
        if isinstance(line, ast.FunctionDef | ast.ClassDef):
            found[line.name] = True
        elif isinstance(line, ast.Assign):
            names = [part.id for part in ast.walk(line.targets[0]) if isinstance(part, ast.Name)]
            found |= dict.fromkeys(names)
        elif isinstance(line, ast.Expr) and isinstance(line.value, ast.Call):
            found[ast.unparse(line.value.func)] = True
    return list(found)


def _prompts(show: str, hide: str) -> dict[str, str]:
    return {"prompt_show": _("Show {}").format(show), "prompt_hide": _("Hide {}").format(hide)}
