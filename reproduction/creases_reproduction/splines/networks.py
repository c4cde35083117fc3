"""Random networks of one input and batches of them, and how far numbers deviate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases.lab import Batch, train
from creases.splines import Shallow
from creases_reproduction.experiment import Scale


def by_scale(scale: Scale, quick: int, full: int) -> int:
    """Return a number of cases, draws or the like at a scale."""
    return quick if scale == "quick" else full


def random_shallow(rng: np.random.Generator, width: int, skip: bool = True) -> Shallow:
    """Return a network of normal weights."""
    w, b, v = rng.normal(size=(3, width))
    return Shallow(w, b, v, float(rng.normal()), float(rng.normal()) if skip else 0.0)


def stack_networks(nets: Sequence[Shallow]) -> Batch:
    """Return ReLU networks of equal width, without a skip, as a batch."""
    weights = np.stack([net.w[:, None] for net in nets]), np.stack([net.v[None] for net in nets])
    return Batch(weights, (np.stack([net.b for net in nets]), np.array([[net.c0] for net in nets])))


def unstack_network(batch: Batch, k: int) -> Shallow:
    """Return network k of a batch with one input, one hidden layer and one output."""
    (W, V), (b, c) = ([layer[k] for layer in stack] for stack in (batch.weights, batch.biases))
    return Shallow(W[:, 0], b, V[0], float(c[0]), leak=np.full(len(W), batch.leak))


def gradient_descent(batch: Batch, x: Floats, y: Floats, *, steps: int, lr: ArrayLike) -> Batch:
    """Train networks of one input and one output by full-batch gradient descent on the mean squared error."""
    return train(batch, x[..., None], y, epochs=steps, loss="squared_error", optimizer="sgd", lr=lr).batch


def squared_errors(batch: Batch, x: Floats, y: Floats) -> Floats:
    """Return the mean squared errors (B,) of networks on samples (n,); not finite where a network has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        return batch.losses(x[:, None], y, "squared_error")


def roughness(net: Shallow) -> float:
    """Return the roughness ``rho = sum_i mu_i^2`` of a network without a leak, with coinciding breakpoints apart."""
    return float(((net.w * net.v) ** 2).sum())


def relative_deviation(found: Floats, right: Floats) -> float:
    """Return the largest deviation, relative to the largest value."""
    return float(np.abs(found - right).max() / max(float(np.abs(right).max()), 1e-300))


def standardize(y: Floats) -> Floats:
    """Return values divided by their standard deviation."""
    return np.asarray(y / y.std())
