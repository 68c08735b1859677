"""What a step does with gradients: the weights of all members, their rates and their moments, each in one buffer.

On a CPU one compiled pass does it all, entry by entry: no entry depends on where it stands, or on who stands beside it.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


class Block:
    """Tensors by name that lie one after the other in one buffer.

    Attributes
    ----------
    flat : the buffer
    parts : its views, by name
    """

    def __init__(self, values: Mapping[str, Tensor]) -> None:
        self.flat = torch.cat([value.flatten() for value in values.values()])
        parts = self.flat.split([value.numel() for value in values.values()])
        self.parts = {name: part.view(value.shape) for (name, value), part in zip(values.items(), parts, strict=True)}

    def rows(self, rows: Tensor) -> "Block":
        """Return a block of its own with these rows of each tensor."""
        return Block({name: value[rows] for name, value in self.parts.items()})


class Update:
    """The state of an optimizer.

    Parameters
    ----------
    parameters : by name, (members, ...); copied
    rates, decays : by name, (members,); without decays nothing decays
    method : a `lib.training.descent.Method`

    Attributes
    ----------
    blocks : "weights", "gradients" and, where there are any, the moments "first" and "second"
    parts : where each parameter of each member ends in a block, its rate and its decay, (parts,)
    """

    def __init__(
        self, parameters: Mapping[str, Tensor], rates: Mapping[str, np.ndarray], decays: Mapping | None, method: object
    ) -> None:
        nothing = {name: torch.zeros_like(value) for name, value in parameters.items()}
        adam, own = method.optimizer == "adam", next(iter(parameters.values()))
        self.method = method
        self.rates, self.decays = (
            each and {name: torch.tensor(each[name]).to(own) for name in parameters} for each in (rates, decays)
        )
        self.blocks = {"weights": Block(parameters), "gradients": Block(nothing)}
        self.blocks |= {"first": Block(nothing)} if adam or method.momentum else {}
        self.blocks |= {"second": Block(nothing)} if adam else {}
        self.parts = _parts(self)

    @property
    def parameters(self) -> dict[str, Tensor]:
        """The weights by name."""
        return self.blocks["weights"].parts

    @property
    def gradients(self) -> Block:
        """What `take` goes by."""
        return self.blocks["gradients"]

    def keep(self, rows: Tensor) -> None:
        """Go on with the members in these rows."""
        self.blocks = {name: block.rows(rows) for name, block in self.blocks.items()}
        self.rates, self.decays = (
            each and {name: value[rows] for name, value in each.items()} for each in (self.rates, self.decays)
        )
        self.parts = _parts(self)

    @torch.no_grad()
    def take(self, step: int) -> None:
        """Take the step of this number, from 0."""
        method, (slow, slower) = self.method, self.method.betas
        at = {"factor": method.factor(step), "momentum": method.momentum, "slow": 1 - slow, "slower": 1 - slower}
        at |= {"risen": 1 - slow ** (step + 1), "spread": (1 - slower ** (step + 1)) ** 0.5}
        flat = self.gradients.flat
        take = _compiled if flat.device.type == "cpu" and flat.dtype in (torch.float32, torch.float64) else _by_torch
        take(method, self, at)


def _compiled(method: object, state: Update, at: Mapping[str, float]) -> None:
    from lib.training import compiled  # numba is not needed elsewhere

    blocks = {name: block.flat.numpy() for name, block in state.blocks.items()}
    ends, rates, decays = state.parts
    numbers = {name: rates.dtype.type(value) for name, value in at.items()}
    moving = blocks["weights"], blocks["gradients"], blocks.get("first", blocks["gradients"])  # unread where there is no moment
    parts = ends, numbers["factor"] * rates, decays
    if method.optimizer == "adam":
        compiled.adam(*moving, blocks["second"], *parts, *(numbers[name] for name in ("slow", "slower", "risen", "spread")))
    else:
        compiled.descend(*moving, *parts, numbers["momentum"], method.nesterov)


def _parts(state: Update) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lay out what `lib.training.compiled` goes by: in each parameter members lie one after the other."""
    ends = np.cumsum(np.repeat(*np.array([(value[0].numel(), len(value)) for value in state.parameters.values()]).T))
    rates = torch.cat([*state.rates.values()]).cpu().numpy()
    return ends, rates, torch.cat([*state.decays.values()]).cpu().numpy() if state.decays else np.zeros_like(rates)


def _by_torch(method: object, state: Update, at: Mapping[str, float]) -> None:
    """Do the same by operations of torch."""
    flat = {name: block.flat for name, block in state.blocks.items()}
    step = flat["gradients"]
    if method.optimizer == "adam":
        first, second = flat["first"].lerp_(step, at["slow"]), flat["second"].lerp_(step * step, at["slower"])
        step = first / second.sqrt().div_(at["spread"]).add_(1e-8).mul_(at["risen"])
    elif method.momentum:
        first = flat["first"].mul_(at["momentum"]).add_(step)
        step = step + at["momentum"] * first if method.nesterov else first
    steps = step.split([value.numel() for value in state.parameters.values()])
    for (name, value), part in zip(state.parameters.items(), steps, strict=True):
        rate = at["factor"] * state.rates[name].view(-1, *[1] * (value.ndim - 1))
        if state.decays:
            value.mul_(1 - rate * state.decays[name].view(rate.shape))
        value.sub_(rate * part.view(value.shape))
