"""What belongs to a chapter: evidence page, plan, slides, lab and problem set, to which its pages lead."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from lib.site import labs, problems, slides
from lib.site.toc import EVIDENCE, chapters, notebooks

PAGE = re.compile(r"book/(?:course/|evidence/)?(\w+)")


def materials(root: Path, chapter: str) -> dict[str, str]:
    """Return what belongs to a chapter, as the site's files by name; what was not written is left out."""
    if chapter not in chapters(root):
        return {}
    found = {"Chapter": f"book/{chapter}.html"}
    if EVIDENCE + chapter in notebooks(root, [chapter]):
        found["Evidence"] = f"book/{EVIDENCE}{chapter}.html"
    if (root / "book" / "course" / f"{chapter}.md").is_file():
        found["Teaching plan"] = f"book/course/{chapter}.html"
    if chapter in slides.decks(root):
        found["Slides"] = f"slides/{chapter}.html"
    if chapter in labs.labs(root):
        found["Lab"] = f"labs/{chapter}.ipynb"
    if chapter in problems.sets(root):
        found["Problem set"] = f"problems/{chapter}.ipynb"
    return found


def links(root: Path, chapter: str, here: str) -> str:
    """Write the links from a page of the site, HTML, to the other materials of a chapter."""
    up = "../" * here.count("/")
    places = {name: place for name, place in materials(root, chapter).items() if place != f"{here}.html"}
    download = {name: " download" for name in ("Lab", "Problem set")}
    return " · ".join(f'<a href="{up}{place}"{download.get(name, "")}>{name}</a>' for name, place in places.items())


def offer(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """List a chapter's other materials at the end of its lesson and below the titles of its evidence page and its plan."""
    found = PAGE.fullmatch(page)
    written = links(Path(app.srcdir), found[1], page) if doctree is not None and found else ""
    if not written:
        return
    if page.count("/") > 1:
        context["body"] = context["body"].replace("</h1>", f'</h1><p class="materials">{written}</p>', 1)
    else:
        context["body"] += (
            f'<aside class="materials" aria-label="More on this chapter"><p>More on this chapter: {written}</p></aside>'
        )


def changed(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Name the pages that link to materials that have come or gone since the last build."""
    root = Path(app.srcdir)
    now = {chapter: list(materials(root, chapter)) for chapter in chapters(root)}
    before, env.materials = getattr(env, "materials", {}), now
    moved = [name for name in now if now[name] != before.get(name)]
    return [
        page
        for name in moved
        for page in (f"book/{name}", f"book/{EVIDENCE}{name}", f"book/course/{name}")
        if page in env.found_docs
    ]


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the labs and the problem sets, without solutions, into the site."""
    if problem is None and app.builder.format == "html":
        labs.write(Path(app.srcdir), Path(app.outdir, "labs"), solved=False)
        problems.write(Path(app.srcdir), Path(app.outdir, "problems"), solved=False)


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("env-get-outdated", changed)
    app.connect("html-page-context", offer, priority=600)  # before the version
    app.connect("build-finished", write)
