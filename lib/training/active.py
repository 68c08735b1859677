"""The active set: the members of a stack that still train.

Members that have stopped or diverged are dropped from the stack, so that they cost no time. Losses, metrics and observers still
get all members at each record, the dropped ones as they were last seen.
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


class ActiveSet:
    """A stack, and which of the members that it began with are active."""

    def __init__(self, stack: Stack, network: Network, test: Data | None) -> None:
        self.stack, self.network, self.test = stack, network, test
        self.active = np.ones(stack.members, bool)
        self.inside = np.arange(stack.members)  # the member in each row of the stack
        self.last: Seen | None = None

    @torch.no_grad()
    def look(self, layers: tuple[int, ...]) -> Seen:
        """Return what is seen of all members: of those that were dropped, what was last seen."""
        losses, parameters, outputs, hidden = self.stack.look(layers)
        answers = None if self.test is None else call(self.network, parameters, self.test, ())[0]
        seen = Seen(losses, parameters, outputs, hidden, answers)
        if not self.active.all():
            rows = np.flatnonzero(self.active[self.inside])  # without those that stay for the arithmetic only
            seen = _join(self.last, seen, *(torch.from_numpy(at).to(losses.device) for at in (rows, self.inside[rows])))
        self.last = seen
        return seen

    def keep(self, active: np.ndarray) -> None:
        """Drop from the stack all members but those in the mask (members,); it never has fewer than `stack.least`."""
        if active.any() and np.any(self.active & ~active):
            rows = np.argsort(~active[self.inside], kind="stable")
            rows = np.sort(rows[: max(active.sum(), min(self.stack.least, len(rows)))])
            self.inside, at = self.inside[rows], torch.from_numpy(rows).to(self.last.losses.device)
            self.stack.keep(at)
            self.test = self.test and self.test.part(at)
        self.last = None if active.all() else self.last
        self.active = active


def _join(before: Any, now: Any, rows: Tensor, places: Tensor) -> Any:
    """Return what was seen before, with the given rows of what is seen now in these places."""
    if isinstance(now, dict):
        return {name: _join(before[name], value, rows, places) for name, value in now.items()}
    if isinstance(now, Seen):
        return Seen(*(_join(*pair, rows, places) for pair in zip(before, now, strict=True)))
    if isinstance(now, list):
        return [_join(*pair, rows, places) for pair in zip(before, now, strict=True)]
    return None if now is None else before.index_copy(0, places, now[rows])
