"""Time a step of the two-point network, 20 hidden layers of 500 units, on one core: ours, the plain loop, the limit of memory.

Run it with `make bench`; all three are measured in turn, in one run.
"""

import numpy as np
import torch
from numba import njit
from timing import in_turn

from lib.descent import half_squared_error
from lib.fused import Stack
from lib.networks import Dense

ROUNDS, STEPS = 7, 40
INPUTS, TARGETS = torch.tensor([[-1.0], [0.0]]), torch.tensor([[0.6], [1.3071]])


def plain(network: Dense, parameters: dict[str, torch.Tensor], learning_rate: float):
    """Return the loop that a reader would write."""
    layers = []
    for i, (into, out) in enumerate(zip(network.widths[:-1], network.widths[1:], strict=True), start=1):
        layer = torch.nn.Linear(into, out)
        layer.weight.data, layer.bias.data = parameters[f"weight{i}"].clone(), parameters[f"bias{i}"].clone()
        layers += [layer, torch.nn.LeakyReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(model.parameters(), learning_rate)

    def loop(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            half_squared_error(model(INPUTS), TARGETS).backward()
            optimizer.step()

    return loop


@njit(fastmath=True)
def read(weights):
    """Read each weight once."""
    total = np.float32(0)
    for j in range(weights.size):
        total += weights[j]
    return total


@njit(fastmath=True)
def read_and_write(weights, factor):
    """Read each weight and write it back once."""
    for j in range(weights.size):
        weights[j] *= factor


def traffic(weights: np.ndarray):
    """Return the least that a step must do: read every weight on the way forward, read and write it on the way back."""
    one = np.float32(1)

    def loop(steps: int) -> None:
        for _ in range(steps):
            read(weights)
            read_and_write(weights, one)

    return loop


def main() -> None:
    """Print milliseconds a step, the median of interleaved rounds, and the two ratios."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    network = Dense((1, *[500] * 20, 1))
    parameters = {name: value[0] for name, value in network.initialize(seed=0).items()}
    stack = Stack(network, parameters, INPUTS, TARGETS, dict.fromkeys(parameters, 0.005))
    loops = {"plain": plain(network, parameters, 0.005), "fused": stack.advance, "traffic": traffic(stack.weights.copy())}
    times = in_turn({name: (loop, STEPS) for name, loop in loops.items()}, ROUNDS)
    plain_loop, fused, floor = times.values()
    print(f"weights                       {stack.weights.size:,}")
    for name, value in times.items():
        print(f"{name:<10} {1e3 * np.median(value):8.2f} ms a step")
    print(f"plain loop / fused            {np.median(plain_loop / fused):8.2f}   (target: at least 6)")
    print(f"fused / limit of memory       {np.median(fused / floor):8.2f}   (target: at most 1.5)")


if __name__ == "__main__":
    main()
