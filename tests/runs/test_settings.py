"""Tables of settings say with which numbers an experiment computes."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from lib.runs import Run, grid, listed, named, settings
from lib.site.book import Book

BOOK = Book(Path(__file__).parents[2])

WORDS = """Settings
--------
data : {points} points
network : one neuron
initialization : w = {setting.gain}
loss : squared error, without ½
rate : {2 * rate}, or {HALF}
    of it
batch : all
steps : {steps}
stop : none
read : the weight
precision : 64 bits"""
HALF = 0.5


@dataclass(frozen=True)
class Setting:
    gain: float = 1.0
    layers: int = 20


def descent(setting=None, *, rate=5e-6, steps=3, points=(1, 2), seed=0, device="cpu"):
    pass


def longer(setting=None, *, steps=7, device="cpu"):
    pass


descent.__doc__ = f"Descend.\n\n{WORDS}"
longer.__doc__ = "Go on.\n\nSettings\n--------\nas : descent\nstop : at {steps}\n\nSource: ours."


def row(table, name):
    """Return what the first table says in a row."""
    (line,) = [line for line in table.split("\n\n")[1].split("\n") if f"**{name}**" in line]
    return line.split(" | ")[1].rstrip(" |")


def test_a_row_has_the_numbers_of_the_call():
    run = Run(
        "one/first", descent, named("row", {"small": {"setting": Setting()}}), {"steps": 6000}
    )
    table = settings.table([run])
    assert row(table, "steps") == "6,000"
    assert row(table, "rate") == "10⁻⁵, or 0.5 of it"
    assert row(table, "initialization") == "w = 1" and row(table, "data") == "1, 2 points"


def test_values_of_a_grid_stand_together():
    run = Run(
        "one/first", descent, grid(rate=[0.5, -1.0], steps=range(100)), {"setting": Setting()}
    )
    table = settings.table([run])
    assert row(table, "rate").startswith("1, −2,")
    assert row(table, "steps") == "0 to 99, 100 values"


def test_other_cases_say_what_they_have_instead():
    cases = {
        "deep": {"setting": Setting()},
        "large, seed 1": {"setting": Setting(gain=2.0), "seed": 1},
        "large, seed 2": {"setting": Setting(gain=2.0), "seed": 2},
    }
    again = {"a": {"setting": Setting()}, "b": {"setting": Setting(layers=2)}}
    runs = [
        Run("one/first", descent, named("row", cases)),
        Run("one/again", descent, named("row", again), {"steps": 50}),
    ]
    assert settings.table(runs).split("\n\n")[2].split("\n")[2:] == [
        "| `first`, large, seed 1 … large, seed 2 | gain 2; seed 1, 2 |",
        "| `again`, all | steps 50 |",
        "| `again`, a | – |",
        "| `again`, b | layers 2 |",
    ]


def test_settings_go_on_from_those_of_another_function():
    run = Run("one/longer", longer, grid(points=[4]), {"setting": Setting()})
    table = settings.table([run])
    assert row(table, "rate") == "10⁻⁵, or 0.5 of it"
    assert row(table, "stop") == "at 7" and row(table, "steps") == "7"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "^the settings of .*descent are missing: write a section Settings .* data, network"),
        (WORDS.replace("stop : none\n", ""), "are data, .*: write a section .* stop, read"),
        (WORDS.replace("stop", "halt"), "have the line 'halt : none': begin it with data, "),
        (
            WORDS.replace("{steps}", "{epochs}"),
            r"have \{epochs\}, and name 'epochs' is not defined",
        ),
        (WORDS.replace("data", "as : nobody\ndata"), "have the line 'as : nobody': begin it with"),
    ],
)
def test_faulty_settings_are_refused_in_a_sentence(monkeypatch, words, said):
    monkeypatch.setattr(descent, "__doc__", words)
    with pytest.raises(ValueError, match=said):
        settings.table([Run("one/first", descent, grid(seed=[0]), {"setting": Setting()})])


@pytest.mark.parametrize("run", listed(), ids=lambda run: run.name)
def test_each_run_has_a_whole_table(run):
    table = settings.table([run])
    assert "**precision**" in table and "{" not in table


@pytest.mark.parametrize("chapter", sorted({run.chapter for run in listed()}))
def test_an_evidence_page_shows_the_settings_of_its_runs(chapter):
    text = (BOOK.folder / chapter / "evidence.md").read_text(encoding="utf-8")
    assert f'settings_table("{chapter}"' in text.replace("\n", "").replace(" ", "")
