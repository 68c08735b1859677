"""Claims as lines: verdict, statement, measured number and bound; rivals, source and the code of the check folded below."""

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from lib import claims
from lib.markdown import FORMULA, sentence
from lib.site import ledger, names

FOLD = '<details class="claim-fold"><summary>details</summary>'


class ClaimRenderer:
    """Show a claim's output as a line, made from the record in the output's metadata."""

    mime_priority_overrides: ClassVar[list] = []

    @staticmethod
    def handle_mime(renderer: object, data: object, inline: bool) -> list[nodes.Element] | None:
        """Render a claim's output; leave every other to myst-nb."""
        record = data.output_metadata.get("claim")
        if record is None or inline or data.mime_type != "text/plain":
            return None
        return [box(record)]


def box(record: dict) -> nodes.container:
    """Lay out a claim: verdict, statement and number in a line, the details folded below; its anchor is CHAPTER-NAME."""
    verdict, name = record["verdict"], record["id"].replace("/", "-")
    whole = nodes.container(ids=[name], classes=["claim", "claim-" + verdict.replace(" ", "-")])
    whole["claim"] = sentence(record["statement"])
    bound = claims.bound_text(record).replace("at most", "≤").replace("at least", "≥")
    parts = (
        nodes.strong(text=verdict.capitalize()),
        nodes.inline("", "", *typeset(record["statement"]), classes=["claim-statement"]),
        nodes.inline(text=f"measured {claims.measured_text(record)}, expected {bound}", classes=["claim-number"]),
    )
    line = nodes.paragraph("", "", *(piece for part in parts for piece in (part, nodes.Text(" "))), classes=["claim-line"])
    details = nodes.container(classes=["claim-details"])
    rivals = f"Rivals that fail: {claims.rivals_text(record)}" if record["rivals"] else ""
    details += [nodes.paragraph("", "", *typeset(words)) for words in (record["why"], rivals, record["source"]) if words]
    details["links"] = {"link to this claim": f"#{name}", "ledger": f"what_replicates.html#what_replicates-{name}"}
    whole += [line, nodes.raw("", FOLD, format="html"), details, nodes.raw("", "</details>", format="html")]
    return whole


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Say in the boxes of a page which bounds were set after looking, and lead links of former names to them."""
    root = Path(app.srcdir)
    looked = ledger.after_looking(root)
    for file in (ledger.AFTER_LOOKING, names.NAMES):
        app.env.note_dependency(str(root / file))
    for number in doctree.findall(nodes.inline):
        if "claim-number" not in number["classes"]:
            continue
        whole = number.parent.parent
        name = whole["ids"][0].replace("-", "/", 1)
        whole["ids"] += [old.replace("/", "-") for old in names.former(root, name)]
        if name in looked:
            number += nodes.Text(" (bound set after looking)")


def details(claim: nodes.container) -> nodes.container:
    """Return the part of a claim that is folded."""
    return next(part for part in claim.findall(nodes.container) if "claim-details" in part["classes"])


def typeset(text: str) -> list[nodes.Node]:
    """Turn words with formulas between dollars into nodes."""
    parts = FORMULA.split(text)
    return [nodes.math("", part) if number % 2 else nodes.Text(part) for number, part in enumerate(parts)]


class FoldCode(SphinxPostTransform):
    """Fold the code of cells that check claims or draw figures, and put it behind what it shows; what teaches stays open.

    The code that checks one claim goes into that claim's details. The cell of parameters goes: they are for the run, and the
    downloaded notebook has them.
    """

    default_priority = 198  # before myst-nb folds what is tagged
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Wrap the cells' code."""
        for cell in list(self.document.findall(nodes.container)):
            if "tag_parameters" in cell["classes"]:
                cell.parent.remove(cell)
            elif cell.get("nb_element") == "cell_code" and cell[0].get("nb_element") == "cell_code_source":
                fold(cell)
        up = "../" * (self.env.docname.count("/") - 1)
        for claim in self.document.findall(nodes.container):
            if "claim" in claim["classes"] and claim["ids"]:
                source = [part for part in details(claim) if isinstance(part, nodes.paragraph)][-1]
                for words, place in details(claim)["links"].items():
                    source += [nodes.Text(" · "), nodes.reference("", words, refuri=place if place[0] == "#" else up + place)]


def fold(cell: nodes.container) -> None:
    """Fold the code of a cell, if it shows claims or a figure or is tagged so, and say what it is, and how long.

    The table of all claims, which is long, is folded as a whole, and so are claims whose cell has the tag hide-output.
    """
    if cell[0].astext().strip() == "claims.table()":
        prompts = {"prompt_show": "Show all claims of this chapter", "prompt_hide": "Hide the claims"}
        cell.attributes |= {"hide_mode": "all", **prompts}
        return
    boxes = [part for part in cell.findall(nodes.container) if "claim" in part["classes"]]
    drawn = "the figure's code" if any(cell.findall(nodes.figure)) else "the code"
    what = "the checks" if boxes else drawn
    lines = len(cell[0].astext().strip().splitlines())
    words = {"prompt_show": f"Show {what} ({lines} line{'s' * (lines != 1)})", "prompt_hide": f"Hide {what}"}
    if what == "the code":
        cell.attributes |= words
        return
    mode = cell.attributes.pop("hide_mode", None)
    code = cell.pop(0)
    if len(boxes) == 1:
        details(boxes[0]).append(code)
    else:
        behind = HideCodeCellNode(**words, classes=["above-input", "behind"])
        behind += code
        cell += behind
    if boxes and mode and "output" in mode:
        checks = f"{len(boxes)} further check{'s' * (len(boxes) > 1)}"
        further = HideCodeCellNode(prompt_show=f"Show {checks}", prompt_hide=f"Hide {checks}", classes=["above-input", "further"])
        further.extend(cell.children)
        cell.children = []
        cell += further


def register(app: Sphinx, doctree: nodes.document) -> None:
    """Make each claim's anchor a label, so that `{ref}` finds it from every page."""
    labels = app.env.get_domain("std")
    for part in doctree.findall(nodes.container):
        if "claim" in part["classes"] and part["ids"]:
            name = part["ids"][0]
            labels.labels[name] = (app.env.docname, name, part["claim"])
            labels.anonlabels[name] = (app.env.docname, name)
