"""Pictures keep their place while a page loads, come when they are near, open at their full size, and follow the dark theme.

Each is a link to its own file; a script (`pictures.js`) opens it on the page instead.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx

IMAGE = re.compile(r'<img\b(?=[^>]*\bsrc="([^"]+\.png)")[^>]*?(?=\s*/?>)')
PAPER = 0.8  # the share of white above which a picture is a drawing: lines and points have 0.9, maps and photographs 0.7


@cache
def look(path: Path) -> tuple[int, int, bool]:
    """Return a picture's width and height and whether it is a drawing on white, which the dark theme may turn over."""
    with Image.open(path) as image:
        return *image.size, on_white(image)


def on_white(image: Image.Image) -> bool:
    """Say whether a picture is a drawing on white."""
    shades = image.convert("L").histogram()
    return sum(shades[246:]) > PAPER * sum(shades)


def place(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Write into each picture of a page how large it is, and put a link to its file around it."""
    files = {name: Path(app.srcdir, path) for path, name in app.builder.images.items()}

    def placed(match: re.Match) -> str:
        path = files.get(unquote(match[1]).rpartition("/")[2])
        if path is None or " width=" in match[0]:
            return match[0]
        width, height, drawn = look(path)
        size = f'width="{width}" height="{height}" loading="lazy" decoding="async"'
        return f"{match[0]} {size}" + drawn * ' class="drawn"'

    def linked(match: re.Match) -> str:
        return f'<a class="zoom" href="{match[2]}" title="Open at full size">{match[1]}</a>'

    body = IMAGE.sub(placed, context.get("body", ""))
    context["body"] = re.sub(r'(<img\b[^>]*src="([^"]+\.png)"[^>]*loading="lazy"[^>]*>)', linked, body)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_css_file("pictures.css")
    app.add_js_file("pictures.js", loading_method="defer")
    app.connect("html-page-context", place)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
