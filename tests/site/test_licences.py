"""Each file has a licence, and what is of others is named, with its licence, in the site, too."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
REUSE = tomllib.loads((ROOT / "REUSE.toml").read_text(encoding="utf-8"))
CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
OTHERS = (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in OTHERS.splitlines() if line.startswith("|")][2:]
STATIC = ROOT / "book" / "_static"
DIGEST = re.compile(r"\.[0-9a-f]{20}(?=\.)")  # webpack's


def tracked():
    """Return the files of the repository whose licence is not a matter of course."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")[:-1]
    aside = re.compile(r"(.*/)?LICENSE|LICENSES/.*|REUSE.toml")
    return [path for path in listed if not aside.fullmatch(path)]


def pattern(glob):
    """Return a pattern of REUSE as a regular expression: ** crosses folders."""
    return re.compile(re.escape(glob).replace(r"\*\*", ".*").replace(r"\*", "[^/]*"))


def licence(path):
    """Return what the last pattern says that a file fits."""
    for one in reversed(REUSE["annotations"]):
        globs = [one["path"]] if isinstance(one["path"], str) else one["path"]
        if any(pattern(glob).fullmatch(path) for glob in globs):
            return one["SPDX-License-Identifier"]
    return None


def foreign(folder):
    """Return the files of a built site that are not written here."""
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    found = [path for path in found if path.startswith(("_static/", "pagefind/"))]
    ours = {f"_static/{path.name}" for path in STATIC.iterdir() if path.is_file()}
    return {DIGEST.sub("", path) for path in found} - ours


def unnamed(paths):
    """Return the paths that no row of THIRD-PARTY.md names."""
    globs = [glob for row in ROWS for glob in re.findall("`(.+?)`", row[-1])]
    return sorted(path for path in paths if not any(fnmatch(path, glob) for glob in globs))


def test_each_file_has_a_licence_whose_text_is_there():
    found = {path: licence(path) for path in tracked()}
    assert None not in found.values()
    used = {name for terms in found.values() for name in terms.split(" AND ")}
    assert used == {path.stem for path in (ROOT / "LICENSES").iterdir()}
    mine = (ROOT / "LICENSE").read_bytes()
    assert (ROOT / "LICENSES" / f"{CFF['license']}.txt").read_bytes() == mine


@pytest.mark.parametrize(
    "kinds, wanted",
    [
        ((r"lib/.*\.py", r"book/.*\.py", "tests/.*", "Makefile"), CFF["license"]),
        ((r"book/\w+/results/.*", "book/quality/.*"), CFF["preferred-citation"]["license"]),
        ((r"book/\w+/(plan|slides|quiz)\.md", ".*png"), CFF["preferred-citation"]["license"]),
        ((r"book/\w+\.(md|ipynb)", r"book/\w+/lab\.md"), "CC-BY-4.0 AND MIT"),
        (("book/_static/(vendor/fontawesome/.*|fonts/.*js)",), "OFL-1.1"),
    ],
)
def test_a_file_has_the_licence_of_its_kind(kinds, wanted):
    for kind in kinds:
        found = [path for path in tracked() if re.fullmatch(kind, path)]
        assert found
        assert {licence(path) for path in found} == {wanted}, kind


def test_what_is_vendored_is_named_and_has_its_licence():
    vendored = [path for path in STATIC.rglob("*") if path.is_file() and path.parent != STATIC]
    assert not unnamed(f"_static/{path.relative_to(STATIC).as_posix()}" for path in vendored)
    for folder in (STATIC / "fonts", *(STATIC / "vendor").iterdir()):
        assert (folder / "LICENSE").is_file(), folder


def test_packages_are_named_with_the_pinned_version():
    pins = dict(
        line.split()[0].split("==")
        for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    )
    named = {row[0].split(",")[0]: row[1] for row in ROWS}
    packages = set(named) & set(pins)
    assert len(packages) >= 12
    assert {name: named[name] for name in packages} == {name: pins[name] for name in packages}


@pytest.mark.slow
def test_the_site_names_what_is_of_others(small_site):
    site = small_site / "_build" / "html"
    found = foreign(site)
    assert len(found) > 100
    assert not unnamed(found)
    licences = site / "LICENSES"
    assert (licences / "THIRD-PARTY.txt").read_text(encoding="utf-8") == OTHERS
    for name in ("MIT", "CC-BY-4.0", "OFL-1.1"):
        assert (licences / f"{name}.txt").is_file()
    for name, _, terms, *_ in ROWS[5:]:  # packages
        text = (licences / f"{name.split(',')[0]}.txt").read_text(encoding="utf-8")
        assert ("Permission is hereby granted" if terms == "MIT" else "Redistribution") in text
    page = (site / "book" / "one.html").read_text(encoding="utf-8")
    for link in re.findall(r'href="\.\./(LICENSES/[^"]+)"', page):
        assert (site / link).is_file()
    assert page.count("LICENSES/") == 3
