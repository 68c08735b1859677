"""How to cite: one file says it, and those that repeat it agree."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml
from small_site import ADDRESS

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
    assert [one.removeprefix("https://spdx.org/licenses/") for one in codemeta["license"]] == CFF[
        "license"
    ]
    assert (
        zenodo["license"] == CFF["license"][0] and zenodo["description"] == codemeta["description"]
    )
    assert codemeta.get("codeRepository") in (None, CFF.get("repository-code"))
    said = (
        " ".join([*texts, json.dumps(CFF)])
        .lower()
        .replace("https://doi.org/10.5063/schema/codemeta-2.0", "")
    )
    assert not [word for word in ("doi", "zenodo.org", "swh:", "orcid") if word in said]


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
