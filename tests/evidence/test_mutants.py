"""The draw of mutants, how they take over, and the table that `make mutate` keeps."""

import json
import tomllib

import mutate
import pytest
from scipy.stats import binomtest

from lib.evidence import mutants, place, read

TABLE = read(mutate.ROOT, "mutants", "make mutate")


def sample(function="f", lines=range(20)):
    return [mutate.Change("m.py", function, f"x = {i}", f"x = {i + 1}", 0) for i in lines]


def test_the_draw_stays_when_other_lines_come_and_go():
    drawn = mutate.draw(sample(), 10)
    assert drawn == mutate.draw(sample()[::-1], 10) != sample()[:10]
    fewer = mutate.draw(sample(lines=range(5, 20)), 10)
    assert [change for change in drawn if change in fewer] == [change for change in fewer if change in drawn]


def test_a_mutant_takes_over_for_all_who_have_imported_it():
    def double(x, times=2):
        return times * x

    names = {"double": double}
    mutate.take_over(double, "def double(x, times=3):\n    return times + x")
    assert names["double"](1) == 4


def test_what_is_proposed_changes_formulas():
    pytest.importorskip("mutmut")
    changes, possible = mutate.proposals("lib/theory/practice.py")
    assert 0 < len(changes) < possible
    assert {change.now for change in changes if change.function == "sample_complexity"} == {
        "return classes / features ** levels",
        "return classes * features * levels",
    }
    assert not any(change.was.startswith("raise") or "XX" in change.now or change.now.endswith("= None") for change in changes)
    for change, source in changes.items():
        assert change.now in source and change.was not in source


def test_the_table_has_all_modules_and_the_whole_draw():
    assert [*TABLE["modules"]] == mutate.modules(), "run make mutate"
    for module, counts in TABLE["modules"].items():
        tried = [mutant for mutant in TABLE["mutants"] if mutant["module"] == module]
        assert len(tried) == len(set(map(mutate.change_of, tried))) == min(counts["formulas"], TABLE["budget"])
    assert {mutant["result"] for mutant in TABLE["mutants"]} <= set(mutate.RESULTS.values())


def test_nine_of_ten_mutants_that_can_be_caught_are():
    able = [mutant for mutant in TABLE["mutants"] if "equivalent" not in mutant]
    assert sum(mutant["result"] in mutants.CAUGHT for mutant in able) >= 0.9 * len(able)


def test_every_equivalent_mutant_is_a_survivor_with_its_reason():
    listed = tomllib.loads(mutate.EQUIVALENT.read_text(encoding="utf-8"))["mutant"]
    survivors = {
        mutate.change_of(mutant): mutant.get("equivalent") for mutant in TABLE["mutants"] if mutant["result"] == "survived"
    }
    assert {mutate.change_of(entry): entry["reason"] for entry in listed} == {k: v for k, v in survivors.items() if v}


def test_the_page_tells_what_the_table_holds(tmp_path):
    results = ["caught"] * 6 + ["timed out"] * 2 + ["survived"] * 2
    rows = [
        {
            "module": "lib/a.py",
            "function": "f",
            "was": f"x = {i}",
            "now": "x = y",
            "nth": 0,
            "tests": 3,
            "result": result,
            "first": result,
        }
        for i, result in enumerate(results)
    ]
    rows[0]["first"] = "survived"
    rows[8]["equivalent"] = "y is 8."
    rows[9]["tests"] = 0
    table = TABLE | {"modules": {"lib/a.py": {"possible": 40, "formulas": 20}}, "mutants": rows}
    place(tmp_path, "mutants").parent.mkdir(parents=True)
    place(tmp_path, "mutants").write_text(json.dumps(table), encoding="utf-8")
    page = mutants.page(tmp_path)
    assert "8 of the 9 mutants that can be caught are caught: 88.9%" in page and "it was 7, 77.8%" in page
    assert "1 are equivalent; with them 80.0% are caught, and 70.0% were at first" in page
    assert "| `lib/a.py` | 20 | 10 | 6 | 2 | 1 | 1 | 89% |" in page
    assert "- x = 8\n+ x = y\n```\n\nEquivalent: y is 8." in page and "- x = 9\n+ x = y\n```\n\nOpen. No test reaches it." in page
    assert "x = 7" not in page


@pytest.mark.parametrize(("hits", "trials"), [(0, 5), (9, 10), (480, 510), (30, 30)])
def test_wilson(hits, trials):
    expected = binomtest(hits, trials).proportion_ci(method="wilson")
    assert mutants._wilson(hits, trials) == pytest.approx((expected.low, expected.high), abs=1e-4)
