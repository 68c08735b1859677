"""Tangent kernels and the distance between them."""

from lib.kernels.tangent import kernel_distance, ntk, two_layer_ntk

__all__ = ["kernel_distance", "ntk", "two_layer_ntk"]
