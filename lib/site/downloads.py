"""The notebooks that the pages offer for download, written for Jupyter, and how to run a chapter."""

import json
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from lib import files
from lib.site import citing
from lib.site.myst import References
from lib.site.toc import notebooks


def offer(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Say at the end of a chapter how to run it."""
    chapter = citing.CHAPTER.fullmatch(page)
    if chapter and Path(app.srcdir, f"{page}.ipynb").is_file():
        context["body"] += (
            '<aside class="admonition tip"><p class="admonition-title">Run this chapter</p>'
            f"<p>In a clone of the book: <code>make chapter NAME={chapter[1]}</code>. Then change a line of"
            f" <code>book/{chapter[1]}.md</code>, run it again and see what happens.</p></aside>"
        )


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the notebooks that the pages offer for download."""
    if problem or app.builder.format != "html":
        return
    root, references = Path(app.srcdir), References(Path(app.srcdir))
    for name in notebooks(root):
        shown = references.notebook(json.loads((root / "book" / f"{name}.ipynb").read_text(encoding="utf-8")))
        files.write(Path(app.outdir, "_sources", "book", f"{name}.ipynb"), json.dumps(shown, indent=1) + "\n")


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("html-page-context", offer)
    app.connect("build-finished", write)
