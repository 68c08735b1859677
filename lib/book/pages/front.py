"""What the front page takes: counts and findings from the claims, cards and a line for each chapter."""

from collections import Counter
from pathlib import Path

import yaml

from lib.book import thumbnails
from lib.book.pages.ledger import by_chapter, counts
from lib.book.toc import chapters
from lib.claims import VERDICTS


def front(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the counts, the findings and the claim of the first, the first chapter, the cards, and what came of each chapter.

    Raises
    ------
    ValueError
        If a finding's claim is in no chapter any more, or has not the number that the finding takes.
    """
    guide = root / "book" / "course.yml"
    entries = yaml.safe_load(guide.read_text(encoding="utf-8"))["chapters"] if guide.is_file() else {}
    lines = []
    for chapter, rows in by_chapter(records).items():
        tally = Counter(row["verdict"] for row in rows)
        verdicts = ", ".join(f"{tally[verdict]} {verdict}" for verdict in VERDICTS if tally[verdict])
        about = entries.get(chapter, {}).get("about", "").strip()
        lines.append(f"- {{doc}}`/book/{chapter}`. {about} *{verdicts}.*")
    return (
        counts(records)
        | findings(root, records)
        | {
            "start": f"[{{doc}}`Start reading </book/{chapters(root)[0]}>`]{{.start}}",
            "cards": f"```{{raw}} html\n{thumbnails.cards(root)}\n```",
            "chapters": "\n".join(lines),
        }
    )


def findings(root: Path, records: list[dict]) -> dict[str, str]:
    """Return the findings of `book/findings.yml`, each with the number of its claim and a link, and the first one's claim."""
    path = root / "book" / "findings.yml"
    found = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
    known = {record["id"]: record for record in records}
    lines = []
    for finding in found:
        name = finding["claim"]
        if name not in known:
            raise ValueError(f"{path}: no chapter has the claim {name}; take another finding, or bring it back")
        record = known[name]
        numbers = {part: float(record[part]) for part in ("measured", "printed") if record[part] is not None}
        try:
            said = finding["text"].format(**numbers)
        except (LookupError, ValueError) as problem:
            raise ValueError(f"{path}: the finding of {name} takes a number that its claim has not: {problem}") from problem
        verdict = record["verdict"]
        link = f"[{{ref}}`{verdict.capitalize()} <{name.replace('/', '-')}>`]{{.{verdict.replace(' ', '-')}}}"
        lines.append(f"- {said} {link}")
    box = f"```{{claim-box}} {found[0]['claim']}\n```" if found else ""
    return {"findings": "\n".join(lines), "claim": box}
