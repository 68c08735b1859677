"""Pictures keep their place while a page loads, come when they are
near, open at their full size, and follow the dark theme.

Each is a link to its own file; a script (`pictures.js`) opens it on the page instead.
"""

import base64
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

from PIL import Image
from sphinx.locale import _

IMAGE = re.compile(
    r'(?P<link><a class="[^"]*\bimage-reference"[^>]*>)?'  # of docutils, around what has a size
    r'(<img\b(?=[^>]*\bsrc="([^"]+\.png)")[^>]*?)\s*(/?>)(?(link)\s*</a>)'
)
# The row of a figure's slider, and what it gets: buttons that a script fills.
ROW = '<div class="moving-slider" hidden>'
PLAY = '<button type="button" class="moving-play"></button>'
ENLARGE = '<button type="button" class="enlarge">{}</button>'
STYLE = re.compile(r' style="[^"]*"')
DENSITY = 2  # pixels of a figure for each of a plain screen; lib.figures.themes draws it so


def with_buttons(body: str) -> str:
    """Give each figure that moves a button that plays it and one that opens it."""
    enlarge = ENLARGE.format(_("Enlarge"))
    return body.replace(ROW, f"{enlarge}\n{ROW}{PLAY}")


def dark(notebook: Mapping) -> dict[str, bytes]:
    """Return the dark figures of an executed notebook, by the names of the light ones' files."""
    found = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            drawn = output.get("metadata", {}).get("image/png", {}).get("dark")
            if drawn:
                light = base64.b64decode("".join(output["data"]["image/png"]))
                found[f"{sha256(light).hexdigest()}.png"] = base64.b64decode(drawn)
    return found


def placed(body: str, files: Mapping[str, Path], darks: Iterable[str] = ()) -> str:
    """Write into each picture of a page how large it is, and put a link to its file around it.

    `files` are by name. Beside each of `darks` stands its dark twin, NAME.dark.png.
    """

    def sized(match: re.Match) -> str:
        image, address, end = match.groups()[1:]
        name = unquote(address).rpartition("/")[2]
        if name not in files or " width=" in image:
            return match[0]
        image = STYLE.sub("", image)  # which would not shrink in proportion
        with Image.open(files[name]) as picture:
            width, height = picture.size
        shown = [""]
        if name in darks:
            width //= DENSITY
            height //= DENSITY
            shown = ["only-light", "only-dark"]
        size = f'width="{width}" height="{height}" loading="lazy" decoding="async"'
        images = ""
        for theme in shown:
            one = image.replace(".png", ".dark.png") if theme == "only-dark" else image
            images += f"{one} {size}" + f' class="{theme}"' * bool(theme) + f" {end}"
        title = _("Enlarge")
        return f'<a class="zoom" href="{address}" title="{title}">{images}</a>'

    return IMAGE.sub(sized, body)
