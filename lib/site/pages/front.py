"""What the front page takes: counts and findings from the claims, and a card for each chapter."""

from collections import Counter
from pathlib import Path

import yaml

from lib.claims import NEW, VERDICTS
from lib.markdown import table
from lib.site import documents
from lib.site.ledger import after_looking
from lib.site.pages.ledger import counts
from lib.site.toc import chapters, title

CARD = """\
::::{{grid-item-card}} {number}. {title}
:link: {name}
:link-type: doc
{about}
::::"""


def front(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the counts, the findings, and a card of sphinx-design for each chapter.

    Raises
    ------
    ValueError
        If a finding's claim is in no chapter any more, or has not the number that the finding takes.
    """
    guide = root / "book" / "course.yml"
    entries = yaml.safe_load(guide.read_text(encoding="utf-8"))["chapters"] if guide.is_file() else {}
    cards = []
    for number, name in enumerate(chapters(root), 1):
        about = entries.get(name, {}).get("about", "").strip()
        cards.append(CARD.format(number=number, title=title(root, name).split(":")[0], name=name, about=about))
    grid = ":::::{grid} 1 2 3 3\n:gutter: 2\n:class-container: chapter-cards\n\n" + "\n\n".join(cards) + "\n:::::"
    words = {"findings": findings(root, records), "cards": grid, "by_document": by_document(root, records)}
    words["looked"] = str(len(after_looking(root)))
    return counts(records) | words


def by_document(root: Path, records: list[dict]) -> str:
    """Return a table of the documents, each with its kind and how many of its statements have each verdict."""
    made_by = documents.by_claim(root, records)
    verdicts = [verdict for verdict in VERDICTS if verdict != NEW]
    count = Counter((made_by.get(record["id"]), record["verdict"]) for record in records)
    rows = []
    for name, kind in documents.kinds(root).items():
        numbers = [count[name, verdict] for verdict in verdicts]
        rows.append([name, kind, sum(numbers), *numbers])
    return table(["document", "kind", "statements", *verdicts], rows)


def findings(root: Path, records: list[dict]) -> str:
    """Return the findings of `book/findings.yml`, each with the number of its claim and a link."""
    path = root / "book" / "findings.yml"
    found = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
    known = {record["id"]: record for record in records}
    lines = []
    for finding in found:
        name = finding["claim"]
        if name not in known:
            raise ValueError(f"{path}: no chapter has the claim {name}; choose another finding or restore it")
        record = known[name]
        numbers = {part: float(record[part]) for part in ("measured", "printed") if record[part] is not None}
        try:
            said = finding["text"].format(**numbers)
        except (LookupError, ValueError) as problem:
            raise ValueError(f"{path}: the finding of {name} takes a number that its claim lacks: {problem}") from problem
        verdict = record["verdict"]
        link = f"[{{ref}}`{verdict.capitalize()} <{name.replace('/', '-')}>`]{{.{verdict.replace(' ', '-')}}}"
        lines.append(f"- {said} {link}")
    return "\n".join(lines)
