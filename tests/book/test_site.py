"""What the site adds to Jupyter Book: the front page's numbers and figure, launch buttons, repairs."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from lib.book import ledger, pages, site

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Make git repositories with a given origin; no address in the environment."""
    monkeypatch.delenv(site.REPOSITORY, raising=False)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)

    def with_origin(address):
        subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", address], check=True)
        return tmp_path

    return with_origin


@pytest.mark.parametrize(
    "origin, address",
    [
        ("https://github.com/owner/book.git", "https://github.com/owner/book"),
        ("https://github.com/owner/book", "https://github.com/owner/book"),
        ("https://github.com/owner/book/", "https://github.com/owner/book"),
        ("git@github.com:owner/book.git", "https://github.com/owner/book"),
        ("ssh://git@github.com/owner/book.git", "https://github.com/owner/book"),
        ("https://gitlab.com/group/team/book.git", "https://gitlab.com/group/team/book"),
        ("https://someone:secret@github.com/owner/book.git", "https://github.com/owner/book"),
        ("https://git.example.org/owner/book.git", ""),
        ("../elsewhere/book.git", ""),
    ],
)
def test_the_address_comes_from_the_origin(clone, origin, address):
    assert site.repository_address(clone(origin)) == address


def test_the_environment_comes_first(clone, monkeypatch):
    folder = clone("https://github.com/owner/book.git")
    monkeypatch.setenv(site.REPOSITORY, "https://git.example.org/our/book/")
    assert site.repository_address(folder) == "https://git.example.org/our/book"


def test_no_address_without_origin_or_repository(clone, tmp_path, tmp_path_factory):
    assert site.repository_address(tmp_path) == ""
    assert site.repository_address(tmp_path_factory.mktemp("plain")) == ""


@pytest.mark.parametrize("address", ["", "https://github.com/owner/book"])
def test_launch_buttons_only_where_there_is_a_repository(tmp_path, monkeypatch, address):
    monkeypatch.setattr(site, "repository_address", lambda folder: address)
    config, tags = SimpleNamespace(html_theme_options={"navbar_persistent": []}), set()
    site.configure(SimpleNamespace(srcdir=tmp_path, tags=tags), config)
    assert config.html_theme_options.get("repository_url", "") == address
    assert ("launch_buttons" in config.html_theme_options) == bool(address)
    assert config.html_theme_options["navbar_persistent"] == []
    assert tags == ({"launchable"} if address else set())


@pytest.mark.parametrize("launchable", [True, False])
def test_a_chapter_that_cannot_be_launched_says_how_to_run_it(tmp_path, launchable):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "one.ipynb").touch()
    app = SimpleNamespace(srcdir=tmp_path, config=SimpleNamespace(html_theme_options={"use_repository_button": launchable}))
    pages = {name: {"body": "text"} for name in ("book/one", "book/index")}
    for name, context in pages.items():
        site.say_how_to_run(app, name, "page.html", context, None)
    assert ("make chapter NAME=one" in pages["book/one"]["body"]) is not launchable
    assert pages["book/index"]["body"] == "text"


def test_the_pages_get_what_they_take():
    config = SimpleNamespace(myst_substitutions={"other": "kept"})
    site.fill(SimpleNamespace(srcdir=ROOT), config)
    assert config.myst_substitutions == {"other": "kept"} | pages.substitutions(ROOT, ledger.read(ROOT))


def script(filename="", body=""):
    return SimpleNamespace(filename=filename, attributes={"body": body})


def test_repairs_leave_everything_else_as_it_is():
    thebe = "<script type=\"text/x-thebe-config\">\n{}\n</script>\n<script>kernelName = 'python3'</script>"
    context = {
        "script_files": [script("a.js"), script("sphinx-thebe.js"), script(body="const THEBE_JS_URL = 1"), script(body="let x")],
        "body": f'<p>one</p><table class="a">\n<tr></tr></table><div role="list" class="citation-list">two</div>{thebe}',
    }
    site.mend(None, "book/one", "page.html", context, None)
    assert [(each.filename, each.attributes["body"]) for each in context["script_files"]] == [("a.js", ""), ("", "let x")]
    assert context["body"] == (
        '<p>one</p><div class="scrolling" tabindex="0"><table class="a">\n<tr></tr></table></div>'
        '<div class="citation-list">two</div>'
    )


def test_a_page_without_a_body_is_mended_too():
    context = {"script_files": []}
    site.mend(None, "search", "search.html", context, None)
    assert context == {"script_files": [], "body": ""}
