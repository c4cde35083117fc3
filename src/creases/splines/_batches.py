"""Batches of networks of one input, and their training by gradient descent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases.errors import InputError
from creases.lab import Batch, train
from creases.splines._spline import Shallow


def unstack_network(batch: Batch, k: int) -> Shallow:
    """Return network k of a batch with one input, one hidden layer and one output."""
    if len(batch.weights) != 2 or batch.widths[0] != 1 or batch.widths[-1] != 1:
        raise InputError("batch", "have one input, one hidden layer and one output", f"widths {batch.widths}")
    (W, V), (b, c) = ([layer[k] for layer in stack] for stack in (batch.weights, batch.biases))
    return Shallow(W[:, 0], b, V[0], float(c[0]), leak=np.full(len(W), batch.leak))


def stack_networks(nets: Sequence[Shallow]) -> Batch:
    """Return networks of equal width and leak, without a skip, as a batch in float64.

    Examples
    --------
    >>> nets = [Shallow([1, -1], [0, 0], [1, 1]), Shallow([1, 1], [0, -1], [1, -2])]
    >>> stack_networks(nets).outputs([[-2.0], [2.0]])[:, :, 0]
    array([[2., 2.],
           [0., 0.]])
    """
    leaks = {leak for net in nets for leak in net.leak.tolist()}
    if len({net.width for net in nets}) != 1 or len(leaks) > 1 or any(net.c1 for net in nets):
        raise InputError("nets", "have the same width, the same leak for all units and no skip")
    weights = np.stack([net.w[:, None] for net in nets]), np.stack([net.v[None] for net in nets])
    biases = np.stack([net.b for net in nets]), np.array([[net.c0] for net in nets])
    return Batch(weights, biases, leaks.pop() if leaks else 0.0)


def squared_errors(batch: Batch, x: ArrayLike, y: ArrayLike) -> Floats:
    """Return the mean squared errors (B,) of networks on samples (n,); not finite where a network has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        return batch.losses(np.asarray(x)[:, None], y, "squared_error")


def gradient_descent(batch: Batch, x: ArrayLike, y: ArrayLike, *, steps: int, lr: ArrayLike) -> Batch:
    """Train networks of one input and one output by full-batch gradient descent on the mean squared error.

    Samples are (n,), shared by all networks, or (B, n), different for each; the learning rate is a number or (B,).
    """
    return train(batch, np.asarray(x)[..., None], y, epochs=steps, loss="squared_error", optimizer="sgd", lr=lr).batch
