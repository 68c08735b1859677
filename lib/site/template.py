"""A new chapter from the template in `book/_template`: lesson, evidence page, theory, tests, and its lines in the book."""

import re
from pathlib import Path

from lib import files
from lib.site import toc

PLACES = {
    "lesson.md": "book/NAME.md",
    "evidence.md": "book/evidence/NAME.md",
    "coverage.yml": "book/coverage/NAME.yml",
    "theory.py": "lib/theory/NAME.py",
    "tests.py": "tests/theory/test_NAME.py",
}


def new(root: Path, name: str) -> list[Path]:
    """Write the files of the chapter `name`, add its pages to `_toc.yml`; return what was written.

    Raises
    ------
    ValueError
        If the name is malformed or taken, or a file exists.
    """
    if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name):
        raise ValueError(f"chapter name {name!r}: want lowercase letters, words joined by _, as in two_point")
    if name in toc.chapters(root):
        raise ValueError(f"chapter {name}: the book has it already")
    forms = {place.replace("NAME", name): root / "book" / "_template" / form for form, place in PLACES.items()}
    texts = {root / place: form.read_text(encoding="utf-8").replace("NAME", name) for place, form in forms.items()}
    there = [str(path.relative_to(root)) for path in texts if path.exists()]
    if there:
        raise ValueError(f"chapter {name}: {', '.join(there)} exists already")

    contents = root / "_toc.yml"
    texts[contents] = _listed(contents.read_text(encoding="utf-8"), name)
    for path, text in texts.items():
        files.write(path, text)
    return list(texts)


def _listed(contents: str, name: str) -> str:
    """Add the lesson behind the other lessons, and the evidence page behind the other ones, below "Where is Figure 5?"."""
    where = "      - file: book/where\n"
    if f"{where}        sections:\n" not in contents:
        contents = contents.replace(where, f"{where}        sections:\n")
    contents = _behind(r"^ +- file: book/\w+\.ipynb\n", contents, f"      - file: book/{name}.ipynb\n")
    pages = r"^ +- file: book/(?:where\n +sections:|evidence/\w+\.ipynb)\n"
    return _behind(pages, contents, f"          - file: book/evidence/{name}.ipynb\n")


def _behind(pattern: str, text: str, line: str) -> str:
    *_, last = re.finditer(pattern, text, re.MULTILINE)
    return text[: last.end()] + line + text[last.end() :]
