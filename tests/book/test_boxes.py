"""Claims as boxes: their words, the axis, their anchors, and the code folded behind them."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from docutils import nodes
from docutils.utils import new_document
from myst_nb.core.render import MimeData
from myst_nb.sphinx_ import HideCodeCellNode

from lib.book import boxes
from lib.claims import VERDICTS, Claim

CLAIM = Claim("products/rate", "it grows like $t^2$", "Eq. 7", 0.987654321, 0.95, math.inf, "reproduced", {"chance": 0.5})


def render(claim, mime_type="text/plain", inline=False):
    """Render the output that a claim leaves in a notebook, once it has been through a file."""
    metadata = {} if claim is None else json.loads(json.dumps(claim._repr_mimebundle_()[1]))
    return boxes.ClaimRenderer.handle_mime(None, MimeData(mime_type, "any text", output_metadata=metadata), inline)


def words(claim):
    (box,) = render(claim)
    return [part.astext() for part in box if not isinstance(part, nodes.raw)]


def test_a_claim_is_a_box_with_verdict_number_rivals_and_links():
    (box,) = render(CLAIM)
    assert box["classes"] == ["claim", "claim-reproduced"] and box["ids"] == ["products-rate"]
    assert words(CLAIM) == [
        "Reproduced: it grows like t^2¶",
        "measured 0.988, expected at least 0.95",
        "rivals that fail: chance: 0.5",
        "Eq. 7 · ledger",
    ]
    assert [part["refuri"] for part in box.findall(nodes.reference)] == [
        "#products-rate",
        "what_replicates.html#what_replicates-products-rate",
    ]
    assert [part.astext() for part in box.findall(nodes.math)] == ["t^2"]


def test_a_mended_claim_shows_what_the_printed_statement_gives_and_leads_to_the_errata():
    for verdict in ("corrected", "slip"):
        said = words(replace(CLAIM, verdict=verdict, printed=0.51234))
        assert "measured 0.988 (as printed: 0.512), expected at least 0.95" in said
        assert said[-1] == "Eq. 7 · ledger · errata"


def test_a_claim_that_does_not_hold_says_why():
    for verdict in ("not reproduced", "not decided"):
        (box,) = render(replace(CLAIM, verdict=verdict, why="it shrinks"))
        assert box["classes"] == ["claim", "claim-" + verdict.replace(" ", "-")]  # class names without a blank
        assert "it shrinks" in words(replace(CLAIM, verdict=verdict, why="it shrinks"))


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_shown(number):
    claim = replace(CLAIM, measured=number, printed=number, verdict="corrected")
    assert f"measured {number} (as printed: {number}), expected at least 0.95" in words(claim)


def test_formulas_are_typeset_wherever_they_stand_and_plain_where_nothing_can_be():
    claim = replace(CLAIM, source=r"Eq. 7, $\delta>0$", rivals={r"$\tau$ alone": 0.5}, verdict="not decided", why="for $n=1$")
    (box,) = render(claim)
    assert [part.astext() for part in box.findall(nodes.math)] == ["t^2", r"\tau", "n=1", r"\delta>0"]
    assert box["claim"] == "it grows like t²"
    assert "τ alone: 0.5" in places(claim)


def test_every_other_output_is_left_to_myst_nb():
    assert render(None) is None
    assert render(CLAIM, "text/html") is None
    assert render(CLAIM, inline=True) is None


def places(claim):
    """Return where on the axis each kind of mark stands, from 0 to 1, and the text of each."""
    (box,) = render(claim)
    (drawn,) = box.findall(nodes.raw)
    marks = re.findall(r'<g class="axis-(\w+)"><title>(.*?)</title><\w+ (?:c?x1?)="([\d.]+)"', drawn.astext())
    return {text: (kind, float(x) / boxes.WIDTH) for kind, text, x in marks}


def test_on_the_axis_what_passes_lies_left_of_the_middle():
    found = places(replace(CLAIM, rivals={"chance": 0.5, "other sign": -1, "none": -math.inf, "<near>": 0.9}))
    assert found["measured 0.988"][0] == "measured" and 0 < found["measured 0.988"][1] < 0.5
    rivals = [found[text][1] for text in ("&lt;near&gt;: 0.9", "chance: 0.5", "other sign: -1", "none: -inf")]
    assert rivals == sorted(rivals) and 0.5 < rivals[0] < rivals[1] < 1
    assert rivals[2] == rivals[3] == pytest.approx(1 - boxes.MARGIN / boxes.WIDTH, abs=1e-3)


def test_the_axis_is_logarithmic_in_the_share_of_the_bound():
    claim = replace(CLAIM, measured=1e-2, low=-math.inf, high=1.0, rivals={"ten": 10.0, "hundred": 100.0})
    found = {text.split(":")[0]: place for text, (_, place) in places(claim).items()}
    assert found["hundred"] - 0.5 == pytest.approx(2 * (found["ten"] - 0.5)) == pytest.approx(0.5 - found["measured 0.01"])


def test_a_printed_number_is_a_ring_and_a_bound_of_zero_has_no_axis():
    assert places(replace(CLAIM, verdict="slip", printed=0.5))["as printed 0.5"][0] == "printed"
    assert places(replace(CLAIM, measured=1.0, low=0.0)) == {} == places(replace(CLAIM, measured=math.nan, low=0.0))


def test_what_is_no_number_has_no_axis():
    assert places(replace(CLAIM, measured=math.nan, verdict="not decided", why="dear")) == {}


@pytest.mark.parametrize("measured", [0.0, math.inf, 0.95])
def test_the_axis_has_room_for_every_number(measured):
    for claim in (replace(CLAIM, measured=measured), replace(CLAIM, measured=measured, low=-2.0, high=3.0, rivals={})):
        assert all(0 <= place <= 1 for _, place in places(claim).values())


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
        (lambda: render(CLAIM), "Show the check (3 lines)"),
        (lambda: render(CLAIM) + render(replace(CLAIM, id="products/other")), "Show the checks (3 lines)"),
        (lambda: [nodes.figure()], "Show the figure's code (3 lines)"),
        (lambda: [nodes.literal_block(text="1")], "Show the code (3 lines)"),
        (lambda: [], "Show the code (3 lines)"),
    ],
)
def test_the_code_of_checks_and_figures_is_folded_behind_what_it_shows(outputs, prompt):
    document = new_document("page")
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
    document = new_document("page")
    document += cell(*render(CLAIM), *render(replace(CLAIM, id="products/other", verdict="not decided")))
    document[0]["hide_mode"] = "output"
    boxes.FoldCode(document).run()
    ((further,),) = document
    assert further["prompt_show"] == "Show 2 further checks: 1 reproduced, 1 not decided"
    assert [box["ids"] for box in further.findall(nodes.container) if "claim" in box["classes"]]
    assert further[-1]["prompt_show"] == "Show the checks (3 lines)"
    assert "hide_mode" not in document[0]


def test_one_line_is_one_line():
    document = new_document("page")
    document += cell(*render(CLAIM), lines=1)
    boxes.FoldCode(document).run()
    assert document[0][-1]["prompt_show"] == "Show the check (1 line)"


def test_the_parameters_are_not_shown():
    document = new_document("page")
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
