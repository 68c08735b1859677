"""Text and tables in Markdown."""

import re
from collections.abc import Iterable, Sequence


def escape(text: str) -> str:
    """Write a text so that Markdown and HTML show it as it is, but for formulas between dollars, which are typeset."""
    parts = re.split(r"(\$.+?\$)", text)
    return "".join(part if number % 2 else re.sub(r"([\\`*_~$&<\[\]])", r"\\\1", part) for number, part in enumerate(parts))


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table; a bar or the end of a line within a cell does not end the cell."""
    lines = [_line(heads), "|" + "---|" * len(heads), *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(" ".join(str(cell).split()).replace("|", "\\|") for cell in cells) + " |"
