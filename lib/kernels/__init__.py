"""Tangent kernels and the distance between them."""

from lib.kernels.tangent import kernel_distance, ntk

__all__ = ["kernel_distance", "ntk"]
