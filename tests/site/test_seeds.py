"""Claims over seeds, on a small throw-away book of two chapters."""

import shutil

import pytest
import small_book

from lib.__main__ import main
from lib.site import digests, seeds
from lib.site.book import Book
from lib.site.pages import margins

CELLS = (
    """\
from lib import bounds, claims

few = bounds.at_most(1)
claims.check("NAME/seed", "seeds are small", measure="a number", source="p. 1", measured=seed, expected=few, rivals={"two less": 3 - seed})
curve = [0, 3, 3, 3, 3, 3 + seed]
end = claims.settled(curve, share=0.1)
claims.check("NAME/end", "it settles", measure="a number", source="ours", measured=end, expected=bounds.near(3, 0.1), verdict="new")""",
    """\
from lib import bounds

opened, two = 1, bounds.near(2, 0.1)  # a name that the run's own code once had
claims.check("NAME/sum", "one and one is two", measure="a number", source="p. 1", measured=1 + 1, expected=two, printed=seed, verdict="corrected")""",
)

WORDS = "'one and one is two', measure='a number', source='p. 1'"
EVIDENCE = (  # a claim that a cell makes through a function
    f"""\
from lib import bounds, claims


def judge(name, found):
    claims.check(name, {WORDS}, measured=found, expected=bounds.near(2, 0.1))""",
    'judge("two/more", 1 + 1)',
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A book of which both chapters and an evidence page ran with three seeds."""
    folder = small_book.write(tmp_path_factory.mktemp("seeds") / "book", *CELLS)
    small_book.add_evidence(folder, "two", *EVIDENCE)
    seeds.run(Book(folder), [], seeds=3, jobs=1)
    return folder


def test_every_claim_has_the_numbers_of_every_seed(root):
    rows = margins.table(Book(root))
    names = [f"{name}/{claim}" for name in ("one", "two") for claim in ("seed", "end", "sum")]
    assert [row["id"] for row in rows] == [*names, "two/more"]
    assert [row["code"] for row in rows[5:]] == [
        digests.digest(Book(root), name) for name in ("two", "two/evidence")
    ]
    assert "more" in margins.margins(Book(root))["chapters"]
    first, end, second = rows[:3]
    assert [first[name] for name in ("measured", "low", "high")] == [
        [0, 1, 2],
        ["-inf"] * 3,
        [1] * 3,
    ]
    assert first["verdict"] == ["reproduced", "reproduced", "not reproduced"]
    assert first["rivals"] == {"two less": [3, 2, 1]}  # the last lies in the bound
    assert end["measured"] == [3.0, "nan", "nan"] and end["verdict"] == [
        "new",
        "not reproduced",
        "not reproduced",
    ]
    assert (second["measured"], second["printed"]) == ([2, 2, 2], [0, 1, 2])
    assert second["verdict"] == ["corrected", "corrected", "reproduced"]


def test_the_same_code_is_not_run_again(root):
    source = root / "book" / "one.md"
    text, before, kept = source.read_text(), margins.table(Book(root)), stored(root)
    source.write_text(
        text.replace("# Chapter", "# Another title, chapter").replace(
            "near(2, 0.1)", "near(\n    2, 0.1)"
        )
    )
    assert main_in(root, "seeds", "one", "--count", "3") == 0
    assert margins.table(Book(root)) == before
    assert stored(root) == kept
    source.write_text(text)


def stored(root):
    return {path: path.stat().st_mtime_ns for path in (root / "_build" / "seeds").rglob("*.json")}


def test_a_fresh_clone_goes_on_from_the_table(root, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(root, clone, ignore=shutil.ignore_patterns("_build"))
    before = margins.table(Book(root))
    assert main_in(clone, "seeds", "one", "--count", "2") == 0
    assert not stored(clone) and margins.table(Book(clone)) == before
    assert main_in(clone, "seeds", "one", "--count", "4") == 0
    assert len(stored(clone)) == 1 and margins.table(Book(clone))[3:] == before[3:]
    first, end, _ = margins.table(Book(clone))[:3]
    assert first["measured"] == [0, 1, 2, 3] and first["rivals"] == {"two less": [3, 2, 1, 0]}
    assert len(end["verdict"]) == 4


def test_one_chapter_is_renewed_alone(root):
    source = root / "book" / "two.md"
    text, before = source.read_text(), (root / seeds.TABLE).read_text().splitlines()
    source.write_text(text.replace("measured=seed", "measured=seed / 2"))
    assert main_in(root, "seeds", "two", "--count", "2", "--jobs", "1") == 0
    assert margins.table(Book(root))[3]["measured"] == [0, 0.5]
    assert (root / seeds.TABLE).read_text().splitlines()[:3] == before[:3]
    source.write_text(text)


def test_a_chapter_that_fails_is_named(root, capsys):
    source = root / "book" / "two.md"
    source.write_text(source.read_text().replace("from lib import", "raise OSError('no disk')  #"))
    before = margins.table(Book(root))
    assert main_in(root, "seeds", "two", "--count", "1") == 1
    assert "two, seed 0: OSError: no disk" in capsys.readouterr().err
    assert margins.table(Book(root)) == before


def main_in(root, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        return main(arguments)
