"""How to cite the book."""

from pathlib import Path

from lib.site import citing


def cite(root: Path) -> dict[str, str]:
    """Return version and date, and the citation as BibTeX and in the style of APA, each as a block of code."""
    citation = citing.read(root)
    apa = f"{', '.join(citation.authors)} ({citation.date[:4]}). {citation.title} (version {citation.version})."
    return {
        "version": citation.version,
        "date": citation.date,
        "bibtex": f"```bibtex\n{citation.bibtex()}\n```",
        "apa": f"```text\n{apa}\n```",
    }
