"""The active set: the members of a stack that still train.

Members that have stopped or diverged are dropped from the stack, so that they cost no time. Losses,
metrics and observers still get all members at each record, the dropped ones as they were last seen.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lib.networks import Network, Observe
from lib.networks.base import Layers, Parameters
from lib.training import descent
from lib.training.descent import Data
from lib.training.losses import Loss

Stack = descent.Stack  # or that of another path, which has the same methods


class Seen(NamedTuple):
    """What a look shows, each with a member axis."""

    parameters: Parameters
    outputs: Tensor
    hidden: list[Tensor]
    answers: Tensor | None  # outputs at the test points


class ActiveSet:
    """A stack, which of the members that it began with are
    active, and what is read off all of them.

    Measured are `measures` by name on the targets of `data` and `test`, and the observables of
    `observe`.
    """

    def __init__(
        self,
        stack: Stack,
        network: Network,
        data: Data,
        test: Data | None,
        measures: Mapping[str, Loss],
        observe: Observe | None,
    ) -> None:
        self.stack = stack
        self.network = network
        self.data = data
        self.test = self.tested = test  # of all members, and of those inside
        self.measures = measures
        self.observe = observe
        self.active = np.ones(stack.members, bool)
        self.inside = np.arange(stack.members)  # the member in each row of the stack
        self.last: Seen | None = None

    def measure(self, layers: Layers) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        """Return losses, metrics and observables of all
        members by name, with their further dimensions.
        """
        seen = self._look(layers)
        found = {
            name: ((), measure(seen.outputs, self.data.targets))
            for name, measure in self.measures.items()
        }
        if self.test is not None:
            for name, measure in self.measures.items():
                assert seen.answers is not None
                found[f"test_{name}"] = (), measure(seen.answers, self.test.targets)
        if self.observe:
            # ty: ignore[unsupported-operator] losses have no dimensions, observables may
            found |= self.observe(seen.parameters, seen.outputs, seen.hidden)
        return {
            name: (dims, value.detach().cpu().numpy().copy())
            for name, (dims, value) in found.items()
        }

    @torch.no_grad()
    def _look(self, layers: Layers) -> Seen:
        """Return what is seen of all members: of those that were dropped, what was last seen."""
        parameters, outputs, hidden = self.stack.look(layers)
        answers = None
        if self.tested is not None:
            answers, _ = descent.call(self.network, parameters, self.tested, ())
        seen = Seen(parameters, outputs, hidden, answers)
        if not self.active.all():
            rows = np.flatnonzero(
                self.active[self.inside]
            )  # without those that stay for the arithmetic only
            places = torch.from_numpy(self.inside[rows]).to(outputs.device)
            assert self.last is not None  # all members were active at first
            seen = _join(self.last, seen, torch.from_numpy(rows).to(outputs.device), places)
        self.last = seen
        return seen

    def keep(self, active: np.ndarray) -> None:
        """Drop from the stack all members but those in the mask
        (members,); it never has fewer than `stack.least`.
        """
        if active.any() and np.any(self.active & ~active):
            rows = np.argsort(~active[self.inside], kind="stable")
            rows = np.sort(rows[: max(active.sum(), min(self.stack.least, len(rows)))])
            self.inside = self.inside[rows]
            assert self.last is not None  # by what was measured they were chosen
            rows = torch.from_numpy(rows).to(self.last.outputs.device)
            self.stack.keep(rows)
            self.tested = self.tested and self.tested.part(rows)
        self.active = active


def _join(before: Seen, now: Seen, rows: Tensor, places: Tensor) -> Seen:
    """Return what was seen before, with the given rows of what is seen now in these places."""

    def join(old: Tensor | None, new: Tensor) -> Tensor:
        assert old is not None
        return old.index_copy(0, places, new[rows])

    return Seen(
        {name: join(before.parameters[name], value) for name, value in now.parameters.items()},
        join(before.outputs, now.outputs),
        [join(old, new) for old, new in zip(before.hidden, now.hidden, strict=True)],
        None if now.answers is None else join(before.answers, now.answers),
    )
