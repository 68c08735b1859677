"""A device that is not the CPU, for tests of code that is
meant for a GPU, on a machine without one.

Torch's FakeTensorMode has no numbers, so that no loop that looks at a loss can run under it; and
where torch is built without CUDA, its "cuda" tensors end the process as soon as a gradient is
taken. So here tensors say that they live on "meta", where torch keeps nothing, and hold their
numbers on the CPU. While `elsewhere()` lasts,

- tensors are made there by `device="meta"` and moved by `.to`, with the numbers that they have;
- what is computed with them is computed on the CPU, as the code for a GPU says, and stays there;
- RuntimeError, as on a GPU: tensors of both places together, unless the CPU's is an index, or a
  number in an operation that goes entry by entry; a look by NumPy without `.cpu()`; and random
  draws with a CPU's generator.

It lasts for one thread: `lib.training.train` must be kept from using others.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

DEVICE = "meta"
MOVES = {"copy_", "_to_copy"}
TAKES_INDICES = {"index", "index_put_", "_index_put_impl_"}


class There(torch.Tensor):
    """A tensor on the other device; `held` has its numbers."""

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> "There":
        form = {
            "strides": held.stride(),
            "storage_offset": held.storage_offset(),
            "dtype": held.dtype,
        }
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, **form, device=DEVICE)

    def __init__(self, held: torch.Tensor) -> None:
        self.held = held

    def __repr__(self) -> str:
        return f"There({self.held})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _compute(func, args, kwargs or {})


def _compute(func, args: tuple, kwargs: dict):
    """Carry out an operation on the CPU, on whichever of the
    two devices torch would have its result.
    """
    name, given = func.overloadpacket.__name__, tree_leaves((args, kwargs))
    tensors = [value for value in given if isinstance(value, torch.Tensor)]
    inside = [value for value in tensors if isinstance(value, There)]
    asked = kwargs.get("device")
    there = torch.device(asked).type == DEVICE if asked is not None else bool(inside)
    if any(value.device.type == DEVICE and not isinstance(value, There) for value in tensors):
        raise RuntimeError(
            f"{name}: a tensor was made on the other device without numbers, in another thread"
        )
    strangers = [value for value in tensors if not isinstance(value, There)]
    if inside and name not in MOVES:
        entries = torch.Tag.pointwise in func.tags
        index = name in TAKES_INDICES
        if any(
            (value.ndim or not entries) and not (index and value.dtype == torch.int64)
            for value in strangers
        ):
            raise RuntimeError(
                f"{name}: tensors on the CPU and on the other device: "
                f"{[tuple(v.shape) for v in strangers]}"
            )
    if there and any(isinstance(value, torch.Generator) for value in given):
        raise RuntimeError(f"{name}: a CPU's generator draws on the other device")
    if asked is not None:
        kwargs = kwargs | {"device": "cpu"}
    bare, named = tree_map_only(There, lambda value: value.held, (args, kwargs))
    found = func(*bare, **named)
    if func._schema.is_mutable:  # torch wants the very tensors back that it gave
        olds = {id(value.held): value for value in inside}
        return tree_map_only(torch.Tensor, lambda value: olds.get(id(value), value), found)
    return tree_map_only(torch.Tensor, There, found) if there else found


class _Operations(TorchDispatchMode):
    """Send what is made on the other device there."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _compute(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """Make tensors of numbers here, then move them: torch
    makes them in C, where nobody can step in.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        asked = kwargs.get("device")
        if (
            func is torch.matmul and "out" in kwargs
        ):  # torch's own way through views does not suit tensors like these
            return kwargs["out"].copy_(func(*args))
        if func is torch.Tensor.tolist:
            return args[0].cpu().numpy().tolist()
        if func in (torch.tensor, torch.as_tensor, torch.asarray) and asked is not None:
            value = (
                args[0]
                if isinstance(args[0], torch.Tensor)
                else func(*args, **(kwargs | {"device": "cpu"}))
            )
            return value.to(asked, kwargs.get("dtype") or value.dtype)
        return func(*args, **kwargs)


@contextmanager
def elsewhere() -> Iterator[str]:
    """Have another device, and give its name."""
    with _Functions(), _Operations():
        yield DEVICE
