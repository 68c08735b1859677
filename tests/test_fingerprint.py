"""Fingerprints change with what a function computes, and with nothing else."""

import textwrap

import pytest

from lib import fingerprint

MODULE = '''
"""What is trained."""
import numpy as np
from lib.checks import size, takes
from lib.other import helper as aid
from lib import other

RATE = 0.1

class Setting:
    def train(self, steps): return aid(steps) * RATE

@takes(steps=size)
def experiment(setting: Setting, steps: int = 3):
    """Train."""
    if steps > 1e9:
        raise ValueError("too many")
    unused = [name for name in range(steps)]
    return setting.train(steps) + other.table[0]

name = unrelated = 7
'''
OTHER = """
table = [1, 2]

def helper(steps):
    return deeper(steps) + 1

def deeper(steps): return steps ** 2
"""


def forget():
    for function in vars(fingerprint).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Hash the experiment in a library of two modules."""

    def code(module=MODULE, other=OTHER, name="lib.here.experiment", **more):
        forget()
        for file, text in {"here": module, "other": other, **more}.items():
            (tmp_path / "lib" / f"{file}.py").write_text(textwrap.dedent(text))
        return fingerprint.code(name)

    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").touch()
    monkeypatch.setattr(fingerprint, "HOME", tmp_path)
    yield code
    monkeypatch.undo()
    forget()


@pytest.mark.parametrize(
    "was, now",
    [
        ("RATE = 0.1", "RATE = 0.2"),
        ("* RATE", "/ RATE"),
        ("table = [1, 2]", "table = [2, 2]"),
        ("steps ** 2", "steps ** 3"),
        ("+ 1\n", "- 1\n"),
        ("steps: int = 3", "steps: int = 4"),
        ("range(steps)", "range(steps + 1)"),
    ],
)
def test_whatever_a_number_depends_on_changes_the_hash(code, was, now):
    assert (MODULE + OTHER).count(was) == 1
    assert code() != code(MODULE.replace(was, now), OTHER.replace(was, now))


@pytest.mark.parametrize(
    "was, now",
    [
        ('"""Train."""', '"""Train it."""  # quickly'),
        ("@takes(steps=size)\n", ""),
        ('    if steps > 1e9:\n        raise ValueError("too many")\n', "    assert steps < 1e9\n"),
        ("setting: Setting, steps: int", "setting: Setting, steps: float"),
        ("import numpy as np\n", ""),
        ("name = unrelated = 7", "name = unrelated = 8"),
        ("from lib.other import helper as aid", "from lib.other import helper"),
    ],
)
def test_words_checks_and_what_is_not_reached_do_not_count(code, was, now):
    changed = MODULE.replace(was, now)
    if "as aid" in was:
        changed = changed.replace("aid(", "helper(")
    assert changed != MODULE and code() == code(changed)


def test_a_function_and_what_it_uses_may_move(code):
    before = code()
    moved = "from lib.newer import deeper, helper\ntable = [1, 2]\n"
    assert code(other=moved, newer=OTHER.replace("table = [1, 2]", "")) == before
    assert code("", there=MODULE, name="lib.there.experiment") == before


def test_a_function_that_is_no_more_is_refused(code):
    with pytest.raises(ValueError, match=r"no module of the book defines lib\.here\.gone"):
        code(name="lib.here.gone")


def test_an_experiment_of_the_book_reaches_training_networks_and_data():
    found = fingerprint.reach("book.two_point.experiments.dynamics")
    wanted = {
        "book.two_point.settings.Setting",
        "book.two_point.toys.two_points",
        "lib.networks.dense.Dense",
        "lib.training.loop.train",
    }
    assert wanted <= {*found}
    assert not [
        name for name in found if name.startswith(fingerprint.ASIDE) or name.endswith("RUNS")
    ]
