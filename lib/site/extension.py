"""What the site needs beyond Jupyter Book.

What pages take from the ledger, repairs, the end of each page, what is handed out.
"""

import json
import os
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from lib import files
from lib.site import (
    boxes,
    citing,
    coverage,
    evidence,
    findings,
    formulas,
    handouts,
    languages,
    library,
    licences,
    pages,
    pictures,
    public_code,
    reading,
    search,
    shown,
    slides,
    teaching,
)
from lib.site.book import book_of
from lib.site.myst import References

STYLES = ("search", "previews", "reading", "formulas", "pictures", "frame")
GENERATED = re.compile(r"\{\{ |^```\{(?:library|coverage)\}", re.MULTILINE)
# An entry of the sidebar with pages below it, and the arrow that opens them.
ARROW = re.compile(r"<a [^>]*>([^<]*)</a><details[^>]*><summary")
SCRIPTS = ("words", "header", "previews", "code", "play", "contents", "predict", "pictures")


def fill(app: Sphinx, config: Config) -> None:
    """Read the book, and hand to the pages what they take from the ledger and from tables."""
    book = book_of(app)
    file = os.environ.get(pages.FILE)
    filled = json.loads(Path(file).read_bytes()) if file else pages.substitutions(book)
    config.myst_substitutions |= filled
    config.html_theme_options |= citing.online(book)


class MovingFigure(SphinxDirective):
    """Show a chapter's moving figure on another page: `{moving-figure} CHAPTER NAME`."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the figure as the executed notebook holds it, with a caption of its own."""
        book = book_of(self.env.app)
        chapter, name = self.arguments
        for notebook in book.notebooks_of(chapter):
            self.env.note_dependency(str(book.path(notebook)))
            if html := slides.moving(book, notebook).get(name):
                caption = nodes.container(classes=["moving-caption"])
                self.state.nested_parse(self.content, self.content_offset, caption)
                return [nodes.raw("", html, format="html"), caption]
        raise self.error(f"no figure {name} in the chapter {chapter}")


def keep_pages(app: Sphinx, env: Any) -> None:
    """Unpickle each page once, and not for each reference to a number of it.

    A page that is written is changed, so it is another copy: that which was read just now, if any.
    """
    read = env.get_doctree
    env.get_doctree = cache(read)
    resolve = env.get_and_resolve_doctree

    def written(page: str, builder: Builder) -> nodes.document:
        was_read = page in env._write_doc_doctree_cache
        return resolve(page, builder, None if was_read else read(page))

    env.get_and_resolve_doctree = written


def finish_page(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Mend a page and add its end; Thebe goes, since it needs a server elsewhere."""
    body = context.get("body", "")
    if "<math" in body:
        app.add_js_file(formulas.FONT, priority=100)  # before the page is drawn
    scripts = context["script_files"]
    context["script_files"] = [script for script in scripts if not _is_thebe(script)]
    context["said"] = languages.for_scripts()
    context["css_files"] = [style for style in context["css_files"] if not _is_thebe(style)]
    defer_scripts(context)
    if doctree is None:  # no page of the book, like the index
        return
    images = {name: Path(app.srcdir, path) for path, name in app.builder.images.items()}
    book = book_of(app)
    name = page.removeprefix("book/")
    darks = pictures.dark(book.notebook(name)) if name in book.notebooks else {}
    folder = Path(app.outdir, "_images")
    folder.mkdir(exist_ok=True)
    for light, drawn in darks.items():
        (folder / light).with_suffix(".dark.png").write_bytes(drawn)
    body = pictures.placed(body, images, darks)
    body = public_code.linked(page, reading.mended(body))
    body = teaching.offered(book, page, body)
    body = body.replace(citing.BUILT, citing.built_from(book))  # no page is read again for it
    context["body"] = body + citing.end(book, page, context["title"], context["pathto"])


def offer_no_template(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Take the download off a page whose source only says what is to be filled in."""
    if doctree is None or context["page_source_suffix"] != ".md":
        return
    if GENERATED.search(book_of(app).text(page.removeprefix("book/"))):
        for group in context["header_buttons"]:
            if group["label"] == "download-buttons":
                own = group["buttons"]
                group["buttons"] = [one for one in own if one["label"] != "download-source-button"]


def name_toggles(
    app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None
) -> None:
    """Name each arrow of the sidebar after the page whose subpages it opens."""
    write = context["generate_toctree_html"]

    def named(*arguments: Any, **options: Any) -> str:
        label = _("Pages below {}")
        return ARROW.sub(
            lambda found: f'{found[0]} aria-label="{label.format(found[1])}"',
            str(write(*arguments, **options)),
        )

    context["generate_toctree_html"] = named


def defer_scripts(context: dict) -> None:
    """Let only the script that loads the formulas' font delay the first drawing of a page."""
    for script in context["script_files"]:
        if script.filename and not script.filename.endswith(formulas.FONT):
            script.attributes["defer"] = "defer"


def _is_thebe(file: Any) -> bool:
    return "thebe" in f"{file.filename} {file.attributes.get('body', '')}".lower()


def replace_search(app: Sphinx) -> None:
    """Keep the page of search results, but make no index of Sphinx's own for it."""
    if isinstance(app.builder, StandaloneHTMLBuilder):
        app.builder.search = False
    app.config.html_additional_pages["search"] = "search.html"


def finish_site(app: Sphinx, problem: Exception | None) -> None:
    """Write what is made of the finished pages: previews, decks, notebooks, and the search."""
    if problem or app.builder.format != "html":
        return
    book = book_of(app)
    language = app.config.language
    site = Path(app.outdir)
    known = {}
    with TemporaryDirectory() as folder:
        for page in book.pages:
            found, searched = _read_page(app, page)
            if page.removeprefix("book/") in book.notebooks:
                known |= found
            files.write(Path(folder, f"{page}.html"), searched)
        search.index(folder, site)
    coverage.write_csv(book, site / "book" / "where.csv")
    slides.write(book, site, known, language)
    references = References(book, known)
    handouts.write(references, site, solved=False)
    handouts.write_chapters(references, site)
    licences.write(book, site)


def _read_page(app: Sphinx, page: str) -> tuple[dict[str, shown.Part], str]:
    """Return what a finished page shows and what is searched of it, and write its previews.

    All this is kept beside Sphinx's copy of the page until the page changes, or how it is read.
    """
    site = Path(app.outdir)
    path = Path(app.doctreedir, f"{page}.shown")
    sources = (site / f"{page}.html", shown.__file__, search.__file__)
    made = os.path.getmtime(path) if path.is_file() else 0
    if made > max(map(os.path.getmtime, sources)) and (kept := files.kept(path, _decode)):
        return kept
    article = shown.article(site, page)
    found = shown.parts(page, article)
    shown.write_previews(site, page, article.h1.get_text(), found)
    searched = search.searched(page, article, app.config.language)
    files.write(path, json.dumps((found, searched)))
    return found, searched


def _decode(data: bytes) -> tuple[dict[str, shown.Part], str]:
    found, searched = json.loads(data)
    return {name: shown.Part(*part) for name, part in found.items()}, searched


def setup(app: Sphinx) -> dict:
    """Register with Sphinx; `html_math_renderer: mathml` chooses how formulas are written."""
    for style in STYLES:
        app.add_css_file(f"{style}.css")
    for script in SCRIPTS:
        app.add_js_file(f"{script}.js", loading_method="defer")
    app.add_directive("moving-figure", MovingFigure)
    app.add_directive("coverage", coverage.Coverage)
    app.add_directive("findings", findings.Findings)
    app.add_directive("library", library.Library)
    app.add_node(nodes.literal_block, override=True, html=(library.visit_code, None))
    app.add_transform(languages.BeforeTranslation)
    app.add_post_transform(boxes.FoldCode)
    TocTreeCollector.assign_figure_numbers = evidence.assign_numbers
    visitors = (formulas.visit_math, None), (formulas.visit_math_block, None)
    app.add_html_math_renderer("mathml", *visitors)
    app.connect("config-inited", fill)
    app.connect("builder-inited", replace_search)
    app.connect("builder-inited", languages.collect)
    app.connect("doctree-read", boxes.register)
    app.connect("doctree-read", languages.keep_titles)
    app.connect("doctree-read", reading.mark_problems)
    app.connect("env-get-outdated", library.outdated)
    app.connect("doctree-read", library.find_names)
    app.connect("env-check-consistency", keep_pages)
    app.connect("html-page-context", finish_page)
    app.connect("html-page-context", offer_no_template, priority=1000)  # after the theme's buttons
    app.connect("html-page-context", name_toggles, priority=1000)
    app.connect("build-finished", finish_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
