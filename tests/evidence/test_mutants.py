"""The draw of mutants, how they take over, and the table that `make mutate` keeps."""

import sys
import tomllib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from evidence import mutants, table
from lib.book.pages import mutants as page

TABLE = table.known("mutants")


def sample(function="f", lines=range(20)):
    return [mutants.Change("m.py", function, f"x = {i}", f"x = {i + 1}", 0) for i in lines]


def test_the_draw_stays_when_other_lines_come_and_go():
    drawn = mutants.draw(sample(), 10)
    assert drawn == mutants.draw(sample()[::-1], 10) != sample()[:10]
    fewer = mutants.draw(sample(lines=range(5, 20)), 10)
    assert [change for change in drawn if change in fewer] == [change for change in fewer if change in drawn]


def test_a_mutant_takes_over_for_all_who_have_imported_it():
    def double(x, times=2):
        return times * x

    names = {"double": double}
    mutants.take_over(double, "def double(x, times=3):\n    return times + x")
    assert names["double"](1) == 4


SMALL = """\
from functools import wraps

from lib.checks import positive, takes


def doubled(function):
    return wraps(function)(lambda *given: 2 * function(*given))


@takes(
    price=positive,
)
def cost(price, weight=2.0):
    return weight * price + 1


@doubled
def left_alone(price):
    return price + 1
"""


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """Change a formula whose arguments are checked, in a module of its own, the only one."""
    (tmp_path / "small_formulas.py").write_text(SMALL)
    monkeypatch.setattr(table, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "modules", lambda: ["small_formulas.py"])
    monkeypatch.syspath_prepend(tmp_path)
    yield mutants.Change("small_formulas.py", "cost", "return weight * price + 1", "return weight * price - 1", 0)
    sys.modules.pop("small_formulas", None)


def test_a_mutant_takes_over_inside_of_the_checks(checked):
    from small_formulas import cost

    mutants.take_over(mutants.original(checked), "def cost(price, weight=3.0):\n    return weight * price - 1")
    assert (cost(5), cost(5, weight=1)) == (14, 4)
    with pytest.raises(ValueError, match="price must be positive"):
        cost(-1)


def test_a_call_is_noted_inside_of_the_checks(checked):
    from small_formulas import cost

    function, noted = mutants.original(checked), set()
    function.__globals__["REACHED"] = noted
    mutants.take_over(function, mutants.watched(function, ("m", "f")))
    with pytest.raises(ValueError, match="price must be positive"):
        cost(-1)
    assert not noted
    assert (cost(5), noted) == (11, {("m", "f")})


def test_of_checked_functions_the_formulas_are_changed_and_nothing_else(checked):
    pytest.importorskip("mutmut")
    changes, _ = mutants.proposals("small_formulas.py")
    assert checked in changes and {change.function for change in changes} == {"doubled", "cost"}
    assert not any("takes" in source or "positive" in source for source in changes.values())
    mutants.take_over(mutants.original(checked), changes[checked])
    assert sys.modules["small_formulas"].cost(5) == 9


def line(change, **found):
    """A line of the table."""
    return found | {"result": "survived", "first": "caught", "tests": 0}


def test_what_has_not_changed_is_tried_again_only_if_named(checked, tmp_path, monkeypatch):
    test = SimpleNamespace(path=tmp_path / "test_small.py")
    test.path.write_text("the tests")
    monkeypatch.setattr(mutants.Runner, "reach", lambda self, *_: [(0.1, test, {("small_formulas.py", "cost")})])
    other = replace(checked, module="other.py")
    proposed, known = {"small_formulas.py": {checked: "its source"}}, {checked: line(checked, state="old")}

    def plan(known):
        return mutants.Runner(["small_formulas"]).plan([test], proposed, known)

    lines, ((change, now, source, tests),) = plan(known)
    assert lines == known  # as it was, in case of an interruption
    assert (change, source, tests, now["tests"]) == (checked, "its source", [(0.1, test)], 1)
    same = {checked: line(checked, state=now["state"])}
    assert plan(same) == ({checked: same[checked] | now}, [])
    test.path.write_text("other tests")
    assert len(plan(same)[1]) == 1
    test.path.write_text("the tests")
    monkeypatch.setattr(mutants, "modules", lambda: ["other.py", "small_formulas.py"])
    lines, todo = plan(same | {other: line(other)})
    assert lines == {other: line(other)} | same and [*lines] == [other, checked] and todo[0][0] == checked


def test_what_is_proposed_changes_formulas():
    pytest.importorskip("mutmut")
    changes, possible = mutants.proposals("lib/theory/practice.py")
    assert 0 < len(changes) < possible
    assert {change.now for change in changes if change.function == "sample_complexity"} == {
        "return classes / features ** levels",
        "return classes * features * levels",
    }
    assert not any(change.was.startswith("raise") or "XX" in change.now or change.now.endswith("= None") for change in changes)
    for change, source in changes.items():
        assert change.now in source and change.was not in source


def test_the_table_has_all_modules_and_the_whole_draw():
    assert [*TABLE["modules"]] == mutants.modules(), "run make mutate"
    for module, counts in TABLE["modules"].items():
        tried = [mutant for mutant in TABLE["mutants"] if mutant["module"] == module]
        assert len(tried) == len(set(map(mutants.change_of, tried))) == min(counts["formulas"], TABLE["budget"])
    assert {mutant["result"] for mutant in TABLE["mutants"]} <= set(mutants.RESULTS.values())


def test_nine_of_ten_mutants_that_can_be_caught_are():
    able = [mutant for mutant in TABLE["mutants"] if "equivalent" not in mutant]
    assert sum(mutant["result"] in page.CAUGHT for mutant in able) >= 0.9 * len(able)


def test_every_equivalent_mutant_is_a_survivor_with_its_reason():
    listed = tomllib.loads(mutants.EQUIVALENT.read_text(encoding="utf-8"))["mutant"]
    survivors = {
        mutants.change_of(mutant): mutant.get("equivalent") for mutant in TABLE["mutants"] if mutant["result"] == "survived"
    }
    assert {mutants.change_of(entry): entry["reason"] for entry in listed} == {k: v for k, v in survivors.items() if v}
