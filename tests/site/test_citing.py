"""How to cite: one file says it, and those that repeat it agree."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from lib.site import citing

ROOT = Path(__file__).parents[2]
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
SMALL = {"title": "A small book", "version": "1.2.3", "date-released": "2026-05-04", "authors": [{"name": "Others"}]}


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


PARTS = [yaml.safe_dump({name: SMALL[name] for name in SMALL if name != missing}) for missing in SMALL]


@pytest.mark.parametrize("text", [*PARTS, "", "- a list\n", "title: [open\n"])
def test_a_citation_file_that_is_not_whole_is_named(tmp_path, text):
    (tmp_path / "CITATION.cff").write_text(text)
    with pytest.raises(ValueError, match=r"CITATION\.cff cannot be read [\s\S]* it needs title, version"):
        citing.read(tmp_path)


@pytest.mark.parametrize("address", ["github.com/owner/book", "https://github.com/owner", "https://git.example.org/owner/book"])
def test_a_repository_elsewhere_is_refused(tmp_path, address):
    (tmp_path / "CITATION.cff").write_text(yaml.safe_dump(SMALL | {"repository-code": address}))
    with pytest.raises(ValueError, match="want https://github"):
        citing.read(tmp_path)
