"""Training as a reader would write it, a member at a time,
to which `lib.training.train` is compared.
"""

import numpy as np
import torch
from observing import everything
from torch.nn import functional

from lib.training import cross_entropy, half_squared_error, train


def squared(outputs, targets):
    return 0.5 * torch.mean(torch.sum((outputs - targets) ** 2, dim=1))


LOSSES = {half_squared_error: squared, cross_entropy: functional.cross_entropy}


def plain(
    network,
    leaves,
    m,
    inputs,
    targets,
    *,
    steps,
    loss=half_squared_error,
    optimizer="sgd",
    batch_size=None,
    draw=None,
    seed=0,
    **given,
):
    """Train member m; return losses and parameters from step 0 on."""
    leaves = {name: value.clone().requires_grad_() for name, value in leaves.items()}
    dtype = leaves["weight1"].dtype
    rates, decays = (
        values if isinstance(values, dict) else dict.fromkeys(leaves, values)
        for values in (given.pop("learning_rate"), given.pop("weight_decay", 0))
    )
    groups = [
        {"params": [leaf], "lr": rates[name], "weight_decay": decays[name]}
        for name, leaf in leaves.items()
    ]
    schedule = given.pop("schedule", lambda step: 1)
    method = (torch.optim.AdamW if optimizer == "adam" else torch.optim.SGD)(groups, **given)
    scheduler = torch.optim.lr_scheduler.LambdaLR(method, schedule)
    loss, losses, path, points = LOSSES[loss], [], [], len(inputs)
    size = batch_size or points
    order = np.arange(points)

    def tensors(x, y):
        y = torch.from_numpy(y)
        return torch.from_numpy(x).to(dtype), y.to(dtype) if y.is_floating_point() else y

    def record():
        losses.append(loss(network(leaves, whole[0], ())[0], whole[1]).item())
        path.append({name: leaf.detach().clone() for name, leaf in leaves.items()})

    whole = tensors(inputs, targets)
    record()
    for step in range(steps):
        epoch, number = divmod(step, -(-points // size))
        if number == 0 and size < points:
            order = np.random.default_rng((seed, m, epoch + 1)).permutation(points)
        chosen, masks = order[number * size : (number + 1) * size], []
        x, y = tensors(*(draw(m, step) if draw else (inputs[chosen], targets[chosen])))
        if getattr(network, "dropout", 0):
            masks = [
                torch.from_numpy(
                    network.masks(np.random.default_rng((seed, m, step, 1)), len(chosen))
                )
            ]
        method.zero_grad()
        loss(network(leaves, x, (), *masks)[0], y).backward()
        method.step()
        scheduler.step()
        record()
    return losses, path


def assert_plain(
    network, parameters, inputs, targets, own=False, each=lambda m: {}, rtol=1e-9, **method
):
    """Train all members and compare each with the plain loop, in which `each` changes its
    arguments; return what was found.
    """
    found = train(network, parameters, inputs, targets, observe=everything, **method)
    for m in range(found.sizes["member"]):
        x, y = (inputs[m], targets[m]) if own else (inputs, targets)
        mine = {name: value[m] for name, value in parameters.items()}
        losses, path = plain(network, mine, m, x, y, **method | each(m))
        np.testing.assert_allclose(found.loss[m], losses, rtol=rtol, atol=rtol / 1e3)
        for name in parameters:
            expected = torch.stack([state[name] for state in path])
            np.testing.assert_allclose(found[name][m], expected, rtol=rtol, atol=rtol / 1e3)
    return found
