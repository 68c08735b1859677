"""What belongs to a chapter: evidence page, plan, slides, lab, problem set and notebook, and how its pages lead to them."""

import json
import re
from pathlib import Path

from lib import files
from lib.site import labs, problems
from lib.site.myst import References
from lib.site.toc import EVIDENCE, beside, chapters, notebooks

PAGE = re.compile(r"book/(?:course/|evidence/)?(\w+)")
DOWNLOADED = ("Lab", "Problem set")
END = """\
<aside class="admonition tip"><p class="admonition-title">Run this chapter</p>
<p>In a clone of the book: <code>make chapter NAME={chapter}</code>. Then change a line of <code>book/{chapter}.md</code>, run it
again and see what happens.</p></aside>
<aside class="materials" aria-label="More on this chapter"><p>More on this chapter: {links}</p></aside>"""


def materials(root: Path, chapter: str) -> dict[str, str]:
    """Return what belongs to a chapter, as the site's files by name; what was not written is left out."""
    if chapter not in chapters(root):
        return {}
    written = {
        "Chapter": (True, f"book/{chapter}.html"),
        "Evidence": (EVIDENCE + chapter in notebooks(root), f"book/{EVIDENCE}{chapter}.html"),
        "Teaching plan": (chapter in beside(root, "course"), f"book/course/{chapter}.html"),
        "Slides": (chapter in beside(root, "slides"), f"slides/{chapter}.html"),
        "Lab": (chapter in labs.labs(root), f"labs/{chapter}.ipynb"),
        "Problem set": (chapter in problems.sets(root), f"problems/{chapter}.ipynb"),
    }
    return {name: place for name, (there, place) in written.items() if there}


def links(root: Path, chapter: str, here: str) -> str:
    """Write the links from a page of the site, HTML, to the other materials of a chapter."""
    up = "../" * here.count("/")
    places = {name: place for name, place in materials(root, chapter).items() if place != f"{here}.html"}
    return " · ".join(f'<a href="{up}{places[name]}"{" download" * (name in DOWNLOADED)}>{name}</a>' for name in places)


def offered(root: Path, page: str, body: str) -> str:
    """Add to the body of a page the materials of its chapter: at the end of a lesson, elsewhere below the title."""
    found = PAGE.fullmatch(page)
    written = links(root, found[1], page) if found else ""
    if not written:
        return body
    if page == f"book/{found[1]}":
        return body + END.format(chapter=found[1], links=written)
    return body.replace("</h1>", f'</h1><p class="materials">{written}</p>', 1)


def write(root: Path, site: Path) -> None:
    """Write into the site the labs and the problem sets, without solutions, and the executed notebooks, for Jupyter."""
    labs.write(root, site / "labs", solved=False)
    problems.write(root, site / "problems", solved=False)
    references = References(root)
    for name in notebooks(root):
        shown = references.notebook(json.loads((root / "book" / f"{name}.ipynb").read_text(encoding="utf-8")))
        files.write(site / "_sources" / "book" / f"{name}.ipynb", json.dumps(shown, indent=1) + "\n")
