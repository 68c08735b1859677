"""The pages that are written, not typed: the ledger, the errata, the course guide, how to cite; and the front page's numbers.

Each function takes the book's root and the ledger (`book.ledger`) and returns a page in MyST. A page is written where `_toc.yml`
names it; a test holds the committed pages to the executed notebooks.
"""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import yaml

from lib import claims
from lib.checks import kind, text
from lib.claims import CORRECTED, NOT_REPRODUCED, REPRODUCED, VERDICTS
from lib.evidence import extremes, faults, margins, mutants, speed
from lib.toc import chapters, pages, source, title

BY_COMMAND = "This page is written from the executed notebooks by `python -m lib report`."
ADMONITION = re.compile(r"^([:`]{3,})\{admonition\} (Printed.*)\n(?::.*\n)*\n?([\s\S]*?)^\1$", re.MULTILINE)
EXERCISE = re.compile(r"^`{3,}\{exercise\} (.+)\n:label: (\S+)\n\n\*(.+?)\.\*", re.MULTILINE)
GRADES = ("Easy", "Medium", "Hard", "Research level")
FILTER = """\
```{raw} html
<form class="ledger-filter" hidden>
<label>Chapter <select name="chapter"><option value="">all</option></select></label>
<label>Verdict <select name="verdict"><option value="">all</option></select></label>
<label>Words <input name="words" type="search"></label>
<output aria-live="polite"></output>
</form>
<script defer src="../_static/ledger.js"></script>
```"""


def generated(root: Path, records: list[dict]) -> dict[str, str]:
    """Write every page of `WRITTEN` and `MEASURED` that `_toc.yml` names; return the texts by file name."""
    named = pages(root)
    from_claims = {f"{page}.md": WRITTEN[page](root, records) for page in named if page in WRITTEN}
    return from_claims | {f"{page}.md": MEASURED[page](root) for page in named if page in MEASURED}


def what_replicates(root: Path, records: list[dict]) -> str:
    """Write the ledger, chapter by chapter, each row linked to its cell; a script filters it where there is JavaScript."""
    kind("root", root, Path)
    parts = [
        "# What replicates",
        f"{summary(records)} Each links to the cell that checks it. {BY_COMMAND}",
        FILTER,
    ]
    for chapter, rows in _by_chapter(records).items():
        parts += [f"## {title(root, chapter)}", claims.as_table(map(_shown, rows), _link)]
    return "\n\n".join(parts) + "\n"


def _shown(row: dict) -> dict:
    """Colour the verdict, and say what was seen instead."""
    verdict = row["verdict"]
    statement = f"{row['statement']}. Instead: {row['why']}" if row["why"] else row["statement"]
    return row | {"statement": statement, "verdict": f"[{verdict}]{{.{verdict.replace(' ', '-')}}}"}


def summary(records: list[dict]) -> str:
    """Count the claims by verdict, in a sentence."""
    count = Counter(record["verdict"] for record in records)
    return (
        f"Of {len(records)} claims, {count[REPRODUCED]} are reproduced, {count[CORRECTED]} are corrected (the source is wrong,"
        f" our statement holds), and {count[NOT_REPRODUCED]} are not reproduced."
    )


def errata(root: Path, records: list[dict]) -> str:
    """Write what is wrong in the documents, as printed and as it should be, with the cells that show it."""
    kind("root", root, Path)
    corrected = _by_chapter([record for record in records if record["verdict"] == CORRECTED])
    count = sum(map(len, corrected.values()))
    parts = [
        "# Errata",
        f"What we found wrong in the four documents and in the code that goes with them: {count} statements that fail their own"
        " bound as printed, while the corrected ones hold. *As printed* is the number to which the printed statement leads,"
        " *measured* the number for ours; both are computed in the cell that the first column links to."
        f" {BY_COMMAND}",
    ]
    for chapter in chapters(root):
        notes = ADMONITION.findall(source(root, chapter))
        rows = corrected.get(chapter, [])
        if notes or rows:
            parts.append(f"## {title(root, chapter)}")
        for _, heading, note in notes:
            lead = "" if heading == "Printed and true" else f"**{heading}** "
            parts.append("> " + (lead + note.strip()).replace("\n", "\n> "))
        if rows:
            parts.append(_errata_table(rows))
    return "\n\n".join(parts) + "\n"


def _errata_table(rows: list[dict]) -> str:
    lines = ["| place | what holds | bound | as printed | measured |", "|---|---|---|---|---|"]
    for row in rows:
        numbers = [f"{float(row[name]):.3g}" for name in ("printed", "measured")]
        place = f"{{ref}}`{row['source']} <{row['id'].replace('/', '-')}>`"
        lines.append("| " + " | ".join([place, row["statement"].replace("|", "\\|"), row["expected"], *numbers]) + " |")
    return "\n".join(lines)


def cite(root: Path, records: list[dict]) -> str:
    """Write how to cite the book, from `CITATION.cff`: BibTeX, APA and the licences."""
    from cffconvert import Citation  # slow to import, and only this page needs it

    kind("root", root, Path)
    cff = (root / "CITATION.cff").read_text(encoding="utf-8")
    citation, facts = Citation(cff), yaml.safe_load(cff)
    bibtex = citation.as_bibtex(reference="executable_learning_dynamics").strip()
    for author in facts["authors"]:
        if "name" in author:  # no person, so BibTeX must not look for a surname
            bibtex = bibtex.replace(author["name"], f"{{{author['name']}}}")
    bibtex = bibtex.replace("\nyear", f"\nnote = {{Version {facts['version']}}},\nyear")
    return (
        "\n\n".join(
            [
                "# How to cite",
                f"This is version {facts['version']}, released on {facts['date-released']}. What follows is written from the file"
                " `CITATION.cff` of the repository by `python -m lib report`; reference managers read the file itself.",
                "## BibTeX",
                f"```bibtex\n{bibtex}\n```",
                "## APA",
                f"```text\n{citation.as_apalike().strip()}\n```",
                "## One chapter or one claim",
                "Name the chapter and the version: numbers of equations and figures may change between versions. A claim"
                " is cited best by its name, which does not change: it stands in the first column of {doc}`what_replicates`,"
                " which links to the cell. Say at which profile you ran it; the line that ends each chapter has profile, device,"
                " seed and the versions of the packages.",
                "If you use a result of one of the four documents, cite the document, too: {doc}`references`.",
                "## Licences",
                "The code is under the MIT licence, the text and the figures are under CC BY 4.0: copy, change and teach them and"
                " say where they come from.",
            ]
        )
        + "\n"
    )


def course(root: Path, records: list[dict]) -> str:
    """Write the course guide from `book/course.yml`: what it says of each chapter, and the exercises of the chapter."""
    kind("root", root, Path)
    guide, known = yaml.safe_load((root / "book" / "course.yml").read_text(encoding="utf-8")), chapters(root)
    weeks = [week | {"chapters": [name for name in week["chapters"] if name in known]} for week in guide["weeks"]]
    weeks = [week for week in weeks if week["chapters"]]
    overview = ["| week | theme | chapters | hours |", "|---|---|---|---|"]
    parts = []
    for number, week in enumerate(weeks, start=1):
        links = ", ".join(f"{{doc}}`{name}`" for name in week["chapters"])
        hours = sum(guide["chapters"][name]["hours"] for name in week["chapters"])
        overview.append(f"| {number} | {week['title']} | {links} | {hours} |")
        parts += [f"## Week {number}: {week['title']}", week["text"].strip()]
        for chapter in week["chapters"]:
            entry = guide["chapters"][chapter]
            parts.append(f"### {title(root, chapter)}" if len(week["chapters"]) > 1 else f"Chapter: {{doc}}`{chapter}`.")
            parts += [f"**{name.capitalize()}.** {entry[name].strip()}" for name in ("goals", "prerequisites", "reading")]
            parts.append(f"**Time.** About {entry['hours']} hours.")
            parts.append("**Exercises.**\n\n" + _exercises(root, chapter))
    return "\n\n".join(["# Course guide", guide["opening"].strip(), "\n".join(overview), *parts, guide["closing"].strip()]) + "\n"


def exercises(root: Path, chapter: str) -> list[tuple[str, str, str]]:
    """List a chapter's exercises: title, label and grade, one of `GRADES`."""
    text(chapter=chapter)
    return EXERCISE.findall(source(root, chapter))


def _exercises(root: Path, chapter: str) -> str:
    return "\n".join(f"- {{ref}}`{name} <{label}>` ({grade.lower()})" for name, label, grade in exercises(root, chapter))


def substitutions(root: Path, records: list[dict]) -> dict[str, str]:
    """Return what the front page takes from the ledger: `claims`, the count of each verdict, `first_chapter`, `chapter_list`."""
    kind("root", root, Path)
    count = Counter(record["verdict"] for record in records)
    guide = root / "book" / "course.yml"
    entries = yaml.safe_load(guide.read_text(encoding="utf-8"))["chapters"] if guide.is_file() else {}
    lines = []
    for chapter, rows in _by_chapter(records).items():
        tally = Counter(row["verdict"] for row in rows)
        verdicts = ", ".join(f"{tally[verdict]} {verdict}" for verdict in VERDICTS if tally[verdict])
        about = entries.get(chapter, {}).get("about", "").strip()
        lines.append(f"- {{doc}}`/book/{chapter}`. {about} *{verdicts}.*")
    numbers = {verdict.replace(" ", "_"): str(count[verdict]) for verdict in VERDICTS}
    first = f"{{doc}}`/book/{chapters(root)[0]}`"
    return {"claims": str(len(records)), **numbers, "first_chapter": first, "chapter_list": "\n".join(lines)}


def _by_chapter(records: list[dict]) -> dict[str, list[dict]]:
    groups: dict[str, list[dict]] = {}
    for record in records:
        groups.setdefault(record["chapter"], []).append(record)
    return groups


def _link(record: dict) -> str:
    chapter, name = record["id"].split("/")
    return f"{{ref}}`{name} <{chapter}-{name}>`"


WRITTEN: dict[str, Callable[[Path, list[dict]], str]] = {
    "book/what_replicates": what_replicates,
    "book/errata": errata,
    "book/course": course,
    "book/cite": cite,
}
MEASURED: dict[str, Callable[[Path], str]] = {
    "book/speed": speed.page,
    "book/margins": margins.page,
    "book/extremes": extremes.page,
    "book/mutants": mutants.page,
    "book/faults": faults.page,
}
