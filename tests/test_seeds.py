"""Claims over seeds, on a small throw-away book of two chapters."""

import pytest
import small_book

from lib import seeds
from lib.__main__ import main

CELLS = (
    """\
from lib import claims

claims.check("NAME/seed", "seeds are small", source="p. 1", measured=seed, expected=claims.at_most(1))""",
    """\
two = claims.near(2, 0.1)
claims.check("NAME/sum", "one and one is two", source="p. 1", measured=1 + 1, expected=two, printed=seed, verdict="corrected")""",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A book of which both chapters ran with three seeds."""
    folder = small_book.write(tmp_path_factory.mktemp("seeds") / "book", *CELLS)
    seeds.run(folder, [], seeds=3, jobs=1)
    return folder


def test_every_claim_has_the_numbers_and_verdicts_of_every_seed_also_behind_one_that_changed(root):
    rows = seeds.table(root)
    assert [row["id"] for row in rows] == ["one/seed", "one/sum", "two/seed", "two/sum"]
    first, second = rows[:2]
    assert (first["expected"], first["measured"]) == ("at most 1", [0, 1, 2])
    assert first["verdict"] == ["reproduced", "reproduced", "not reproduced"]
    assert (second["measured"], second["printed"]) == ([2, 2, 2], [0, 1, 2])
    assert second["verdict"] == ["corrected", "corrected", "reproduced"]


def test_what_ran_before_with_the_same_code_is_not_run_again(root, monkeypatch):
    monkeypatch.setattr("lib.seeds.NotebookClient", None)
    source = root / "book" / "one.md"
    text = source.read_text()
    source.write_text(text.replace("# Chapter", "# Another title, chapter"))
    before = seeds.table(root)
    seeds._one(root, "one", 2)
    source.write_text(text.replace("at_most(1)", "at_most(2)"))
    with pytest.raises(TypeError, match="NoneType"):
        seeds._one(root, "one", 2)
    source.write_text(text)
    assert seeds.table(root) == before


def test_one_chapter_is_renewed_alone(root):
    source = root / "book" / "two.md"
    text = source.read_text()
    source.write_text(text.replace("at_most(1)", "at_most(0)"))
    before = seeds.table(root)
    assert main_in(root, "seeds", "two", "--count", "2", "--jobs", "1") == 0
    after = seeds.table(root)
    assert after[:2] == before[:2]
    assert after[2]["verdict"] == ["reproduced", "not reproduced"]


def test_a_chapter_that_fails_is_named(root, capsys):
    source = root / "book" / "two.md"
    source.write_text(source.read_text().replace("from lib import claims", "raise OSError('no disk')"))
    before = seeds.table(root)
    assert main_in(root, "seeds", "two", "--count", "1") == 1
    assert "two, seed 0: OSError: no disk" in capsys.readouterr().err
    assert seeds.table(root) == before


@pytest.mark.parametrize("option", [["--count", "0"], ["--jobs", "-1"]])
def test_bad_counts_are_refused(root, option, capsys):
    assert main_in(root, "seeds", *option) == 2
    assert "want a positive integer" in capsys.readouterr().err


def main_in(root, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        return main(arguments)
