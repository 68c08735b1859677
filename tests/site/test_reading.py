"""What is marked in a page so that it reads well: whole numbers and the tables of claims."""

import pytest

from lib.site import reading


@pytest.mark.parametrize(
    "text, marked",
    [
        ("<p>at most 1.8e-06, or 2e+5</p>", ["1.8e-06", "2e+5"]),
        ("<td><p>−3e-4</p></td><pre>7.1e-12\n</pre>", ["3e-4", "7.1e-12"]),
        ("<p>the-06 case, 5e6 and 1-2</p>", []),
        ("<math><mn>3e-3</mn></math>", []),
        ('<svg><text>1e-3</text></svg><script>x = 1e-3</script><style>a{b:1e-3}</style><p title="1e-3">', []),
    ],
)
def test_numbers_in_the_text_are_marked(text, marked):
    expected = text
    for number in marked:
        expected = expected.replace(number, f'<span class="number">{number}</span>')
    assert reading.whole_numbers(text) == expected


def test_tables_of_claims_are_marked():
    claims = (
        '<table class="table">\n<thead>\n<tr class="row-odd"><th><p>claim</p></th>\n<th><p>verdict</p></th></tr></thead></table>'
    )
    errata = claims.replace("claim", "place")
    assert reading.ledger_tables(claims + errata) == claims.replace('"table"', '"table ledger"') + errata
