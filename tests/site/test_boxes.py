"""Claims as lines: their words, their details, their anchors, and the code folded behind them."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from myst_nb.core.render import MimeData
from myst_nb.sphinx_ import HideCodeCellNode

from lib.claims import VERDICTS, Claim
from lib.site import boxes

CLAIM = Claim("products/rate", "it grows like $t^2$", "Eq. 7", 0.987654321, 0.95, math.inf, "reproduced", {"chance": 0.5})


def render(claim, mime_type="text/plain", inline=False):
    """Render the output that a claim leaves in a notebook, once it has been through a file."""
    metadata = {} if claim is None else json.loads(json.dumps(claim._repr_mimebundle_()[1]))
    return boxes.ClaimRenderer.handle_mime(None, MimeData(mime_type, "any text", output_metadata=metadata), inline)


def words(claim):
    """Return the line and the paragraphs of the details."""
    (box,) = render(claim)
    return [part.astext().strip() for part in box.findall(nodes.paragraph)]


def test_a_claim_is_a_line_with_its_details_folded():
    (box,) = render(CLAIM)
    assert box["classes"] == ["claim", "claim-reproduced"] and box["ids"] == ["products-rate"]
    assert words(CLAIM) == [
        "Reproduced it grows like t^2 measured 0.988, expected ≥ 0.95",
        "Rivals that fail: chance: 0.5",
        "Eq. 7",
    ]
    assert [part.astext() for part in box.findall(nodes.math)] == ["t^2"]


@pytest.mark.parametrize("page, up", [("book/products", ""), ("book/evidence/products", "../")])
def test_the_details_lead_to_the_claim_and_the_ledger(page, up):
    document = new_document("page")
    document.settings.env = SimpleNamespace(docname=page)
    document += render(replace(CLAIM, verdict="slip", printed=0.5))
    boxes.FoldCode(document).run()
    assert [(link.astext(), link["refuri"]) for link in document.findall(nodes.reference)] == [
        ("link to this claim", "#products-rate"),
        ("ledger", f"{up}what_replicates.html#what_replicates-products-rate"),
    ]


def test_a_mended_claim_shows_what_the_printed_statement_gives():
    for verdict in ("corrected", "slip"):
        line, *_ = words(replace(CLAIM, verdict=verdict, printed=0.51234))
        assert line.endswith("measured 0.988 (as printed: 0.512), expected ≥ 0.95")


def test_a_claim_that_does_not_hold_says_why():
    for verdict in ("not reproduced", "not decided"):
        (box,) = render(replace(CLAIM, verdict=verdict, why="it shrinks"))
        assert box["classes"] == ["claim", "claim-" + verdict.replace(" ", "-")]  # class names without a blank
        assert "it shrinks" in words(replace(CLAIM, verdict=verdict, why="it shrinks"))


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_shown(number):
    line, *_ = words(replace(CLAIM, measured=number, printed=number, verdict="corrected"))
    assert line.endswith(f"measured {number} (as printed: {number}), expected ≥ 0.95")


def test_formulas_are_typeset_wherever_they_stand_and_plain_where_nothing_can_be():
    claim = replace(CLAIM, source=r"Eq. 7, $\delta>0$", rivals={r"$\tau$ alone": 0.5}, verdict="not decided", why="for $n=1$")
    (box,) = render(claim)
    assert [part.astext() for part in box.findall(nodes.math)] == ["t^2", "n=1", r"\tau", r"\delta>0"]
    assert box["claim"] == "it grows like t²"


def test_every_other_output_is_left_to_myst_nb():
    assert render(None) is None
    assert render(CLAIM, "text/html") is None
    assert render(CLAIM, inline=True) is None


def page():
    """Make a page of the book, without anything on it."""
    document = new_document("page")
    document.settings.env = SimpleNamespace(docname="book/products")
    return document


def cell(*outputs, lines=3):
    """Make a cell's node as myst-nb makes it."""
    whole = nodes.container(nb_element="cell_code", hide_mode="input", prompt_show="Show", prompt_hide="Hide")
    code = nodes.container(nb_element="cell_code_source")
    code += nodes.literal_block(text="\n" + "x = 1\n" * lines)
    shown = nodes.container(nb_element="cell_code_output")
    shown += outputs
    whole += [code, shown] if outputs else [code]
    return whole


@pytest.mark.parametrize(
    "outputs, prompt",
    [
        (lambda: render(CLAIM) + render(replace(CLAIM, id="products/other")), "Show the checks (3 lines)"),
        (lambda: [nodes.figure()], "Show the figure's code (3 lines)"),
        (lambda: [nodes.literal_block(text="1")], "Show the code (3 lines)"),
        (lambda: [], "Show the code (3 lines)"),
    ],
)
def test_the_code_of_checks_and_figures_is_folded_behind_what_it_shows(outputs, prompt):
    document = page()
    document += cell(*outputs())
    boxes.FoldCode(document).run()
    (whole,) = document
    if prompt.startswith("Show the code"):  # where it is, folded by myst-nb if it is tagged so
        assert whole[0]["nb_element"] == "cell_code_source"
        assert (whole["hide_mode"], whole["prompt_show"]) == ("input", prompt)
    else:
        assert isinstance(whole[-1], HideCodeCellNode) and whole[-1]["prompt_show"] == prompt
        assert whole[0]["nb_element"] == "cell_code_output" and "hide_mode" not in whole


def test_claims_whose_cell_is_tagged_so_are_folded_with_their_code():
    document = page()
    document += cell(*render(CLAIM), *render(replace(CLAIM, id="products/other", verdict="not decided")))
    document[0]["hide_mode"] = "output"
    boxes.FoldCode(document).run()
    ((further,),) = document
    assert further["prompt_show"] == "Show 2 further checks"
    assert [box["ids"] for box in further.findall(nodes.container) if "claim" in box["classes"]]
    assert further[-1]["prompt_show"] == "Show the checks (3 lines)"
    assert "hide_mode" not in document[0]


def test_the_code_that_checks_one_claim_is_in_its_details():
    document = page()
    document += cell(*render(CLAIM))
    boxes.FoldCode(document).run()
    ((shown,),) = document
    (claim,) = shown
    assert boxes.details(claim)[-1]["nb_element"] == "cell_code_source"


def test_one_line_is_one_line():
    document = page()
    document += cell(nodes.figure(), lines=1)
    boxes.FoldCode(document).run()
    assert document[0][-1]["prompt_show"] == "Show the figure's code (1 line)"


def test_the_parameters_are_not_shown():
    document = page()
    document += [cell(), cell()]
    document[0]["classes"].append("tag_parameters")
    boxes.FoldCode(document).run()
    (rest,) = document
    assert "tag_parameters" not in rest["classes"]


def test_every_verdict_has_its_colour_in_both_themes():
    css = Path(boxes.__file__).parents[2].joinpath("book", "_static", "book.css").read_text(encoding="utf-8")
    for verdict in VERDICTS:
        name = verdict.replace(" ", "-")
        assert css.count(f"--{name}: #") == 2
        assert f".{name} {{" in css and f".tile-{name} {{" in css and (f".claim-{name} {{" in css or verdict == "reproduced")
