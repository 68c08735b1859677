"""Time a step of the networks of "Get rich quick", Figure 1(b): ours, the plain loop, the limit of matrix products.

100 inputs, 50 neurons, 1000 points. On the CPU one network on one core; on a GPU, where there is one, 289 at once against one by
one. Run it with `make bench`; all is measured in turn, in one run.
"""

import time

import numpy as np
import torch

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


def products(device: str, size: int):
    """Return a loop of large square products, the most that the machine does."""
    left, right = torch.randn(2, size, size, device=device)
    out = torch.empty_like(left)

    def loop(steps: int) -> None:
        for _ in range(steps):
            torch.mm(left, right, out=out)

    return loop


def seconds(loop, steps: int, device: str) -> float:
    """Return the time of a step."""
    start = time.perf_counter()
    loop(steps)
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps


def measure(device: str, members: int, size: int, steps: int) -> None:
    """Print networks·steps per second, medians of interleaved rounds, and the two ratios."""
    network = Dense((INPUTS, UNITS, 1), "relu", bias=False)
    parameters = network.initialize(seed=0, members=members, device=device)
    x = torch.nn.functional.normalize(torch.randn(POINTS, INPUTS, device=device))
    y = torch.randn(POINTS, 1, device=device)
    stack = two_layer.Stack(parameters, x, y, dict.fromkeys(parameters, np.full(members, 2 * LEARNING_RATE)))
    loops = {"plain": (plain(parameters, x, y), steps), "ours": (stack.advance, steps), "products": (products(device, size), 10)}
    for loop, _ in loops.values():
        loop(3)
    times = {name: [] for name in loops}
    for _ in range(ROUNDS):
        for name, (loop, count) in loops.items():
            times[name].append(seconds(loop, count, device))
    plain_loop, ours, square = (np.array(times[name]) for name in loops)
    ours = ours / members
    least = square * (4 * INPUTS * UNITS * POINTS) / (2 * size**3)  # two products of 2·d·h·n operations at the measured rate
    rate, plain_rate = 1 / np.median(ours), 1 / np.median(plain_loop)
    print(f"{device}, {members} at once: {rate:,.0f} networks·steps per second; plain loop {plain_rate:,.0f}")
    print(f"  ours / plain loop           {np.median(plain_loop / ours):6.2f}   (target on one core: at least 1.4)")
    print(f"  ours / limit of products    {np.median(least / ours):6.0%}   (target on one core: at least 60 %)")


def main() -> None:
    """Measure on one core, and on a GPU where there is one."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    measure("cpu", 1, 1024, 1000)
    if torch.cuda.is_available():
        measure("cuda", 289, 8192, 100)


if __name__ == "__main__":
    main()
