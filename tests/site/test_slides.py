"""Decks: the mistakes that end a build; what the decks of the book show is in test_site.py."""

import pytest

from lib.site import slides
from lib.site.shown import Part

FIGURE = '<figure><figcaption><p><span class="caption-number">Fig. 1.1 </span>A figure.</p></figcaption></figure>'
CLAIM = '<div class="docutils claim claim-not-decided container"><p class="claim-line"><strong>Not decided</strong> it holds</p></div>'
KNOWN = {"fig-one": Part("one", "fig-one", FIGURE), "one-right": Part("one", "one-right", CLAIM)}
RECORDS = {"one-right": {"measured": 0.98765, "printed": 2.0}}


def test_links_say_what_they_lead_to():
    (shown,) = slides.slides(
        "[](#fig-one), [](#one-right), [{measured:.1f} and {printed}](#one-right)", KNOWN, RECORDS
    )
    assert ">Fig. 1.1</a>" in shown and ">not decided</a>" in shown and ">1.0 and 2.0</a>" in shown


@pytest.mark.parametrize(
    "text, said",
    [
        ("![](#eq-lost)", "an exercise named eq-lost"),
        ("See [](#fig-lost).", "an exercise named fig-lost"),
        ("[{measured}](#fig-one)", "fig-one is not a claim"),
        (
            "[{median}](#one-right)",
            "one-right is not a claim, or lacks the number that {median} takes",
        ),
        (r"$\nonsense$", "has no MathML"),
    ],
)
def test_a_mistake_is_named(text, said):
    with pytest.raises(ValueError) as caught:
        slides.slides(text, KNOWN, RECORDS)
    assert said in str(caught.value)
