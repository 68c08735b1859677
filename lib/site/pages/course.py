"""The course guide and the syllabus: the weeks from `book/course.yml`, the exercises from the chapters."""

from pathlib import Path
from typing import NamedTuple

import yaml

from lib.markdown import sentence, table
from lib.site import myst, teaching
from lib.site.toc import chapters, title

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


def weeks(root: Path) -> tuple[list[dict], dict[str, dict]]:
    """Return the weeks, without chapters that the book does not have, and what the guide says of each chapter."""
    guide, known = yaml.safe_load((root / "book" / "course.yml").read_text(encoding="utf-8")), chapters(root)
    there = [week | {"chapters": [name for name in week["chapters"] if name in known]} for week in guide["weeks"]]
    return [week for week in there if week["chapters"]], guide["chapters"]


def course(root: Path) -> dict[str, str]:
    """Return the number of weeks, their table, and a section for each."""
    rows, sections = [], []
    listed, entries = weeks(root)
    for number, week in enumerate(listed, start=1):
        links = ", ".join(f"{{doc}}`{name}`" for name in week["chapters"])
        hours = sum(entries[name]["hours"] for name in week["chapters"])
        rows.append([number, week["title"], links, hours])
        sections += [f"## Week {number}: {week['title']}", week["text"].strip()]
        for name in week["chapters"]:
            alone = len(week["chapters"]) == 1
            sections.append(f"Chapter: {{doc}}`{name}`." if alone else f"### {title(root, name)}")
            sections += _chapter(root, name, entries[name])
    count = str(len(listed))
    return {"count": count, "overview": table(["week", "theme", "chapters", "hours"], rows), "weeks": "\n\n".join(sections)}


def syllabus(root: Path) -> dict[str, str]:
    """Return a table of the weeks: what they are about, what to read before, and what there is to teach with."""
    listed, entries = weeks(root)
    rows = [
        [number, f"**{week['title']}.** {week['text']}", teaching.links(root, name, "book/syllabus"), entries[name]["reading"]]
        for number, week in enumerate(listed, start=1)
        for name in week["chapters"]
    ]
    return {"weeks": table(["week", "theme", "materials", "to read"], rows)}


def _chapter(root: Path, name: str, entry: dict) -> list[str]:
    """Return what the guide says of a chapter, and its exercises."""
    said = [f"**{what.capitalize()}.** {entry[what].strip()}" for what in ("goals", "prerequisites", "reading")]
    listed = "\n".join(f"- {exercise}" for exercise in exercises(root, name))
    there = f"**Materials.** {teaching.links(root, name, 'book/course')}."
    return [*said, f"**Time.** About {entry['hours']} hours.", there, "**Exercises.**", listed]


def exercises(root: Path, chapter: str) -> list[Exercise]:
    """List a chapter's exercises."""
    return [
        Exercise(one.argument, one.options["label"], "problem" in one.options.get("class", ""), one.body[1:].partition(".*")[0])
        for one in myst.directives(root, chapter, "exercise")
    ]
