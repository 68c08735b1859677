"""Tangent kernels and the distance between them."""

from lib.kernels.tangent import kernel_distance, ntk, two_layer_ntk
from lib.kernels.turn import Turn, kernel_turn

__all__ = ["Turn", "kernel_distance", "kernel_turn", "ntk", "two_layer_ntk"]
