"""Claims as boxes: verdict, statement, the measured number on an axis with bound and rivals, and the check folded below."""

import math
from collections import Counter
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from lib import claims
from lib.claims import CORRECTED, SLIP
from lib.markdown import FORMULA, sentence

WIDTH, HEIGHT, MARGIN = 320, 18, 8  # of the axis, in units of its drawing
WIDEST = 6.0  # decades on either side of the bound; what lies further out stands at the end


class ClaimRenderer:
    """Show a claim's output as a box, made from the record in the output's metadata."""

    mime_priority_overrides: ClassVar[list] = []

    @staticmethod
    def handle_mime(renderer: object, data: object, inline: bool) -> list[nodes.Element] | None:
        """Render a claim's output; leave every other to myst-nb."""
        record = data.output_metadata.get("claim")
        if record is None or inline or data.mime_type != "text/plain":
            return None
        return [box(record)]


def box(record: dict) -> nodes.container:
    """Lay out a claim; its anchor is CHAPTER-NAME."""
    verdict, name = record["verdict"], record["id"].replace("/", "-")
    whole = nodes.container(ids=[name], classes=["claim", "claim-" + verdict.replace(" ", "-")])
    whole["claim"] = sentence(record["statement"])
    link = nodes.reference("", "¶", refuri=f"#{name}", classes=["headerlink"], reftitle="Link to this claim")
    whole += nodes.paragraph(
        "", "", nodes.strong(text=verdict.capitalize()), nodes.Text(": "), *typeset(record["statement"]), link
    )
    measured = f"measured {claims.measured_text(record)}, expected {claims.bound_text(record)}"
    whole += nodes.paragraph("", measured, classes=["claim-detail"])
    whole += nodes.raw("", axis(record), format="html")
    if record["rivals"]:
        whole += nodes.paragraph("", "", *typeset(f"rivals that fail: {claims.rivals_text(record)}"), classes=["claim-detail"])
    if record["why"]:
        whole += nodes.paragraph("", "", *typeset(record["why"]))
    pages = ["what_replicates"] + ["errata"] * (verdict in (CORRECTED, SLIP))
    links = [nodes.reference("", page, refuri=f"{page}.html#{page}-{name}") for page in pages]
    for reference, words in zip(links, ("ledger", "errata"), strict=False):
        reference[0] = nodes.Text(words)
    spaced = [part for reference in links for part in (nodes.Text(" · "), reference)]
    whole += nodes.paragraph("", "", *typeset(record["source"]), *spaced, classes=["claim-detail"])
    return whole


def typeset(text: str) -> list[nodes.Node]:
    """Turn words with formulas between dollars into nodes."""
    parts = FORMULA.split(text)
    return [nodes.math("", part) if number % 2 else nodes.Text(part) for number, part in enumerate(parts)]


def axis(record: dict) -> str:
    """Draw on a logarithmic axis how much of the bound is used: measured (dot), as printed (ring), rivals (ticks).

    The bound's edge is in the middle, what passes left of it. Returns "" for NaN and for a bound of zero, which has no scale.
    """
    bound = claims.bound(record)
    named = {f"measured {bound.shown(float(record['measured']))}": (record["measured"], "measured")}
    if record["printed"] is not None:
        named[f"as printed {bound.shown(float(record['printed']))}"] = (record["printed"], "printed")
    named |= {f"{rival}: {bound.shown(float(score))}": (score, "rival") for rival, score in record["rivals"].items()}
    shares = {words: (bound.share(float(score)), kind) for words, (score, kind) in named.items()}
    if math.isnan(float(record["measured"])) or any(share is None for share, _ in shares.values()):
        return ""
    decades = [math.log10(share) if share > 0 else -math.inf for share, _ in shares.values()]
    reach = max((min(abs(decade), WIDEST) for decade in decades if decade and math.isfinite(decade)), default=1.0)
    middle, half = WIDTH / 2, HEIGHT / 2
    marks = []
    for (words, (_, kind)), decade in zip(shares.items(), decades, strict=True):
        x = round(middle + (middle - MARGIN) * max(-1.0, min(1.0, decade / reach)), 1)
        tick = f'<line x1="{x}" x2="{x}" y1="2" y2="{HEIGHT - 2}"/>'
        dot = f'<circle cx="{x}" cy="{half}" r="4.5"/>'
        marks.append(f'<g class="axis-{kind}"><title>{escape(sentence(words))}</title>{tick if kind == "rival" else dot}</g>')
    return (
        f'<svg class="claim-axis" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="xMinYMid" aria-hidden="true">'
        f'<rect class="axis-bound" width="{middle}" height="{HEIGHT}"/>'
        f'<line class="axis-line" x2="{WIDTH}" y1="{half}" y2="{half}"/>'
        f'<line class="axis-edge" x1="{middle}" x2="{middle}" y2="{HEIGHT}"/>{"".join(reversed(marks))}</svg>'
    )


class FoldCode(SphinxPostTransform):
    """Fold the code of cells that check claims or draw figures, and put it behind what it shows; what teaches stays open.

    The cell of parameters goes: they are for the run, and the downloaded notebook has them.
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


def fold(cell: nodes.container) -> None:
    """Fold the code of a cell, if it shows claims or a figure or is tagged so, and say what it is, and how long.

    The table of all claims, which is long, is folded as a whole, and so are claims whose cell has the tag hide-output.
    """
    if cell[0].astext().strip() == "claims.table()":
        prompts = {"prompt_show": "Show all claims of this chapter", "prompt_hide": "Hide the claims"}
        cell.attributes |= {"hide_mode": "all", **prompts}
        return
    boxes = [part for part in cell.findall(nodes.container) if "claim" in part["classes"]]
    if boxes:
        what = "the checks" if len(boxes) > 1 else "the check"
    else:
        what = "the figure's code" if any(cell.findall(nodes.figure)) else "the code"
    lines = len(cell[0].astext().strip().splitlines())
    words = {"prompt_show": f"Show {what} ({lines} line{'s' * (lines != 1)})", "prompt_hide": f"Hide {what}"}
    if what == "the code":
        cell.attributes |= words
        return
    behind = HideCodeCellNode(**words, classes=["above-input", "behind"])
    behind += cell.pop(0)
    cell += behind
    mode = cell.attributes.pop("hide_mode", None)
    if boxes and mode and "output" in mode:
        further = HideCodeCellNode(**further_words(boxes), classes=["above-input", "further"])
        further.extend(cell.children)
        cell.children = []
        cell += further


def further_words(boxes: list[nodes.container]) -> dict[str, str]:
    """Say how many claims a fold holds, and with which verdicts."""
    found = Counter(kind for box in boxes for kind in box["classes"] if kind.startswith("claim-"))
    verdicts = ", ".join(f"{count} {kind.removeprefix('claim-').replace('-', ' ')}" for kind, count in found.items())
    checks = f"{len(boxes)} further check{'s' * (len(boxes) > 1)}"
    return {"prompt_show": f"Show {checks}: {verdicts}", "prompt_hide": f"Hide {checks}"}


def register(app: Sphinx, doctree: nodes.document) -> None:
    """Make each claim's anchor a label, so that `{ref}` finds it from every page."""
    labels = app.env.get_domain("std")
    for part in doctree.findall(nodes.container):
        if "claim" in part["classes"] and part["ids"]:
            name = part["ids"][0]
            labels.labels[name] = (app.env.docname, name, part["claim"])
            labels.anonlabels[name] = (app.env.docname, name)


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.add_post_transform(FoldCode)
    app.connect("doctree-read", register)
