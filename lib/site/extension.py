"""What the site needs beyond Jupyter Book: the front page's figure and claim, what pages take from the ledger, repairs."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from lib.site import (
    boxes,
    citing,
    coverage,
    downloads,
    formulas,
    ledger,
    pages,
    pictures,
    previews,
    reading,
    search,
    slides,
    teaching,
    toc,
)


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
        for notebook in toc.notebooks(Path(self.env.srcdir), [chapter]):
            source = Path(self.env.srcdir, "book", f"{notebook}.ipynb")
            self.env.note_dependency(str(source))
            if html := slides.moving(source).get(name):
                caption = nodes.container(classes=["moving-caption"])
                self.state.nested_parse(self.content, self.content_offset, caption)
                return [nodes.raw("", html, format="html"), caption]
        raise self.error(f"no figure {name} in the chapter {chapter}")


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
    coverage.setup(app)
    search.setup(app)
    previews.setup(app)
    reading.setup(app)
    formulas.setup(app)
    pictures.setup(app)
    downloads.setup(app)
    citing.setup(app)
    slides.setup(app)
    teaching.setup(app)
    app.connect("config-inited", fill)
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
