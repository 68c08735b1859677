"""The course guide and the syllabus: weeks from `book/course.yml`, exercises from the chapters."""

from functools import cache

from lib.markdown import sentence, table
from lib.site import lists, teaching
from lib.site.book import Book
from lib.site.myst import Directive, exercises


@cache
def guide(book: Book) -> dict:
    """Read `book/course.yml`: the weeks, and what is said of each chapter; empty without one."""
    return {"weeks": [], "chapters": {}} | lists.read(book.root, "course")


def course(book: Book) -> dict[str, str]:
    """Return the number of weeks, their table, and a section for each."""
    entries = guide(book)["chapters"]
    rows = []
    sections = []
    for number, week in enumerate(guide(book)["weeks"], start=1):
        names = week["chapters"]
        links = ", ".join(f"{{doc}}`{name}`" for name in names)
        rows.append([number, week["title"], links, sum(entries[name]["hours"] for name in names)])
        sections += [f"## Week {number}: {week['title']}", week["text"].strip()]
        for name in names:
            sections += [f"Chapter: {{doc}}`{name}`.", *_chapter(book, name, entries[name])]
    overview = table(["week", "theme", "chapters", "hours"], rows)
    return {"count": str(len(rows)), "overview": overview, "weeks": "\n\n".join(sections)}


def syllabus(book: Book) -> dict[str, str]:
    """Return a table of the weeks: their themes, what to read before, and what to teach with."""
    rows = []
    for number, week in enumerate(guide(book)["weeks"], start=1):
        theme = f"**{week['title']}.** {week['text']}"
        for name in week["chapters"]:
            links = teaching.links(book, name, "book/syllabus")
            rows.append([number, theme, links, to_read(book, name)])
    return {"weeks": table(["week", "theme", "materials", "to read"], rows)}


def to_read(book: Book, name: str) -> str:
    """Return what to read before a lecture and after it, from the end of its plan."""
    return book.text(f"{name}/plan").partition("## What to read\n\n")[2].strip()


def _chapter(book: Book, name: str, entry: dict) -> list[str]:
    """Return what the guide says of a chapter, and its exercises."""
    said = [
        f"**Goals.** {entry['goals'].strip()}",
        f"**Prerequisites.** {entry['prerequisites'].strip()}",
        f"**To read.** {to_read(book, name)}",
    ]
    listed = "\n".join(f"- {_line(exercise)}" for exercise in exercises(book, name))
    materials = f"**Materials.** {teaching.links(book, name, 'book/course')}."
    return [*said, f"**Time.** About {entry['hours']} hours.", materials, "**Exercises.**", listed]


def _line(exercise: Directive) -> str:
    """Write an exercise's title and grade; a problem has its solution elsewhere."""
    said = grade(exercise).lower()
    if "problem" in exercise.options.get("class", ""):
        said += "; problem: its solution is not on this site"
    return f"{{ref}}`{sentence(exercise.argument)} <{exercise.options['label']}>` ({said})"


def grade(exercise: Directive) -> str:
    """Return the grade of an exercise, with which its text begins, as in `*Hard.*`."""
    return exercise.body[1:].partition(".*")[0]
