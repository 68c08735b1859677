"""How to cite: one file says it, and those that repeat it agree."""

import json
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from small_site import ADDRESS

from lib.provenance import commit
from lib.site import citing
from lib.site.book import Book

ROOT = Path(__file__).parents[2]
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_metadata_repeat_the_citation_file_and_invent_nothing():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [
        (ROOT / name).read_text(encoding="utf-8") for name in (".zenodo.json", "codemeta.json")
    ]
    zenodo, codemeta = map(json.loads, texts)
    assert {project["version"], zenodo["version"], codemeta["version"]} == {CFF["version"]}
    assert (
        zenodo.get("publication_date") == codemeta.get("datePublished") == CFF.get("date-released")
    )
    assert {zenodo["title"], codemeta["name"]} == {CFF["title"]}
    names = [
        [one["name"] for one in people]
        for people in (zenodo["creators"], codemeta["author"], CFF["authors"])
    ]
    assert names[0] == names[1] == names[2]
    assert zenodo["keywords"] == codemeta["keywords"] == CFF["keywords"]
    assert zenodo["description"] == codemeta["description"]
    assert codemeta.get("codeRepository") in (None, CFF.get("repository-code"))
    said = (
        " ".join([*texts, json.dumps(CFF)])
        .lower()
        .replace("https://doi.org/10.5063/schema/codemeta-2.0", "")
    )
    assert not [word for word in ("doi", "zenodo.org", "swh:", "orcid") if word in said]


def test_code_has_one_licence_and_the_rest_another():
    book = CFF["preferred-citation"]
    assert {book[name] == CFF[name] for name in ("title", "authors", "version")} == {True}
    code, rest = CFF["license"], book["license"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    codemeta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert {project["license"], zenodo["license"]} == {code}
    assert zenodo["notes"].startswith(f"Code: {code}. Text, figures and data")
    assert rest.replace("-", " ", 1).replace("-", " ") in zenodo["notes"]
    assert codemeta["license"] == f"https://spdx.org/licenses/{code}"
    parts = {part["license"] for part in codemeta["hasPart"]}
    assert parts == {f"https://spdx.org/licenses/{rest}"}


def test_the_citation_file_has_its_schema():
    command = ["-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format"]
    done = subprocess.run(
        [sys.executable, *command, "CITATION.cff"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_the_end_of_a_page_names_licences_and_commit(tmp_path):
    for name in ("CITATION.cff", "_toc.yml"):
        shutil.copy(ROOT / name, tmp_path)
    said = citing.end(Book(tmp_path), "book/cite", "", lambda name, *_: f"../{name}")
    assert 'data: <a href="../LICENSES/CC-BY-4.0.txt">CC-BY-4.0</a>' in said
    assert 'code: <a href="../LICENSES/MIT.txt">MIT</a>' in said
    assert '<a href="../LICENSES/THIRD-PARTY.txt">' in said
    assert "commit" not in said  # a copy without git
    archive = tmp_path / citing.ARCHIVE
    for written, named in (("$Format:%H$", ""), ("abcdef" * 6, ", commit abcdefabcdef · ")):
        archive.write_text(f"{written}\n")
        said = citing.end(Book(tmp_path), "book/cite", "", lambda name, *_: name)
        assert named in said and ("commit" in said) == bool(named)


def test_a_page_of_a_checkout_names_its_commit(tmp_path):
    for name in ("CITATION.cff", "_toc.yml"):
        shutil.copy(ROOT / name, tmp_path)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True
    ).stdout
    said = citing.end(Book(tmp_path), "book/cite", "", lambda name, *_: name)
    assert f", commit {head[:12]} · " in said
    entries = citing.cite(Book(tmp_path))
    assert all(f"commit {citing.BUILT}" in entries[style] for style in ("bibtex", "apa"))
    (tmp_path / "CITATION.cff").write_text((tmp_path / "CITATION.cff").read_text() + "\n")
    commit.cache_clear()
    said = citing.end(Book(tmp_path), "book/index", "", lambda name, *_: name)
    assert f", commit {head[:12]}-dirty · " in said


def test_entries_name_the_commit_until_a_release():
    book = citing.read(Book(ROOT))
    assert "in preparation, commit abc}" in replace(book, date="").bibtex(commit="abc")
    assert "commit" not in replace(book, date="2026-01-02").bibtex(commit="abc")
    asked = ["git", "check-attr", "export-subst", citing.ARCHIVE]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.endswith("set\n") and (ROOT / citing.ARCHIVE).read_text().startswith("$Format:%H$")


@pytest.mark.slow
def test_an_address_leads_to_source_issues_colab_and_binder(small_site):
    page = (small_site / "_build/html/book/one.html").read_text(encoding="utf-8")
    place = f"{ADDRESS}/blob/main/book/one.ipynb"
    colab = "https://colab.research.google.com/github/owner/book/blob/main/book/one.ipynb"
    for link in (
        ADDRESS,
        f"{place}?plain=1",
        f"{ADDRESS}/issues/new",
        colab,
        "mybinder.org/v2/git",
    ):
        assert link in page


@pytest.mark.slow
@pytest.mark.skipif("repository-code" in CFF, reason="the book has an address")
def test_without_an_address_no_page_leads_there(site):
    for path in site.glob("book/*.html"):
        page = path.read_text(encoding="utf-8")
        assert "colab.research" not in page and "mybinder.org" not in page, path.name
        assert "/issues/new" not in page, path.name
