"""Members that descend together in one torch program: data, how a
step is taken, gradients by automatic differentiation.

This is how `lib.training` computes wherever no special path fits; the same numbers as those paths,
to rounding.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lib.checks import alike, generator, number, numbers, one_of, whole
from lib.networks import Dense, Network
from lib.networks.base import Answer, Layers, Parameters
from lib.training import by_hand
from lib.training.losses import Loss, half_squared_error
from lib.training.update import Update

Draw = Callable[[int, int], tuple[np.ndarray, np.ndarray]]
Schedule = Callable[[int], float]
OPTIMIZERS = ("sgd", "adam")


@dataclass(frozen=True)
class Data:
    """Points and targets, with a leading member axis if each member has its own."""

    inputs: Tensor
    targets: Tensor
    own: bool

    @property
    def points(self) -> int:
        """The number of points, of one member."""
        return self.inputs.shape[int(self.own)]

    def member(self, m: int | slice | Tensor) -> tuple[Tensor, Tensor]:
        """Return the points and targets of one member, or of some."""
        return (self.inputs[m], self.targets[m]) if self.own else (self.inputs, self.targets)

    def part(self, members: slice | Tensor) -> "Data":
        """Keep some members."""
        return Data(*self.member(members), self.own)

    def batch(self, index: Tensor) -> "Data":
        """Take the points `index` (members, batch)."""
        if self.own:  # rows of all members in one table
            index = index + self.points * torch.arange(len(index), device=index.device)[:, None]
        inputs, targets = (
            (values.flatten(0, 1) if self.own else values)
            .index_select(0, index.flatten())
            .unflatten(0, index.shape)
            for values in (self.inputs, self.targets)
        )
        return Data(inputs, targets, True)


@dataclass(frozen=True)
class Method:
    """How the members descend."""

    optimizer: str
    momentum: float
    nesterov: bool
    betas: tuple[float, float]
    schedule: Schedule | None
    batch_size: int | None
    draw: Draw | None
    loss: Loss
    seed: ArrayLike  # one number, or (members,)

    def check(self, members: int, points: int) -> None:
        """Raise ValueError if something is malformed."""
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        if not 0 <= number("momentum", self.momentum) < 1 or (
            self.momentum and self.optimizer != "sgd"
        ):
            raise ValueError(f"momentum is {self.momentum}: want a number in [0, 1), with sgd only")
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov: want momentum, too")
        if numbers("betas", self.betas).shape != (2,) or not all(
            0 <= beta < 1 for beta in self.betas
        ):
            raise ValueError(f"betas are {self.betas}: want two numbers in [0, 1)")
        generator(self.seed)
        if np.shape(self.seed) not in ((), (members,)):
            raise ValueError(
                f"seed is {self.seed}: want one number, or one for each of {members} members"
            )
        if self.batch_size is not None:
            whole("batch_size", self.batch_size, 1, points)
        if self.batch_size is not None and self.draw is not None:
            raise ValueError("batch_size and draw: want one of them")

    def key(self, m: int) -> tuple[int, int]:
        """Return what a member's random numbers start from."""
        return (self.seed, m) if np.ndim(self.seed) == 0 else (self.seed[m], 0)

    def plain(self, points: int) -> bool:
        """Say whether this is full-batch gradient descent on
        the half squared error, at a constant rate.
        """
        full = self.batch_size in (None, points) and self.draw is None
        constant = self.optimizer == "sgd" and not self.momentum and self.schedule is None
        return constant and full and self.loss is half_squared_error

    def factor(self, step: int) -> float:
        """Return the factor of the learning rates at an update."""
        factor = 1.0 if self.schedule is None else float(self.schedule(step))
        if not 0 <= factor < np.inf:
            raise ValueError(
                f"schedule gives {factor} at update {step}: want a number of at least 0"
            )
        return factor


class Stack:
    """All members in one torch program; weights decay only if `decays` are given."""

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        data: Data,
        rates: Mapping[str, np.ndarray],
        method: Method,
        decays: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.network = network
        self.data = data
        self.method = method
        self.step = 0
        self.update = Update(parameters, rates, decays, method)
        like = next(iter(parameters.values()))
        on_cpu = like.device.type == "cpu"
        self.by_hand = (
            by_hand.Gradients(network, method.loss)
            if on_cpu and by_hand.fits(network, method.loss)
            else None
        )
        self.began = self.members = len(like)
        self.places = torch.arange(self.began, device=like.device)  # where those inside began
        self.orders: Tensor | None = None  # of the points, in this epoch
        # A CPU multiplies a single matrix in another order than each
        # of several, so the last member does not stay alone.
        self.least = 2 if network.broadcasts and on_cpu else 1

    @property
    def parameters(self) -> Parameters:
        """By name, (members, ...)."""
        return self.update.parameters

    def advance(self, steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            self._differentiate()
            self.update.take(self.step)
            self.step += 1

    def _differentiate(self) -> None:
        """Find the gradients of all parameters."""
        data = self._batch()
        gradients = self.update.gradients
        if self.by_hand:
            points = (
                values if data.own else values.unsqueeze(0)
                for values in (data.inputs, data.targets)
            )
            self.by_hand(self.parameters, *points, gradients.parts)
            return
        leaves = {name: value.detach().requires_grad_() for name, value in self.parameters.items()}
        outputs, _ = call(self.network, leaves, data, (), self._masks(data.points))
        total = self._losses(outputs, data).sum()  # members do not mix: each gets its own gradient
        found = torch.autograd.grad(total, list(leaves.values()))
        torch.cat([gradient.flatten() for gradient in found], out=gradients.flat)

    def _batch(self) -> Data:
        size, points = self.method.batch_size, self.data.points
        if self.method.draw is not None:
            return self._drawn()
        if size in (None, points):
            return self.data
        epoch, number = divmod(self.step, -(-points // size))
        if number == 0:
            streams = self._streams(epoch + 1)
            self.orders = torch.from_numpy(
                np.stack([rng.permutation(points) for rng in streams])
            ).to(self.places.device)
        assert self.orders is not None  # each epoch begins with number 0
        return self.data.batch(self.orders[:, number * size : (number + 1) * size])

    def _drawn(self) -> Data:
        assert self.method.draw is not None
        inputs, targets = zip(
            *(self.method.draw(m, self.step) for m in self.places.tolist()), strict=True
        )
        alike("draw", inputs, self.data.inputs.shape[1 + self.data.own :])
        alike("draw", targets, self.data.targets.shape[1 + self.data.own :])
        return Data(_stacked(inputs, self.data.inputs), _stacked(targets, self.data.targets), True)

    def _masks(self, points: int) -> Tensor | None:
        """Draw which units stay, for each member from a stream of its own."""
        if not getattr(self.network, "dropout", 0):
            return None
        assert isinstance(self.network, Dense)  # only these drop units
        masks = [self.network.masks(rng, points) for rng in self._streams(self.step, 1)]
        return _stacked(masks, next(iter(self.parameters.values())))

    def _streams(self, *key: int) -> list[np.random.Generator]:
        """Return the random numbers of each member under a key."""
        return [np.random.default_rng((*self.method.key(m), *key)) for m in self.places.tolist()]

    @torch.no_grad()
    def look(self, layers: Layers) -> tuple[Parameters, Tensor, list[Tensor]]:
        """Return the parameters, the outputs and the
        representations asked for, all with a member axis.
        """
        outputs, hidden = call(self.network, self.parameters, self.data, layers)
        return self.parameters, outputs, hidden

    @torch.no_grad()
    def keep(self, rows: Tensor) -> None:
        """Go on with the members in these rows (k,) alone;
        what `look` has shown stays as it was.
        """
        self.update.keep(rows)
        self.data = self.data.part(rows)
        self.places = self.places[rows]
        self.members = len(rows)
        self.orders = None if self.orders is None else self.orders[rows]

    def _losses(self, outputs: Tensor, data: Data) -> Tensor:
        """Return the losses of those inside; a loss is shown all
        members, since it may know them by their places.
        """
        if self.members == self.began:
            return self.method.loss(outputs, data.targets)
        targets = self._placed(data.targets) if data.own else data.targets
        return self.method.loss(self._placed(outputs), targets)[self.places]

    def _placed(self, values: Tensor) -> Tensor:
        """Put rows where their members began, and zeros where others have left."""
        return values.new_zeros(self.began, *values.shape[1:]).index_copy(0, self.places, values)


def _stacked(values: Sequence[np.ndarray], like: Tensor) -> Tensor:
    """Stack arrays of members, on the device and in the precision of `like`."""
    return torch.from_numpy(np.stack(values)).to(like)


def call(
    network: Network,
    parameters: Parameters,
    data: Data,
    layers: Layers,
    masks: Tensor | None = None,
) -> Answer:
    """Return the outputs and the representations of all members."""
    like = next(iter(parameters.values()))
    members = len(like)
    if network.broadcasts:
        # A CPU multiplies a single matrix in another order than each of many, so a member alone
        # gets a twin that has no effect.
        if members == 1 and like.device.type == "cpu" and like.dtype == torch.float64:
            parameters = {
                name: value.expand(2, *value.shape[1:]) for name, value in parameters.items()
            }
        dropped = () if masks is None else (masks,)
        # ty: ignore[not-callable] every architecture can be called
        outputs, hidden = network(parameters, data.inputs, layers, *dropped)
        return outputs[:members], [h[:members] for h in hidden]
    # One by one: the CPU's convolutions round in another way for many members than for one.
    answers = []
    for m in range(members):
        one = {name: value[m] for name, value in parameters.items()}
        answers.append(network(one, data.member(m)[0], layers))  # ty: ignore[not-callable] as above
    outputs, hidden = zip(*answers, strict=True)
    return torch.stack(outputs), [torch.stack(h) for h in zip(*hidden, strict=True)]
