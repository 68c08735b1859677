"""Claims as lines: their words, their details, their anchors, and the code folded behind them."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document
from myst_nb.core.render import MimeData
from myst_nb.sphinx_ import HideCodeCellNode

from lib.claims import Claim
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


def folded(*parts, page="book/products"):
    """Make a page of the book of these parts, its code folded."""
    document = new_document("page")
    document.settings.env = SimpleNamespace(docname=page)
    document += parts
    boxes.FoldCode(document).run()
    return document


def test_a_claim_is_a_line_with_its_details_folded():
    (box,) = render(CLAIM)
    assert box["classes"] == ["claim", "claim-reproduced"] and box["ids"] == ["products-rate"]
    assert words(CLAIM) == [
        "Reproduced it grows like t^2 measured 0.988, expected ≥ 0.95",
        "Rivals that fail: chance: 0.5",
        "Eq. 7",
    ]


@pytest.mark.parametrize("page, up", [("book/products", ""), ("book/evidence/products", "../")])
def test_the_details_lead_to_the_claim_and_the_ledger(page, up):
    document = folded(*render(CLAIM), page=page)
    assert [(link.astext(), link["refuri"]) for link in document.findall(nodes.reference)] == [
        ("link to this claim", "#products-rate"),
        ("ledger", f"{up}what_replicates.html#what_replicates-products-rate"),
    ]


@pytest.mark.parametrize("printed, shown", [(0.51234, "0.512"), (-math.inf, "-inf"), (math.nan, "nan")])
def test_a_mended_claim_shows_what_the_printed_statement_gives(printed, shown):
    line, *_ = words(replace(CLAIM, verdict="corrected", printed=printed))
    assert line.endswith(f"measured 0.988 (as printed: {shown}), expected ≥ 0.95")


def test_a_claim_says_why_it_does_not_hold_with_its_formulas_typeset_and_plain_where_nothing_can_be():
    claim = replace(CLAIM, source=r"Eq. 7, $\delta>0$", rivals={r"$\tau$ alone": 0.5}, verdict="not decided", why="for $n=1$")
    (box,) = render(claim)
    assert box["classes"] == ["claim", "claim-not-decided"]  # class names without a blank
    assert [part.astext() for part in box.findall(nodes.math)] == ["t^2", "n=1", r"\tau", r"\delta>0"]
    assert box["claim"] == "it grows like t²"


def test_every_other_output_is_left_to_myst_nb():
    assert render(None) is None
    assert render(CLAIM, "text/html") is None
    assert render(CLAIM, inline=True) is None


def cell(*outputs, lines=3, mode="input"):
    """Make a cell's node as myst-nb makes it."""
    whole = nodes.container(nb_element="cell_code", hide_mode=mode, prompt_show="Show", prompt_hide="Hide")
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
    ],
)
def test_the_code_of_checks_and_figures_is_folded_behind_what_it_shows(outputs, prompt):
    (whole,) = folded(cell(*outputs()))
    if prompt.startswith("Show the code"):  # where it is, folded by myst-nb if it is tagged so
        assert whole[0]["nb_element"] == "cell_code_source"
        assert (whole["hide_mode"], whole["prompt_show"]) == ("input", prompt)
    else:
        assert isinstance(whole[-1], HideCodeCellNode) and whole[-1]["prompt_show"] == prompt
        assert whole[0]["nb_element"] == "cell_code_output" and "hide_mode" not in whole


def test_claims_whose_cell_is_tagged_so_are_folded_with_their_code():
    ((further,),) = folded(cell(*render(CLAIM), *render(replace(CLAIM, id="products/other")), mode="output"))
    assert further["prompt_show"] == "Show 2 further checks"
    assert [box["ids"] for box in further.findall(nodes.container) if "claim" in box["classes"]]
    assert further[-1]["prompt_show"] == "Show the checks (3 lines)"


def test_the_code_that_checks_one_claim_is_in_its_details():
    (((claim,),),) = folded(cell(*render(CLAIM)))
    assert boxes.details(claim)[-1]["nb_element"] == "cell_code_source"


def test_the_parameters_are_not_shown_and_one_line_is_one_line():
    parameters = cell()
    parameters["classes"].append("tag_parameters")
    (rest,) = folded(parameters, cell(nodes.figure(), lines=1))
    assert rest[-1]["prompt_show"] == "Show the figure's code (1 line)"
