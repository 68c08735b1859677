"""Members that leave while the others go on: who still trains, and at each look all of them, side by side.

Who has stopped or diverged is taken out of the stack, so that no time goes into it. At each record the others are joined by
those that have left, as they were last seen: losses, metrics and observers always get all members, each in its place.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lib.networks import Network
from lib.training import descent
from lib.training.descent import Data, call

Stack = descent.Stack  # or that of another path, which has the same methods


class Seen(NamedTuple):
    """What a look shows, each with a member axis."""

    losses: Tensor
    parameters: dict[str, Tensor]
    outputs: Tensor
    hidden: list[Tensor]
    answers: Tensor | None  # outputs at the test points


class Company:
    """A stack and all members that it began with."""

    def __init__(self, stack: Stack, network: Network, test: Data | None) -> None:
        self.stack, self.network, self.test = stack, network, test
        self.going = np.ones(stack.members, bool)
        self.inside = np.arange(stack.members)  # the member in each row of the stack
        self.last: Seen | None = None

    @torch.no_grad()
    def look(self, layers: tuple[int, ...]) -> Seen:
        """Return what is seen of all members: of those that have left, what was last seen."""
        losses, parameters, outputs, hidden = self.stack.look(layers)
        answers = None if self.test is None else call(self.network, parameters, self.test, ())[0]
        seen = Seen(losses, parameters, outputs, hidden, answers)
        if not self.going.all():
            rows = np.flatnonzero(self.going[self.inside])  # but for one that only keeps company
            seen = _join(self.last, seen, *(torch.from_numpy(at).to(losses.device) for at in (rows, self.inside[rows])))
        self.last = seen
        return seen

    def keep(self, going: np.ndarray) -> None:
        """Take out of the stack whom the mask (members,) does not name; some may stay for company, unseen."""
        if going.any() and np.any(self.going & ~going):
            rows = np.argsort(~going[self.inside], kind="stable")
            rows = np.sort(rows[: max(going.sum(), min(self.stack.least, len(rows)))])
            self.inside, at = self.inside[rows], torch.from_numpy(rows).to(self.last.losses.device)
            self.stack.keep(at)
            self.test = self.test and self.test.part(at)
        self.last = None if going.all() else self.last
        self.going = going


def _join(before: Any, now: Any, rows: Tensor, places: Tensor) -> Any:
    """Return what was seen before, with the given rows of what is seen now in these places."""
    if isinstance(now, dict):
        return {name: _join(before[name], value, rows, places) for name, value in now.items()}
    if isinstance(now, Seen):
        return Seen(*(_join(*pair, rows, places) for pair in zip(before, now, strict=True)))
    if isinstance(now, list):
        return [_join(*pair, rows, places) for pair in zip(before, now, strict=True)]
    return None if now is None else before.index_copy(0, places, now[rows])
