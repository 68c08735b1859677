"""Claims as lines: their words, their details, their anchors, and the code folded behind them."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from docutils import nodes
from docutils.utils import new_document
from myst_nb.core.render import MimeData
from sphinx.domains.std import StandardDomain

from lib.claims import Claim
from lib.site import boxes

CLAIM = Claim(
    "products/rate",
    "it grows like $t^2$",
    "largest $t$",
    "Eq. 7",
    0.987654321,
    0.95,
    math.inf,
    "reproduced",
    {"chance": 0.5},
)
OTHER = replace(CLAIM, id="products/other")


def render(*claims):
    """Render the outputs that claims leave in a notebook, once they have been through a file."""
    records = (json.loads(json.dumps(claim._repr_mimebundle_()[1])) for claim in claims)
    datas = (MimeData("text/plain", "any text", output_metadata=record) for record in records)
    return [box for data in datas for box in boxes.ClaimRenderer.handle_mime(None, data, False)]


def folded(*parts, page="book/products"):
    """Make a page of the book of these parts, its code folded."""
    document = new_document("page")
    document.settings.env = SimpleNamespace(
        docname=page,
        toc_fignumbers={page: {"figure": {"fig-a": (1, 2)}}},
        config=SimpleNamespace(numfig_format={"figure": "Fig. %s"}),
    )
    document += parts
    boxes.FoldCode(document).run()
    return document


@pytest.mark.parametrize("page, up", [("book/products", ""), ("book/products/evidence", "../")])
def test_a_claim_is_a_line_that_leads_to_the_ledger(page, up):
    (box,) = document = folded(*render(CLAIM), page=page)
    assert box["classes"] == ["claim", "claim-reproduced"] and box["ids"] == ["products-rate"]
    assert [part.astext().strip() for part in box.findall(nodes.paragraph)] == [
        "Reproduced it grows like t^2",
        "largest t: 0.988, expected ≥ 0.95",
        "Rivals that fail: chance: 0.5",
        "Eq. 7 · link to this claim · ledger",
    ]
    assert [link["refuri"] for link in document.findall(nodes.reference)] == [
        "#products-rate",
        f"{up}what_replicates.html#what_replicates-products-rate",
    ]


def test_a_bound_set_after_looking_says_so(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "after_looking.yml").write_text(
        "products: {changed: [rate], kept: [other]}"
    )
    page = new_document("page")
    page += render(CLAIM, OTHER)
    app = Mock(srcdir=tmp_path)
    labels = Mock(StandardDomain, labels={}, anonlabels={})
    app.env.get_domain.return_value = labels
    (tmp_path / "book" / "names.txt").write_text("products/speed products/rate\n")
    boxes.register(app, page)
    assert [box["ids"] for box in page] == [["products-rate", "products-speed"], ["products-other"]]
    assert page[0][1].astext().endswith("expected ≥ 0.95 (bound set after looking)")
    assert page[1][1].astext().endswith("expected ≥ 0.95")
    assert [title for *_, title in labels.labels.values()] == ["it grows like t²"] * 2


@pytest.mark.parametrize(
    "printed, shown", [(0.51234, "0.512"), (-math.inf, "−∞"), (math.nan, "nan")]
)
def test_a_mended_claim_shows_what_the_printed_statement_gives(printed, shown):
    (box,) = render(replace(CLAIM, verdict="corrected", printed=printed))
    assert box[1].astext() == f"largest t: 0.988 (as printed: {shown}), expected ≥ 0.95"


def test_a_claim_says_why_it_does_not_hold():
    claim = replace(
        CLAIM,
        source=r"Eq. 7, $\delta>0$",
        rivals={r"$\tau$ alone": 0.5},
        verdict="not decided",
        why="for $n=1$",
    )
    (box,) = render(claim)
    assert box["classes"] == ["claim", "claim-not-decided"]  # class names without a blank
    assert [part.astext() for part in box.findall(nodes.math)] == [
        "t^2",
        "t",
        "n=1",
        r"\tau",
        r"\delta>0",
    ]


def cell(*outputs, lines=3, mode="input", classes=()):
    """Make a cell's node as myst-nb makes it."""
    whole = nodes.container(nb_element="cell_code", hide_mode=mode, classes=list(classes))
    code = nodes.container(nb_element="cell_code_source")
    code += nodes.literal_block(text="\n" + "x = 1\n" * lines)
    shown = nodes.container(nb_element="cell_code_output")
    shown += outputs
    whole += [code, shown]
    return whole


@pytest.mark.parametrize(
    "made, prompts",
    [
        (lambda: cell(*render(CLAIM, OTHER)), [None, "Show the checks of rate, other (3 lines)"]),
        (
            lambda: cell(nodes.figure(ids=["fig-a"]), lines=1),
            [None, "Show the code of Fig. 1.2 (1 line)"],
        ),
        (lambda: cell(*render(CLAIM, OTHER), mode="output"), ["Show 2 further checks"]),
        (lambda: cell(*render(CLAIM)), [None]),  # the code is in the claim's details
    ],
    ids=["checks", "figure", "further checks", "one check"],
)
def test_code_is_folded_behind_what_it_shows(made, prompts):
    (whole,) = folded(cell(classes=["tag_parameters"]), made())  # the parameters are not shown
    assert [part.get("prompt_show") for part in whole] == prompts
    code = next(whole.findall(nodes.literal_block))
    inside = code.parent.parent
    assert (
        inside.get("prompt_show", "").startswith("Show the") or "claim-details" in inside["classes"]
    )


def test_code_that_teaches_stays_where_it_is():
    (whole,) = folded(cell(nodes.literal_block(text="1")))
    assert whole[0]["nb_element"] == "cell_code_source" and whole["hide_mode"] == "input"
    assert whole["prompt_show"] == "Show the code of x (3 lines)"
