"""Two chapters of the book in a language that nobody speaks: each letter wears an accent, and each
message stands in ⟦brackets⟧.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from lib.site import build
from lib.site.book import Book

ROOT = Path(__file__).parents[1]
LANGUAGE = "fr"
CHAPTERS = ("products", "single_neuron")
TOC = """\
format: jb-book
root: book/primer
parts:
  - caption: Chapters
    numbered: true
    chapters:
      - file: book/products.ipynb
      - file: book/single_neuron.ipynb
  - caption: More
    chapters:
      - file: book/products/evidence.ipynb
      - file: book/single_neuron/evidence.ipynb
      - file: book/what_replicates
      - file: book/references
      - file: book/notation
      - file: book/linear_networks
      - file: book/margins
"""
PAGES = ("primer", "what_replicates", "margins", "references")
OTHERS = ("notation", "linear_networks")  # to which they lead, without their contents
LABELS = ["where-code", "two-point-bounds"]
LABELS += [
    f"{name}-bounds"
    for name in ("linear_networks", "piecewise_linear", "localization", "practice", "synthesis")
]
BESIDE = ("_static", "_templates", "quality", "references.bib", "repositories.yml")
TABLES = ("product_depth", "get_rich_quick")  # of the documents of these chapters
# What is no word: formulas, roles and code, targets, attributes, tags, entities, placeholders.
KEEP = re.compile(
    r"\$\$.+?\$\$|\$.+?\$|\{[\w:-]+\}`[^`]+`|`+[^`]+`+|\]\([^)]*\)|\]\{[^}]*\}|<[^>]+>|&\w+;"
    r"|\{[^}]*\}|%\(\w+\)s|%\w|\\.|https?://\S+",
    re.DOTALL,
)
ACCENTS = str.maketrans("aceinosuyzAEINOSUYZ", "àçéïñöšüýžÀÉÏÑÖŠÜÝŽ")


def pseudo(message):
    """Translate a message in MyST, or one with placeholders; its markup stays."""
    words = KEEP.split(message)
    kept = [*KEEP.findall(message), ""]
    parts = zip(words, kept, strict=True)
    return f"⟦{''.join(word.translate(ACCENTS) + markup for word, markup in parts)}⟧"


def write(root):
    """Write a book of two chapters, as their notebooks are, with nothing translated yet."""
    folder = root / "book"
    (folder / "coverage").mkdir(parents=True)
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    chosen = f"  config:\n    language: {LANGUAGE}\n"
    (root / "_config.yml").write_text(config.replace("  config:\n", chosen), encoding="utf-8")
    (root / "_toc.yml").write_text(TOC)
    paths = [
        "lib",
        "CITATION.cff",
        "LICENSE",
        "LICENSES",
        "THIRD-PARTY.md",
        *(f"book/{name}" for name in BESIDE),
    ]
    paths += [f"book/{name}.md" for name in (*PAGES, *CHAPTERS)]
    paths += [f"book/coverage/{name}.yml" for name in TABLES]
    for chapter in CHAPTERS:
        (folder / chapter).mkdir()
        inside = (ROOT / "book" / chapter).iterdir()
        paths += [f"book/{chapter}/{path.name}" for path in inside if path.suffix != ".ipynb"]
    for path in paths:
        (root / path).symlink_to(ROOT / path)
    for name in OTHERS:
        (folder / f"{name}.md").write_text(f"# The page {name}\n\nNothing.\n")
    with (folder / "notation.md").open("a") as file:
        file.writelines(f"\n({label})=\n## The section {label}\n" for label in LABELS)
    for name in Book(root).notebooks:
        text = (ROOT / "book" / f"{name}.ipynb").read_text(encoding="utf-8")
        asked = "**Predict before you look.**"
        text = re.sub(rf"(?<!\[){re.escape(asked)}", f"[{asked}]{{.predict}}", text)
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")
    return Book(root)


def catalogues(root):
    """Make the catalogues of messages; return their files."""
    command = [sys.executable, "-c", build.JUPYTER_BOOK, "build", str(root)]
    command += ["--builder", "custom", "--custom-builder", "gettext"]
    place = root / "_build" / "messages"  # a builder takes no other's doctrees
    command += ["--path-output", str(place)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return sorted((place / "_build" / "gettext").glob("*.pot"))


def translate(root):
    """Translate all messages of the catalogues."""
    place = root / "locales" / LANGUAGE / "LC_MESSAGES"
    place.mkdir(parents=True)
    for path in catalogues(root):
        with path.open("rb") as file:
            catalogue = read_po(file, LANGUAGE)
        for message in catalogue:
            if message.id:
                message.string = pseudo(message.id)
        with (place / f"{path.stem}.mo").open("wb") as file:
            write_mo(file, catalogue)
