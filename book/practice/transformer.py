"""A transformer of one layer, for many members at once.

It answers at the last place of a string only. So one query is asked for each string; and since
nothing comes before the attention but embeddings, what it sees is worked out once for each token in
each place, not once for each string.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lib.checks import seed, sizes, takes, whole
from lib.networks.base import Answer, Layers, Network, Parameters, Shape, check_device


@dataclass(frozen=True)
class Transformer(Network):
    r"""A decoder of one layer, from strings of tokens to an output at their last place.

    Embeddings of tokens and places are added and normalized, :math:`u = \mathrm{norm}(e + p)`, and
    then

    .. math:: v = u + \mathrm{attention}(u), \quad h = v + \mathrm{MLP}(\mathrm{norm}(v)), \quad f
              = R\,\mathrm{norm}(h).

    The normalization stands before the residual branches part, so that the function hardly depends
    on the embeddings' scale, as long as their variance is far above the 1e-5 that the normalization
    adds to it.

    Attributes
    ----------
    tokens : how many there are; also the number of outputs
    length : of a string
    width : of embeddings, split between the heads; the MLP is four times as wide, with GELU
    heads : how many

    Source: Kunin et al. (2024), appendix, "Grokking", and the code that it names,
    teddykoker/grokking.
    """

    broadcasts: ClassVar[bool] = True
    depth: ClassVar[int] = 1

    tokens: int
    length: int = 4
    width: int = 128
    heads: int = 4

    def __post_init__(self) -> None:
        sizes(**vars(self))
        if self.width % self.heads:
            raise ValueError(
                f"width {self.width} and heads {self.heads}: want heads that divide the width"
            )

    @property
    def outputs(self) -> int:  # noqa: D102
        return self.tokens

    @property
    def point(self) -> Shape:  # noqa: D102
        return (self.length,)

    def shapes(self) -> dict[str, Shape]:  # noqa: D102
        w = self.width
        norms = {f"{kind}{i}": (w,) for i in (1, 2, 3) for kind in ("scale", "shift")}
        return {
            "embedding": (self.tokens, w),
            "positions": (self.length, w),
            "attention": (3 * w, w),
            "attention_bias": (3 * w,),
            "mixing": (w, w),
            "mixing_bias": (w,),
            "up": (4 * w, w),
            "up_bias": (4 * w,),
            "down": (w, 4 * w),
            "down_bias": (w,),
            "readout": (self.tokens, w),
        } | norms

    @takes(seed=seed, members=whole, device=check_device)
    def initialize(
        self,
        seed: int = 0,
        members: int = 1,
        *,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> Parameters:
        """Draw parameters as torch's own modules do.

        Embeddings are N(0, 1); queries, keys and values Xavier-uniform without biases; the other
        layers uniform within ± 1/√fan-in, their biases too, but not that of `mixing`, which starts
        at 0 like the norms' shifts. Arguments and result are those of `Network.initialize`.
        """
        parameters = {}
        for i, (name, shape) in enumerate(self.shapes().items()):
            drawn = np.stack(
                [self._drawn(name, shape, (seed, member, i)) for member in range(members)]
            )
            parameters[name] = torch.from_numpy(drawn).to(device, dtype)
        return parameters

    def _drawn(self, name: str, shape: Shape, key: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng(key)
        if name in ("embedding", "positions"):
            return rng.normal(size=shape)
        if name in ("attention_bias", "mixing_bias") or name.startswith("shift"):
            return np.zeros(shape)
        if name.startswith("scale"):
            return np.ones(shape)
        fan_in = self.shapes()[name.removesuffix("_bias")][1]
        bound = np.sqrt(6 / sum(shape)) if name == "attention" else fan_in**-0.5
        return rng.uniform(-bound, bound, size=shape)

    def __call__(self, parameters: Parameters, inputs: Tensor, layers: Layers = None) -> Answer:
        """Map strings (members, n, length) or (n, length) to outputs
        (members, n, tokens) and, for layer 0, h (members, n, w).

        Parameters have a member axis.
        """
        p, w = parameters, self.width
        places = torch.arange(self.length, device=inputs.device)
        inputs = inputs if inputs.ndim == 3 else inputs.unsqueeze(0)
        rows = inputs + places * self.tokens  # of a table of each token in each place

        table = p["embedding"].unsqueeze(1) + p["positions"].unsqueeze(
            2
        )  # (members, place, token, w)
        table = _norm(table.flatten(1, 2), p, 1)
        asking, told = (
            p["attention"].split([w, 2 * w], dim=1),
            p["attention_bias"].split([w, 2 * w], dim=1),
        )
        queries = _affine(table[:, -self.tokens :], asking[0], told[0])  # (members, token, w)
        known = _affine(table, asking[1], told[1])  # keys and values (members, place · token, 2 w)

        last = inputs[..., -1]
        mixed = self._attend(_rows(queries, last), *_rows(known, rows).split(w, dim=-1))
        h = _rows(table[:, -self.tokens :], last) + _affine(mixed, p["mixing"], p["mixing_bias"])
        hidden = functional.gelu(_affine(_norm(h, p, 2), p["up"], p["up_bias"]))
        h = h + _affine(hidden, p["down"], p["down_bias"])
        return _norm(h, p, 3) @ p["readout"].mT, [h for _ in self.layers(layers)]

    def _attend(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Return what a query (members, n, w) mixes of the
        values (members, n, place, w), (members, n, w).
        """
        heads = (self.heads, self.width // self.heads)
        weights = (query.unsqueeze(-2) * keys).unflatten(-1, heads).sum(-1) * heads[1] ** -0.5
        return (weights.softmax(-2).unsqueeze(-1) * values.unflatten(-1, heads)).sum(-3).flatten(-2)


def _affine(h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Map h (members, n, in) by weight (members, out, in) and bias (members, out)."""
    return torch.baddbmm(bias.unsqueeze(1), h, weight.mT)


def _norm(h: Tensor, p: Parameters, i: int) -> Tensor:
    """Bring each row of h (members, n, w) to mean 0 and
    variance 1, then to the i-th norm's scale and shift.
    """
    return functional.layer_norm(h, h.shape[-1:]) * p[f"scale{i}"].unsqueeze(1) + p[
        f"shift{i}"
    ].unsqueeze(1)


def _rows(table: Tensor, index: Tensor) -> Tensor:
    """Return the rows (members, n, ..., w) of each member's table
    (members, rows, w) at `index` (members or 1, n, ...).
    """
    members, rows, _ = table.shape
    starts = rows * torch.arange(members, device=index.device)
    return functional.embedding(
        index + starts.view(-1, *[1] * (index.ndim - 1)), table.flatten(0, 1)
    )
