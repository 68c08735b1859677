"""A small run that uses torch, which takes seconds to import."""

from concurrent.futures import ThreadPoolExecutor

import torch
import xarray as xr


def threads(seed, device):
    """Return with how many threads a run computes, also in a
    thread of its own as training starts it.
    """
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(torch.get_num_threads).result()
    return xr.Dataset({"threads": ((), max(torch.get_num_threads(), there))})
