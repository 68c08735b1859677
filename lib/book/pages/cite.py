"""How to cite the book, from `CITATION.cff`."""

from pathlib import Path

import yaml


def cite(root: Path) -> dict[str, str]:
    """Return version and date, and the citation as BibTeX and in the style of APA, each as a block of code."""
    facts = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    version, date = str(facts["version"]), str(facts["date-released"])
    year, month, _ = date.split("-")
    people = facts["authors"]
    authors = [one.get("name") or f"{one['given-names']} {one['family-names']}" for one in people]
    braced = [f"{{{name}}}" if "name" in one else name for name, one in zip(authors, people, strict=True)]  # it has no surname
    fields = {
        "author": " and ".join(braced),
        "month": month,
        "title": facts["title"],
        "note": f"Version {version}",
        "year": year,
    }
    lines = ",\n".join(f"{name} = {{{value}}}" for name, value in fields.items())
    return {
        "version": version,
        "date": date,
        "bibtex": f"```bibtex\n@misc{{executable_learning_dynamics,\n{lines}\n}}\n```",
        "apa": f"```text\n{', '.join(authors)} ({year}). {facts['title']} (version {version}).\n```",
    }
