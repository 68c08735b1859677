"""Which statements of earlier cells a cell needs, so that a page can run it alone.

They are found by names, backwards: a statement is needed if it gives a value to a name that is
wanted, and then what it takes is wanted, too. Of a generator of random numbers, all earlier draws
are needed.
"""

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import count
from typing import NamedTuple

from lib.site.slices import changed_by, names_of

GENERATOR = re.compile(r"\b(?:default_rng|RandomState|Generator)\(")
Place = tuple[int, int]  # the number of a cell, and of a statement in it


class Statement(NamedTuple):
    """A statement at the top of a cell, and its names."""

    place: Place
    text: str
    taken: set[str]
    bound: set[str]  # for sure
    changed: set[str]  # in place, or perhaps bound
    later: set[str]  # taken when a function is called
    always: bool  # a call beside imports, like `style.use()`
    lasting: bool  # an import or a generator: later changes do not matter

    @property
    def given(self) -> set[str]:
        """The names to which it gives another value."""
        return self.bound | self.changed


def statements(cells: Sequence[str]) -> list[Statement]:
    """Return the statements of a notebook's cells, in order; a cell that is no Python has none."""
    found = []
    imported: set[str] = set()
    draws: dict[str, set[str]] = {}  # a generator, or a function that draws, to the generators
    for number, source in enumerate(cells):
        body = parsed(source)
        imports = [part for part in body if isinstance(part, ast.Import | ast.ImportFrom)]
        for position, part in enumerate(body):
            text = ast.unparse(part)
            bound: set[str] = set()
            taken, mentioned = names_of(part, bound)
            generator = isinstance(part, ast.Assign) and bool(GENERATOR.search(text))
            drawn = {one for name in taken for one in draws.get(name, ())}
            if part in imports:
                imported |= bound
            if isinstance(part, ast.FunctionDef):
                draws[part.name] = drawn
                drawn = set()
            elif generator:
                draws |= {name: {name} for name in bound}
            call = isinstance(part, ast.Expr) and isinstance(part.value, ast.Call)
            inner = any(isinstance(one, ast.FunctionDef | ast.Lambda) for one in ast.walk(part))
            found.append(
                Statement(
                    place=(number, position),
                    text=text,
                    taken=taken | drawn,
                    bound=bound,
                    changed=(changed_by(part) - imported) | (mentioned - bound) | drawn,
                    later=taken - draws.keys() if inner else set(),
                    always=call and bool(imports),
                    lasting=generator or part in imports,
                )
            )
    return found


def parsed(source: str) -> list[ast.stmt]:
    """Return the statements of a cell; none if it is no Python, as its kernel will say."""
    try:
        return ast.parse(source).body
    except SyntaxError:
        return []


def needed(earlier: Sequence[Statement], cell: Iterable[Statement]) -> list[Statement]:
    """Return those of the earlier statements that the statements of a cell need, in order."""
    wanted: set[str] = set()
    own: set[str] = set()
    for one in cell:
        wanted |= one.taken - own
        own |= one.bound
    chosen: list[Statement] = []
    later: set[str] = set()
    while True:  # until no function wants a name that is bound behind it
        before = chosen
        chosen = _slice(earlier, wanted | later, before)
        if chosen == before:
            return chosen
        later = set().union(*(one.later for one in chosen))


def _slice(
    earlier: Sequence[Statement], wanted: set[str], kept: Collection[Statement]
) -> list[Statement]:
    chosen = []
    for one in reversed(earlier):
        if one.always or one in kept or one.given & wanted:
            chosen.append(one)
            wanted = (wanted - one.bound) | one.taken
    return chosen[::-1]


class Session:
    """What has been run of a notebook in a kernel.

    Parameters
    ----------
    cells : the sources of its code cells
    """

    def __init__(self, cells: Sequence[str]) -> None:
        self._cells = list(cells)  # as the reader has changed them
        self._clock = count(1)
        self._times: dict[Place, int] = {}  # when a statement was run
        self._givers: dict[str, Place] = {}  # which statement gave a name its value

    def needed(self, number: int, source: str) -> list[Statement]:
        """Return what must be run before a cell, whose source is now `source`.

        What has been run is not repeated, unless something that it takes was given a value since,
        or its own names were, by a statement that does not stand between it and the cell.
        """
        everything = statements([*self._cells[:number], source])
        earlier = [one for one in everything if one.place[0] < number]
        chosen = needed(earlier, everything[len(earlier) :])
        lasting = {name for one in chosen if one.lasting for name in one.bound}
        givers = {name: one.place for one in chosen for name in one.given - lasting}
        again = {name for name, place in givers.items() if self._givers.get(name, place) != place}
        run = []
        for one in chosen:
            ran = self._times.get(one.place, 0)
            sources = {self._givers.get(name, one.place) for name in one.taken - lasting}
            newer = any(self._times.get(by, 0) > ran for by in sources if by < one.place)
            if not ran or newer or again & (one.taken | one.given):
                run.append(one)
                again |= one.given - lasting
        return run

    def note(self, run: Iterable[Statement]) -> None:
        """Remember that statements have been run, in this order."""
        for one in run:
            self._times[one.place] = next(self._clock)
            self._givers |= dict.fromkeys(one.given, one.place)

    def enter(self, number: int, source: str) -> None:
        """Remember that the reader has run a cell with this source."""
        if parsed(source):
            self._cells[number] = source
            self._times = {p: time for p, time in self._times.items() if p[0] != number}
            run = statements(self._cells[: number + 1])
            self.note(one for one in run if one.place[0] == number)
