"""The page of speed tells what its table holds."""

import json
import shutil
from pathlib import Path

import pytest

from lib.book.pages import speed, tables

ROOT = Path(__file__).parents[3]
TABLE = tables.read(ROOT, "speed", "make bench")


def test_the_page_has_every_row_and_says_where_time_goes(tmp_path):
    path = tables.place(tmp_path, "speed")
    path.parent.mkdir(parents=True)
    made = TABLE["provenance"] | {"processor": "A processor", "gpu": None}
    table = {"provenance": made, "cpu": {name: TABLE["cpu"][name] for name in ("hierarchy", "exact_neuron")}}
    table["cpu"]["hierarchy"]["limit over ours"]["median"] = 0.3
    table["cpu"]["exact_neuron"]["limit over ours"]["median"] = 0.4
    path.write_text(json.dumps(table), encoding="utf-8")
    shutil.copy(ROOT / "book" / "speed.yml", tmp_path / "book")
    words = speed.speed(tmp_path)
    assert words["processor"] == "A processor" and words["gpu"].startswith("There was no GPU")
    for row in table["cpu"].values():
        sizes = ", ".join(map(str, row["slopes"]["members"]["sizes"]))
        assert words["slopes"].count(f"| {row['title']} | members | {sizes} |") == 1
    assert words["far"].startswith("- **random hierarchy**, 30.0%. Of a step: taking the batch")
    assert words["far"].endswith("one function of torch after the other.")
    path.write_text(json.dumps({**table, "cuda": table["cpu"]}), encoding="utf-8")
    assert speed.speed(tmp_path)["gpu"].startswith("## On a GPU\n")


@pytest.mark.parametrize("seconds, text", [(2.5, "2.5 s"), (0.123456, "123 ms"), (4.2e-5, "42 µs"), (3e-8, "0.03 µs")])
def test_times_have_units(seconds, text):
    assert speed._time(seconds) == text
