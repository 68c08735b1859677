"""What the site needs beyond Jupyter Book: the front page's figure and numbers, launch buttons, repairs."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from lib.book import boxes, formulas, ledger, pages, pictures, previews, reading, search

REPOSITORY = "BOOK_REPOSITORY"  # environment variable with the repository's web address


def repository_address(folder: Path) -> str:
    """Return the web address of the book's repository, or "" if none is known.

    The environment variable BOOK_REPOSITORY comes first, then the git origin, if it is a GitHub or GitLab address.
    """
    address = os.environ.get(REPOSITORY, "")
    if not address and shutil.which("git"):
        origin = subprocess.run(
            ["git", "-C", str(folder), "remote", "get-url", "origin"], capture_output=True, text=True, check=False
        ).stdout.strip()
        match = re.search(r"(?://|@)(github\.com|gitlab\.com)(?::\d+/|[:/])(.+?)(\.git)?/?$", origin)
        address = f"https://{match[1]}/{match[2]}" if match else ""
    return address.rstrip("/")


def configure(app: Sphinx, config: Config) -> None:
    """Switch launch buttons on where there is a repository to launch; then pages show what is `{only} launchable`."""
    address = repository_address(Path(app.srcdir))
    if address:
        app.tags.add("launchable")
        config.html_theme_options |= {
            "repository_url": address,
            "repository_branch": "main",
            "use_repository_button": True,
            "launch_buttons": {"binderhub_url": "https://mybinder.org", "colab_url": "https://colab.research.google.com"},
        }


def fill(app: Sphinx, config: Config) -> None:
    """Hand to the pages what they take from the ledger and from tables."""
    root = Path(app.srcdir)
    config.myst_substitutions |= pages.substitutions(root, ledger.read(root))


class MovingFigure(SphinxDirective):
    """Show a chapter's moving figure on another page: `{moving-figure} CHAPTER NAME`, with a caption of its own."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure as the executed notebook holds it, so that there is nothing to keep in step."""
        chapter, name = self.arguments
        source = Path(self.env.srcdir, "book", f"{chapter}.ipynb")
        self.env.note_dependency(str(source))
        for cell in json.loads(source.read_text(encoding="utf-8"))["cells"]:
            if cell["metadata"].get("mystnb", {}).get("figure", {}).get("name") == name:
                html = "".join(cell["outputs"][0]["data"]["text/html"])
                caption = nodes.container(classes=["moving-caption"])
                self.state.nested_parse(self.content, self.content_offset, caption)
                return [nodes.raw("", html, format="html"), caption]
        raise self.error(f"no figure {name} in book/{chapter}.ipynb")


def say_how_to_run(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Say on a chapter's page how to run it here, if it cannot be launched elsewhere."""
    chapter = re.fullmatch(r"book/(\w+)", page)
    source = Path(app.srcdir, f"{page}.ipynb")
    launchable = app.config.html_theme_options["use_repository_button"]
    if chapter and source.is_file() and not launchable:
        context["body"] += (
            '<aside class="admonition tip"><p class="admonition-title">Run this chapter</p>'
            f"<p>In a clone of the book: <code>make chapter NAME={chapter[1]}</code>. Then change a line of"
            f" <code>book/{chapter[1]}.md</code>, run it again and see what happens.</p></aside>"
        )


def mend(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Repair what the theme leaves: no Thebe (it needs a server elsewhere), tables that scroll by keyboard, honest roles."""
    context["script_files"] = [script for script in context["script_files"] if not _is_thebe(script)]
    body = context.get("body", "")
    body = re.sub(r'\s*<script type="text/x-thebe-config">.*?</script>\s*<script>kernelName[^<]*</script>', "", body, flags=re.S)
    body = re.sub(r"<table\b.*?</table>", r'<div class="scrolling" tabindex="0">\g<0></div>', body, flags=re.S)
    context["body"] = body.replace('<div role="list" class="citation-list">', '<div class="citation-list">')


def _is_thebe(script: Any) -> bool:
    return "thebe" in f"{script.filename} {script.attributes.get('body', '')}".lower()


def setup(app: Sphinx) -> dict:
    """Register with Sphinx."""
    app.add_directive("moving-figure", MovingFigure)
    boxes.setup(app)
    search.setup(app)
    previews.setup(app)
    reading.setup(app)
    formulas.setup(app)
    pictures.setup(app)
    app.connect("config-inited", configure)
    app.connect("config-inited", fill)
    app.connect("html-page-context", say_how_to_run)
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
