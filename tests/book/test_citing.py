"""How to cite: one file says it, and those that repeat it agree."""

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from lib.book import citing

ROOT = Path(__file__).parents[2]
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
SMALL = {"title": "A small book", "version": "1.2.3", "date-released": "2026-05-04", "authors": [{"name": "Others"}]}


def written(folder, **more):
    facts = {name: value for name, value in (SMALL | more).items() if value is not None}
    (folder / "CITATION.cff").write_text(yaml.safe_dump(facts))
    return folder


def test_the_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    zenodo, codemeta = (json.loads((ROOT / name).read_text(encoding="utf-8")) for name in (".zenodo.json", "codemeta.json"))
    assert {project["version"], zenodo["version"], codemeta["version"]} == {CFF["version"]}
    assert {zenodo["publication_date"], codemeta["datePublished"]} == {CFF["date-released"]}


def test_the_metadata_for_archives_say_what_the_citation_file_says():
    zenodo, codemeta = (json.loads((ROOT / name).read_text(encoding="utf-8")) for name in (".zenodo.json", "codemeta.json"))
    names, address = [author["name"] for author in CFF["authors"]], CFF.get("repository-code")
    assert {zenodo["title"], codemeta["name"]} == {CFF["title"]}
    assert [one["name"] for one in zenodo["creators"]] == [one["name"] for one in codemeta["author"]] == names
    assert zenodo["keywords"] == codemeta["keywords"] == CFF["keywords"]
    assert [one.removeprefix("https://spdx.org/licenses/") for one in codemeta["license"]] == CFF["license"]
    assert zenodo["license"] == CFF["license"][0] and zenodo["description"] == codemeta["description"]
    assert codemeta.get("codeRepository", address) == address


def test_no_identifier_is_invented():
    for name in ("CITATION.cff", ".zenodo.json", "codemeta.json"):
        text = (ROOT / name).read_text(encoding="utf-8").replace("https://doi.org/10.5063/schema/codemeta-2.0", "")
        assert not [word for word in ("doi", "zenodo.org", "swh:", "orcid") if word in text.lower()]


def test_a_part_has_an_entry_of_its_own(tmp_path):
    citation = citing.read(written(tmp_path, **{"repository-code": "https://github.com/owner/book"}))
    assert citation.tag == "v1.2.3"
    assert citation.bibtex("Claim one/a", "Chapter one", "_one_a") == (
        "@misc{executable_learning_dynamics_one_a,\nauthor = {{Others}},\nmonth = {05},\ntitle = {Claim one/a},\n"
        "note = {Chapter one. In: A small book. Version 1.2.3},\nyear = {2026},\nurl = {https://github.com/owner/book}\n}"
    )


@pytest.mark.parametrize("page, chapter", [("book/one", True), ("book/notes", False), ("index", False)])
def test_each_page_ends_with_the_version_and_a_chapter_with_its_entry(tmp_path, page, chapter):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "one.ipynb").touch()
    context = {"body": "text", "title": "<span>1. </span>The <em>one</em>", "pathto": lambda name: f"/{name}.html"}
    citing.close(SimpleNamespace(srcdir=written(tmp_path)), page, "page.html", context, object())
    assert context["body"].startswith('text<aside class="citing"') and "Version 1.2.3, 2026-05-04" in context["body"]
    assert ("title = {The one}" in context["body"]) == ("Cite this chapter" in context["body"]) == chapter


@pytest.mark.parametrize("missing", ["title", "version", "date-released", "authors"])
def test_a_citation_file_that_is_not_whole_is_named(tmp_path, missing):
    with pytest.raises(ValueError, match=r"CITATION\.cff cannot be read .* it needs title, version"):
        citing.read(written(tmp_path, **{missing: None}))


@pytest.mark.parametrize("text", ["", "- a list\n", "title: [open\n", None])
def test_a_citation_file_that_is_none_is_named(tmp_path, text):
    if text is not None:
        (tmp_path / "CITATION.cff").write_text(text)
    with pytest.raises(ValueError, match=r"CITATION\.cff cannot be read"):
        citing.read(tmp_path)


@pytest.mark.parametrize("address", ["github.com/owner/book", "https://github.com/owner", "https://git.example.org/owner/book"])
def test_a_repository_elsewhere_is_refused(tmp_path, address):
    with pytest.raises(ValueError, match="want https://github"):
        citing.read(written(tmp_path, **{"repository-code": address}))
