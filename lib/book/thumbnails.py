"""The chapters' cards on the front page: each shows the first figure of the executed notebook, small."""

import json
from base64 import b64decode
from html import escape
from io import BytesIO
from pathlib import Path

from PIL import Image
from sphinx.application import Sphinx

from lib import files
from lib.book import pictures
from lib.book.toc import chapters, title

WIDTH, HEIGHT = 240, 150  # pixels, twice what a card has


def figure(root: Path, chapter: str) -> tuple[bytes, str] | None:
    """Return a chapter's first figure, as PNG, and its words for those who do not see it; None where it has none."""
    path = root / "book" / f"{chapter}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.is_file() else []
    for cell in cells:
        shown = cell["metadata"].get("mystnb", {})
        for output in cell.get("outputs", []):
            if "figure" in shown and "image/png" in output.get("data", {}):
                return b64decode(output["data"]["image/png"]), shown["image"]["alt"]
    return None


def small(picture: bytes) -> bytes:
    """Return a picture's left part in a card's shape, as WebP: of a row of panels the first."""
    with Image.open(BytesIO(picture)) as image:
        width, height = image.size
        wide = min(width, height * WIDTH // HEIGHT)
        part = image.convert("RGB").crop((0, 0, wide, min(height, wide * HEIGHT // WIDTH))).resize((WIDTH, HEIGHT))
    written = BytesIO()
    part.save(written, "WEBP", quality=75)
    return written.getvalue()


def cards(root: Path) -> str:
    """Write the cards of all chapters as HTML, for a page in `book/`."""
    written = []
    for number, chapter in enumerate(chapters(root), start=1):
        found = figure(root, chapter)
        picture = _image(chapter, *found) if found else ""
        short = escape(title(root, chapter).split(":")[0])
        written.append(f'<li><a href="{chapter}.html">{picture}<span>{number}. {short}</span></a></li>')
    return f'<ol class="chapter-cards">{"".join(written)}</ol>'


def _image(chapter: str, picture: bytes, words: str) -> str:
    with Image.open(BytesIO(picture)) as image:
        kind = ' class="drawn"' * pictures.on_white(image)
    size = f'width="{WIDTH}" height="{HEIGHT}" loading="lazy"'
    return f'<img{kind} src="../_static/thumbnails/{chapter}.webp" alt="{escape(words)}" {size}>'


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the small pictures."""
    if problem or app.builder.format != "html":
        return
    root = Path(app.srcdir)
    for chapter in chapters(root):
        if found := figure(root, chapter):
            files.write(Path(app.outdir, "_static", "thumbnails", f"{chapter}.webp"), small(found[0]))


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("build-finished", write)
