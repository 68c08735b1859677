"""The precision in which results are kept."""

import numpy as np
import xarray as xr


def single_precision(found: xr.Dataset) -> xr.Dataset:
    """Return a Dataset in single precision, as large results are kept."""
    return found.assign(
        {
            name: values.astype(np.float32)
            for name, values in found.items()
            if values.dtype.kind == "f"
        }
    )
