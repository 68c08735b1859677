"""One click to run: the links, the copies for Colab, and the files of Binder and Codespaces."""

import copy
import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient

from lib.book import citing, launch, toc

ROOT = Path(__file__).parents[2]
CHAPTERS = toc.chapters(ROOT)
CITATION = replace(citing.read(ROOT), version="1.2.3", repository="https://github.com/owner/book")


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A small book that names a repository."""
    (tmp_path / "book").mkdir()
    (tmp_path / "_toc.yml").write_text("root: book/index\nchapters:\n  - file: book/one.ipynb\n")
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1", "outputs": ["much"], "execution_count": 3}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "book" / "one.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setattr(citing, "read", lambda root: CITATION)
    return SimpleNamespace(srcdir=tmp_path, outdir=tmp_path / "html", builder=SimpleNamespace(format="html"), tags=set())


def test_the_links_open_the_chapter_at_the_tag():
    assert launch.links(CITATION, "two_point") == {
        "Binder": "https://mybinder.org/v2/gh/owner/book/v1.2.3?labpath=book%2Ftwo_point.ipynb",
        "Colab": "https://colab.research.google.com/github/owner/book/blob/launch/two_point.ipynb",
        "Codespaces": "https://codespaces.new/owner/book/tree/v1.2.3"
        "?devcontainer_path=.devcontainer%2Ftwo_point%2Fdevcontainer.json",
    }


@pytest.mark.parametrize("address", ["", CITATION.repository])
def test_links_and_copies_only_where_there_is_a_repository(book, monkeypatch, address):
    monkeypatch.setattr(citing, "read", lambda root: replace(CITATION, repository=address))
    config = SimpleNamespace(html_theme_options={"other": 1})
    launch.configure(book, config)
    assert (config.html_theme_options.get("repository_url", "") == address) and config.html_theme_options["other"] == 1
    assert book.tags == ({"launchable"} if address else set())
    pages = {name: {"body": "<h1>One</h1>text"} for name in ("book/one", "book/index")}
    for name, context in pages.items():
        launch.offer(book, name, "page.html", context, None)
    assert pages["book/index"]["body"] == "<h1>One</h1>text"
    chapter = pages["book/one"]["body"]
    assert chapter.startswith('<h1>One</h1><p class="launch">Run this chapter: <a href="https://mybinder.org') == bool(address)
    assert ("make chapter NAME=one" in chapter) != bool(address)
    launch.write(book, None)
    assert (book.outdir / "launch" / "one.ipynb").exists() == bool(address)


def test_the_first_cell_fetches_the_book_so_that_its_library_is_found(tmp_path):
    """As on Colab, but from a repository on this disk."""
    origin = tmp_path / "origin"
    (origin / "lib").mkdir(parents=True)
    (origin / "book").mkdir()
    (origin / "lib" / "__init__.py").write_text("WHERE = 'the clone'\n")
    (origin / "book" / "one.md").touch()
    git = ["git", "-C", str(origin), "-c", "user.name=n", "-c", "user.email=e"]
    for step in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"], ["tag", CITATION.tag]):
        subprocess.run([*git, *step], check=True)
    empty = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    alone = nbformat.from_dict(launch.notebook(replace(CITATION, repository=origin.as_uri()), empty))
    alone.cells.append(nbformat.v4.new_code_cell("import os, lib; print(lib.WHERE, os.path.basename(os.getcwd()))"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = NotebookClient(alone, timeout=60, resources={"metadata": {"path": tmp_path}}).execute(env=environment)
    assert done.cells[-1].outputs[0].text.strip() == "the clone book"


def test_codespaces_have_a_container_for_each_chapter_that_opens_it():
    plain = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert re.fullmatch(r"mcr\.microsoft\.com/devcontainers/python:3\.\d+", plain["image"])
    assert plain["postCreateCommand"] == "make setup"
    assert sorted(path.parent.name for path in ROOT.glob(".devcontainer/*/devcontainer.json")) == sorted(CHAPTERS)
    for chapter in CHAPTERS:
        own = json.loads((ROOT / ".devcontainer" / chapter / "devcontainer.json").read_text())
        assert own["customizations"].pop("codespaces") == {"openFiles": [f"book/{chapter}.ipynb"]}
        shared = copy.deepcopy(plain)
        del shared["customizations"]["codespaces"]
        assert own == shared | {"name": f"{plain['name']}: {chapter.replace('_', ' ')}"}
