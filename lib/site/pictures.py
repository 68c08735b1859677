"""Pictures keep their place while a page loads, come when they are
near, open at their full size, and follow the dark theme.

Each is a link to its own file; a script (`pictures.js`) opens it on the page instead.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from PIL import Image

IMAGE = re.compile(r'(<img\b(?=[^>]*\bsrc="([^"]+\.png)")[^>]*?)\s*(/?>)')
# the share of white above which a picture is a drawing: lines
# and points have 0.9, maps and photographs 0.7
PAPER = 0.8


@cache
def look(path: Path) -> tuple[int, int, bool]:
    """Return a picture's width and height and whether it is a
    drawing on white, which the dark theme may turn over.
    """
    with Image.open(path) as image:
        shades = image.convert("L").histogram()
        return *image.size, sum(shades[246:]) > PAPER * sum(shades)


def placed(body: str, files: Mapping[str, Path]) -> str:
    """Write into each picture of a page how large it is, and put a
    link to its file around it; `files` are by name.
    """

    def sized(match: re.Match) -> str:
        image, address, end = match.groups()
        path = files.get(unquote(address).rpartition("/")[2])
        if path is None or " width=" in image:
            return match[0]
        width, height, drawn = look(path)
        size = f'width="{width}" height="{height}" loading="lazy" decoding="async"'
        size += drawn * ' class="drawn"'
        link = f'<a class="zoom" href="{address}" title="Open at full size">'
        return f"{link}{image} {size} {end}</a>"

    return IMAGE.sub(sized, body)
