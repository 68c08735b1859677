"""What the site needs beyond Jupyter Book: claims as boxes and launch buttons where there is a repository."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from lib.claims import measured_text

REPOSITORY = "BOOK_REPOSITORY"  # environment variable with the repository's web address


class ClaimRenderer:
    """Show a claim as a box, with the measured number from the output's metadata."""

    mime_priority_overrides: ClassVar[list] = []

    @staticmethod
    def handle_mime(renderer: object, data: object, inline: bool) -> list[nodes.Element] | None:
        """Render a claim's output; leave every other to myst-nb."""
        record = data.output_metadata.get("claim")
        if record is None or inline or data.mime_type != "text/plain":
            return None
        verdict = record["verdict"]
        box = nodes.container(classes=["claim", "claim-" + verdict.replace(" ", "-")])
        box += nodes.paragraph("", "", nodes.strong(text=verdict.capitalize()), nodes.Text(f": {record['statement']}."))
        detail = f"measured {measured_text(record)}, expected {record['expected']}; {record['source']}"
        box += nodes.paragraph("", "", nodes.Text(detail), classes=["claim-detail"])
        if record["why"]:
            box += nodes.paragraph("", "", nodes.Text(record["why"]))
        return [box]


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
    """Switch launch buttons on where there is a repository to launch."""
    address = repository_address(Path(app.srcdir))
    if address:
        config.html_theme_options |= {
            "repository_url": address,
            "repository_branch": "main",
            "use_repository_button": True,
            "launch_buttons": {"binderhub_url": "https://mybinder.org", "colab_url": "https://colab.research.google.com"},
        }


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


def setup(app: Sphinx) -> dict:
    """Register with Sphinx."""
    app.connect("config-inited", configure)
    app.connect("html-page-context", say_how_to_run)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
