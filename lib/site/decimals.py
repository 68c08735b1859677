"""The decimals and the percentages that are typed into a page, each with what it may stand for."""

import re
from typing import NamedTuple

DECIMAL = re.compile(r"(?<![\d.])\d+(?:,\d{3})*(?:\.\d+(?!\d|\.\d)|(?= ?\\?%))")
PERCENT = re.compile(r"\s*\\?(?:%|per cent)")
POWER = re.compile(r"(?:\s*\\(?:times|cdot)\s*10\^\{?|e)(-?\d+)")

HEADER = re.compile(r"\A---\n.*?^---$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"^(`{3,})(?:\{code-cell\}|\w).*?^\1$", re.DOTALL | re.MULTILINE)
SPOKEN = re.compile(r"    (?:caption|alt): ")  # what a code cell says of its figure
LINK = re.compile(r"\{[\w:]+\}`([^`<\n]*)<[^`\n]*`|\]\([^()\n]*\)|`[^`\n]*`")
TAG = re.compile(r"</?\w+(?: [\w-]+=\"[^\"]*\")*\s*/?>")


class Decimal(NamedTuple):
    """A decimal or a percentage: its line, how it is typed, and what may multiply it."""

    line: int
    text: str
    scales: tuple[float, ...]
    paragraph: str

    def value(self) -> float:
        """Return the number."""
        return float(self.text.replace(",", ""))

    def fits(self, number: float, exact: bool = False) -> bool:
        """Say whether a number is this decimal but for its sign, and rounded unless it is exact."""
        places = len(self.text.partition(".")[2])
        error = min(abs(abs(number) / scale - self.value()) for scale in self.scales)
        return error <= 0.5 * 10.0**-places * (1e-6 if exact else 1 + 1e-9)


def decimals(text: str) -> list[Decimal]:
    """Find the decimals and the percentages in the source of a page.

    They are those of its words, formulas, captions and alt texts, and not those of code,
    addresses and drawings.
    """
    found = []
    lines = CODE.sub(_spoken, HEADER.sub(_spoken, text)).split("\n")
    for number, line in enumerate(lines, start=1):
        words = TAG.sub(" ", LINK.sub(r" \1 ", line))
        for match in DECIMAL.finditer(words):
            scales = (1.0,)
            if PERCENT.match(words, match.end()):
                scales = (0.01, 1.0)  # printed as a share, or as per cent
            elif power := POWER.match(words, match.end()):
                scales = (10.0 ** int(power[1]),)
            found.append(Decimal(number, match[0], scales, line))
    return found


def _spoken(match: re.Match) -> str:
    """Keep the caption and the alt text of a code cell, each in its line."""
    lines = match[0].split("\n")
    return "\n".join(line if SPOKEN.match(line) else "" for line in lines)
