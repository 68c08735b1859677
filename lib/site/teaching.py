"""What belongs to a chapter: evidence page, plan, slides, lab, problem set, and the links to them."""

import re

from lib.site import problems
from lib.site.book import EVIDENCE, Book

PAGE = re.compile(r"book/(?:course/|evidence/)?(\w+)")
END = """\
<aside class="admonition tip"><p class="admonition-title">Run this chapter</p>
<p>In a clone of the book: <code>make chapter NAME={chapter}</code>. Then change a line of <code>book/{chapter}.md</code>, run it
again and see what happens.</p></aside>
<aside class="materials" aria-label="More on this chapter"><p>More on this chapter: {links}</p></aside>"""


def materials(book: Book, chapter: str) -> dict[str, str]:
    """Return what was written for a chapter, as the site's files by name."""
    if chapter not in book.chapters:
        return {}
    found = {"Chapter": f"book/{chapter}.html"}
    if EVIDENCE + chapter in book.notebooks:
        found["Evidence"] = f"book/{EVIDENCE}{chapter}.html"
    if chapter in book.beside("course"):
        found["Teaching plan"] = f"book/course/{chapter}.html"
    if chapter in book.beside("slides"):
        found["Slides"] = f"slides/{chapter}.html"
    if chapter in book.beside("labs"):
        found["Lab"] = f"labs/{chapter}.ipynb"
    if chapter in problems.sets(book):
        found["Problem set"] = f"problems/{chapter}.ipynb"
    return found


def links(book: Book, chapter: str, here: str) -> str:
    """Write the links from a page of the site, HTML, to the other materials of a chapter."""
    up = "../" * here.count("/")
    written = []
    for name, place in materials(book, chapter).items():
        download = " download" if place.endswith(".ipynb") else ""
        if place != f"{here}.html":
            written.append(f'<a href="{up}{place}"{download}>{name}</a>')
    return " · ".join(written)


def offered(book: Book, page: str, body: str) -> str:
    """Add to a page the materials of its chapter: at the end of a lesson, elsewhere at its top."""
    found = PAGE.fullmatch(page)
    if found is None:
        return body
    chapter = found[1]
    written = links(book, chapter, page)
    if not written:
        return body
    if page == f"book/{chapter}":
        return body + END.format(chapter=chapter, links=written)
    return body.replace("</h1>", f'</h1><p class="materials">{written}</p>', 1)
