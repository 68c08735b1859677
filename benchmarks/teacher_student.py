"""Time a step of the networks of "Get rich quick", Figure 1(b): ours, the plain loop, the limit of matrix products.

100 inputs, 50 neurons, 1000 points. On the CPU one network on one core; on a GPU, where there is one, 289 at once against one by
one. Run it with `make bench`; all is measured in turn, in one run.
"""

import numpy as np
import torch
from timing import against_products, in_turn, products

from lib import two_layer
from lib.networks import Dense

INPUTS, UNITS, POINTS, ROUNDS = 100, 50, 1000, 7
LEARNING_RATE = 0.01


def plain(parameters: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor):
    """Return the loop that a reader would write, for the first member."""
    first, second = torch.nn.Linear(INPUTS, UNITS, bias=False), torch.nn.Linear(UNITS, 1, bias=False)
    first.weight.data, second.weight.data = parameters["weight1"][0].clone(), parameters["weight2"][0].clone()
    model = torch.nn.Sequential(first, torch.nn.ReLU(), second).to(x.device)
    optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE)

    def loop(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

    return loop


def measure(device: str, members: int, size: int, steps: int) -> None:
    """Print networks·steps per second, medians of interleaved rounds, and the two ratios."""
    network = Dense((INPUTS, UNITS, 1), "relu", bias=False)
    parameters = network.initialize(seed=0, members=members, device=device)
    x = torch.nn.functional.normalize(torch.randn(POINTS, INPUTS, device=device))
    y = torch.randn(POINTS, 1, device=device)
    stack = two_layer.Stack(parameters, x, y, dict.fromkeys(parameters, np.full(members, 2 * LEARNING_RATE)))
    loops = {"plain": (plain(parameters, x, y), steps), "ours": (stack.advance, steps), "products": (products(device, size), 10)}
    share = 4 * INPUTS * UNITS * POINTS / (2 * size**3)  # two products of 2·d·h·n operations
    targets = "   (target on one core: at least 1.4)", "   (target on one core: at least 60 %)"
    against_products(device, members, in_turn(loops, ROUNDS, device), share, targets)


def main() -> None:
    """Measure on one core, and on a GPU where there is one."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    measure("cpu", 1, 1024, 1000)
    if torch.cuda.is_available():
        measure("cuda", 289, 8192, 100)


if __name__ == "__main__":
    main()
