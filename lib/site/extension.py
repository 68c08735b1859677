"""What the site needs beyond Jupyter Book: what pages take from the ledger, repairs, the end of each page, what is handed out."""

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
    formulas,
    ledger,
    pages,
    pictures,
    previews,
    public_code,
    reading,
    search,
    slides,
    teaching,
    toc,
)

STYLES = ("search.css", "previews.css", "reading.css", "formulas.css", "pictures.css", "frame.css")
SCRIPTS = ("previews.js", "code.js", "play.js", "contents.js", "predict.js", "pictures.js")


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


def finish_page(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Mend a page, add its end and write its previews; Thebe goes, since it needs a server elsewhere."""
    if "<math" in context.get("body", ""):
        app.add_js_file(formulas.FONT, priority=100)  # before the page is drawn
    context["script_files"] = [script for script in context["script_files"] if not _is_thebe(script)]
    if doctree is None:  # no page of the book, like the index
        return
    root, files = Path(app.srcdir), {name: Path(app.srcdir, path) for path, name in app.builder.images.items()}
    body = teaching.offered(root, page, reading.mended(pictures.placed(context["body"], files)))
    context["body"] = body + citing.end(root, page, context["title"], context["pathto"]("book/cite"))
    previews.write(Path(app.outdir), page, context["title"], context["body"])


def _is_thebe(script: Any) -> bool:
    return "thebe" in f"{script.filename} {script.attributes.get('body', '')}".lower()


def replace_search(app: Sphinx) -> None:
    """Keep the page of search results, but make no index of Sphinx's own for it."""
    app.builder.search = False
    app.config.html_additional_pages["search"] = "search.html"


def finish_site(app: Sphinx, problem: Exception | None) -> None:
    """Write what is made of the finished pages: decks, notebooks to download, and the index that is searched."""
    if problem is None and app.builder.format == "html":
        root, site = Path(app.srcdir), Path(app.outdir)
        slides.write(root, site)
        teaching.write(root, site)
        search.index(root, site)


def setup(app: Sphinx) -> dict:
    """Register with Sphinx; `html_math_renderer: mathml` chooses how formulas are written."""
    for style in STYLES:
        app.add_css_file(style)
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="defer")
    app.add_directive("moving-figure", MovingFigure)
    app.add_directive("coverage", coverage.Coverage)
    app.add_post_transform(boxes.FoldCode)
    app.add_post_transform(public_code.LinkMentions)
    app.add_html_math_renderer("mathml", (formulas.visit_math, None), (formulas.visit_math_block, None))
    app.connect("config-inited", fill)
    app.connect("builder-inited", replace_search)
    app.connect("doctree-read", boxes.register)
    app.connect("doctree-read", boxes.mark)
    app.connect("doctree-read", reading.mark_problems)
    app.connect("html-page-context", finish_page)
    app.connect("build-finished", finish_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
