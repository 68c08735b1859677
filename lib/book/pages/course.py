"""The course guide: its weeks from `book/course.yml`, its exercises from the chapters."""

import re
from pathlib import Path
from typing import NamedTuple

import yaml

from lib.book.toc import chapters, source, title
from lib.markdown import sentence, table

EXERCISE = re.compile(r"^`{3,}\{exercise\} (.+)\n:label: (\S+)\n(:class: problem\n)?\n\*(.+?)\.\*", re.MULTILINE)
GRADES = ("Easy", "Medium", "Hard", "Research level")


class Exercise(NamedTuple):
    """An exercise of a chapter; `grade` is one of `GRADES`, and a problem has its solution elsewhere."""

    title: str
    label: str
    problem: bool
    grade: str

    def __str__(self) -> str:
        elsewhere = "; problem: its solution is not on this site" * self.problem
        return f"{{ref}}`{sentence(self.title)} <{self.label}>` ({self.grade.lower()}{elsewhere})"


def course(root: Path) -> dict[str, str]:
    """Return the table of the weeks and a section for each; chapters that the book does not have are left out."""
    guide, known = yaml.safe_load((root / "book" / "course.yml").read_text(encoding="utf-8")), chapters(root)
    weeks = [week | {"chapters": [name for name in week["chapters"] if name in known]} for week in guide["weeks"]]
    weeks = [week for week in weeks if week["chapters"]]
    rows, sections = [], []
    for number, week in enumerate(weeks, start=1):
        links = ", ".join(f"{{doc}}`{name}`" for name in week["chapters"])
        hours = sum(guide["chapters"][name]["hours"] for name in week["chapters"])
        rows.append([number, week["title"], links, hours])
        sections += [f"## Week {number}: {week['title']}", week["text"].strip()]
        for name in week["chapters"]:
            alone = len(week["chapters"]) == 1
            sections.append(f"Chapter: {{doc}}`{name}`." if alone else f"### {title(root, name)}")
            sections += _chapter(root, name, guide["chapters"][name])
    return {"overview": table(["week", "theme", "chapters", "hours"], rows), "weeks": "\n\n".join(sections)}


def _chapter(root: Path, name: str, entry: dict) -> list[str]:
    """Return what the guide says of a chapter, and its exercises."""
    said = [f"**{what.capitalize()}.** {entry[what].strip()}" for what in ("goals", "prerequisites", "reading")]
    listed = "\n".join(f"- {exercise}" for exercise in exercises(root, name))
    return [*said, f"**Time.** About {entry['hours']} hours.", "**Exercises.**", listed]


def exercises(root: Path, chapter: str) -> list[Exercise]:
    """List a chapter's exercises."""
    found = EXERCISE.findall(source(root, chapter))
    return [Exercise(title, label, bool(problem), grade) for title, label, problem, grade in found]
