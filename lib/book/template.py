"""A new chapter from the template in `book/_template`: the chapter, its theory, its tests, and its lines in the book."""

import re
from pathlib import Path

from lib import files
from lib.book import toc

PLACES = {
    "chapter.md": "book/NAME.md",
    "problems.md": "book/problems/NAME.md",
    "deck.md": "book/slides/NAME.md",
    "plan.md": "book/course/NAME.md",
    "theory.py": "lib/theory/NAME.py",
    "tests.py": "tests/theory/test_NAME.py",
    "calls.py": "tests/bad_input/NAME.py",
}
WEEK = """\
  - title: {title}
    chapters: [{name}]
    text: What the week is about.
"""
ENTRY = """\
  {name}:
    about: What the chapter is about, in a sentence or two.
    hours: 6
    goals: What the reader can do afterwards.
    prerequisites: What the reader must know.
    reading: The document.
"""


def new(root: Path, name: str) -> list[Path]:
    """Write the files of the chapter `name`, add it to `_toc.yml` and `book/course.yml`; return what was written.

    Raises
    ------
    ValueError
        If the name is malformed or taken, or a file exists.
    """
    if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name):
        raise ValueError(f"chapter name {name!r}: want small letters, words joined by _, as in two_point")
    if name in toc.chapters(root):
        raise ValueError(f"chapter {name}: the book has it already")
    forms = {place.replace("NAME", name): root / "book" / "_template" / form for form, place in PLACES.items()}
    texts = {root / place: form.read_text(encoding="utf-8").replace("NAME", name) for place, form in forms.items()}
    there = [str(path.relative_to(root)) for path in texts if path.exists()]
    if there:
        raise ValueError(f"chapter {name}: {', '.join(there)} exists already")

    contents, guide = root / "_toc.yml", root / "book" / "course.yml"
    *_, last = re.finditer(r"^( *- file: book/)\w+\.ipynb\n", contents.read_text(encoding="utf-8"), re.MULTILINE)
    texts[contents] = _insert(contents, last.end(), f"{last[1]}{name}.ipynb\n")
    *_, last = re.finditer(r"^( *- file: book/course/)\w+\n", texts[contents], re.MULTILINE)
    texts[contents] = texts[contents][: last.end()] + f"{last[1]}{name}\n" + texts[contents][last.end() :]
    entries = guide.read_text(encoding="utf-8").index("\nchapters:")
    week = WEEK.format(title=name.replace("_", " ").capitalize(), name=name)
    texts[guide] = _insert(guide, entries, week) + ENTRY.format(name=name)
    for path, text in texts.items():
        files.write(path, text)
    return list(texts)


def _insert(path: Path, position: int, addition: str) -> str:
    text = path.read_text(encoding="utf-8")
    return text[:position] + addition + text[position:]
