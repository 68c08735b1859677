"""The answers to the quizzes of the teaching plans, from `book/quiz/NAME.md`, for lecturers."""

from pathlib import Path

from lib import files
from lib.site.myst import References
from lib.site.toc import beside


def write(root: Path, folder: Path) -> list[Path]:
    """Write the answers of all chapters into a folder, as Markdown for Jupyter; return the files."""
    references, written = References(root), []
    for name, answers in beside(root, "quiz").items():
        written.append(folder / f"{name}.md")
        files.write(written[-1], references.write(answers.read_text(encoding="utf-8")) + "\n")
    return written
