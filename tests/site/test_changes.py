"""What changed since a revision: read from git, compared by names."""

import json
import subprocess

import pytest
import small_book

from lib.__main__ import main


def record(name, verdict="reproduced", high=1.0, **more):
    facts = {"id": name, "statement": "it | holds", "source": "Eq. 1", "measured": 0.5, "low": "-inf", "high": high}
    return facts | {"verdict": verdict, "rivals": {}, "printed": None, "why": ""} | more


def git(root, *arguments):
    named = ["-c", "user.name=n", "-c", "user.email=e"]
    return subprocess.run(["git", "-C", str(root), *named, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def state(root, *records):
    """Write the claims into the first chapter's notebook, and commit."""
    notebook = {"metadata": {}, "cells": [{"outputs": [{"metadata": {"claim": one}} for one in records]}]}
    (root / "book" / "one.ipynb").write_text(json.dumps(notebook))
    git(root, "add", ".")
    git(root, "commit", "-qm", "state")


@pytest.fixture
def history(tmp_path, monkeypatch):
    """A book with two editions, the first tagged; its bounds were words."""
    root = small_book.write(tmp_path / "repository" / "below")  # the book need not be the whole repository
    git(root.parent, "init", "-q")
    first = [record("one/kept"), record("one/gone"), record("one/verdict"), record("one/bound")]
    old = [{name: part for name, part in one.items() if name not in ("low", "high")} | {"expected": "at most 1"} for one in first]
    state(root, *old)
    git(root, "tag", "first")
    changed = [record("one/verdict", "new", statement="it stands"), record("one/bound", high=0.25), record("one/added")]
    state(root, record("one/kept", statement="it holds, in other words"), *changed)
    monkeypatch.chdir(root)
    return root


def test_the_comparison_is_readable(history, capsys):
    assert main(["report", "--since", "first"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"# Claims since {git(history, 'rev-parse', 'first')[:7]} (")
    assert "4 claims, 4 before: 2 another verdict or bound, 1 added, 1 gone." in said
    assert "| one/verdict | reproduced; at most 1 → new; at most 1 | it stands |" in said
    assert "| one/bound | reproduced; at most 1 → reproduced; at most 0.25 | it \\| holds |" in said
    assert said.index("## Added") < said.index("one/added") < said.index("## Gone") < said.index("one/gone")
    assert "one/kept" not in said
    assert main(["report", "--since", "HEAD"]) == 0
    assert "##" not in capsys.readouterr().out


@pytest.mark.parametrize("revision", ["v9.9.9", "", "-x", "--all", "first:book", "../.."])
def test_a_revision_that_git_does_not_know_is_one_line(history, capsys, revision):
    assert main(["report", f"--since={revision}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"lib report: since: git knows no revision {revision!r}")


def test_without_git_or_claims_one_line_says_so(history, capsys, monkeypatch):
    git(history, "rm", "-q", "book/one.ipynb")
    git(history, "commit", "-qm", "no notebooks")
    assert main(["report", "--since", "HEAD"]) == 2
    assert capsys.readouterr().err == "lib report: since: the notebooks of 'HEAD' hold no claims\n"
    monkeypatch.setenv("PATH", "")
    assert main(["report", "--since", "first"]) == 2
    assert "git is not installed" in capsys.readouterr().err
