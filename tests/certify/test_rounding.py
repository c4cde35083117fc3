"""Bounds hold in real arithmetic: rational values are never outside, at any scale of the columns."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest
import torch
from torch import nn

import creases
from agreement import seeded
from creases.certify.propagation import value_bounds
from creases.certify.propagation._linear import LinearBounds, gradient_bounds
from creases.network import Network


class Skip(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner, self.out = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.first(x))
        return self.out(h - nn.functional.leaky_relu(self.inner(h), 0.3))


MODELS = {
    "dense": nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 7), nn.ReLU(), nn.Linear(7, 2)),
    "leaks": nn.Sequential(nn.Linear(4, 9), nn.LeakyReLU(0.1), nn.Linear(9, 7), nn.LeakyReLU(-0.7), nn.Linear(7, 2)),
    "steep": nn.Sequential(nn.Linear(4, 9), nn.LeakyReLU(3.1), nn.Linear(9, 2)),
    "pool": nn.Sequential(
        nn.Linear(4, 25), nn.Unflatten(1, (1, 5, 5)), nn.Conv2d(1, 2, 2), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2)
    ),
    "skip": Skip(),
}  # fmt: skip

rationals = np.vectorize(Fraction, otypes=[object])


def matrices(net: Network) -> list[list[np.ndarray]]:
    """The matrix of every affine step for each of its inputs, as fractions; its weights are copied, not multiplied."""
    parts = []
    for step in net.steps:
        own = []
        for k, v in enumerate(step.inputs):
            if step.is_bend:
                continue
            size = prod(net.shapes[v])
            xs = [torch.zeros(size, *net.shapes[u], dtype=torch.float64) for u in step.inputs]
            xs[k] = torch.eye(size, dtype=torch.float64).reshape(size, *net.shapes[v])
            own.append(rationals(step.linear(xs).reshape(size, -1).T.numpy()))
        parts.append(own)
    return parts


def exact_values(net: Network, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Every value at a point, flat, and its Jacobian in the input, as fractions."""
    values, jacobians = [rationals(x)], [rationals(np.eye(len(x)))]
    for step, own in zip(net.steps, matrices(net), strict=True):
        z, J = values[step.inputs[0]], jacobians[step.inputs[0]]
        if step.op == "choice":
            best = z.reshape(prod(step.shape), -1).argmax(1) + np.arange(prod(step.shape)) * (
                len(z) // prod(step.shape)
            )
            values.append(z[best])
            jacobians.append(J[best])
        elif step.is_bend:
            leak = rationals(np.zeros(len(z)) if step.leak is None else step.leak.expand(step.shape).flatten().numpy())
            slope = np.where(z > 0, Fraction(1), leak)
            values.append(z * slope)
            jacobians.append(J * slope[:, None])
        else:
            total = sum(W @ values[v] for W, v in zip(own, step.inputs, strict=True))
            if step.offset is not None:
                total = total + rationals(step.offset.expand(step.shape).flatten().numpy())
            values.append(total)
            jacobians.append(sum(W @ jacobians[v] for W, v in zip(own, step.inputs, strict=True)))
    return values, jacobians


def scaled_network(name: str, seed: int) -> tuple[Network, np.ndarray]:
    """A model whose columns have scales of their own from 1e-8 to 1e8, and those scales."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-8, 9, size=4)
    model = seeded(MODELS[name].double())
    first = model.first if name == "skip" else model[0]
    weight = first.weight.detach().clone()
    first.weight.data = weight / torch.from_numpy(scale)
    net = creases.read(model, (4,)).to(torch.float64)
    first.weight.data = weight
    return net, scale


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(4))
def test_rational_values_at_points_are_within_the_bounds_of_boxes_of_no_width(name: str, seed: int) -> None:
    net, scale = scaled_network(name, seed)
    rng = np.random.default_rng(seed)
    X = scale * (rng.normal(size=(3, 4)) + rng.choice([0, 100.0], size=4))
    boxes = torch.from_numpy(np.stack([X, X], axis=2))
    bounds = LinearBounds(net, boxes)
    last = len(net.steps)
    known = bounds.entering_values() | {last: bounds.tighten(last, bounds.output)}
    slopes = gradient_bounds(bounds, torch.eye(net.n_out, dtype=torch.float64))[0]
    for b, x in enumerate(X):
        values, jacobians = exact_values(net, x)
        parts = [(v, part.low[b], part.high[b]) for v, part in known.items()]
        parts += [(v, *part) for v, part in enumerate(value_bounds(net, boxes[b]))]
        for v, low, high in parts:
            assert (rationals(low.flatten().numpy()) <= values[v]).all()
            assert (values[v] <= rationals(high.flatten().numpy())).all()
        J = jacobians[last]
        assert (rationals(slopes.low[b].flatten(1).numpy()) <= J).all()
        assert (rationals(slopes.high[b].flatten(1).numpy()) >= J).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_rational_values_inside_boxes_are_within_the_bounds(name: str) -> None:
    net, scale = scaled_network(name, 5)
    rng = np.random.default_rng(0)
    for width in (1e-9, 1e-3, 1.0):
        center = scale * (rng.normal(size=4) + 10)
        box = np.stack([center - width * scale, center + width * scale], axis=1)
        bounds = LinearBounds(net, torch.from_numpy(box[None]))
        low, high = (end[0].numpy() for end in bounds.tighten(len(net.steps), bounds.output))
        for corner in rng.integers(0, 2, size=(5, 4)):
            y = exact_values(net, box[np.arange(4), corner])[0][-1]
            assert (rationals(low) <= y).all()
            assert (y <= rationals(high)).all()


def test_rounding_widens_bounds_by_little() -> None:
    net, scale = scaled_network("dense", 0)
    x = scale * np.random.default_rng(0).normal(size=4)
    bounds = LinearBounds(net, torch.from_numpy(np.stack([x, x], axis=1)[None]))
    low, high = (end[0].numpy() for end in bounds.tighten(len(net.steps), bounds.output))
    assert (high - low <= 1e-12 * np.abs(net(x)).max()).all()


def test_a_tiny_product_that_underflows_is_within_the_bounds() -> None:
    net = creases.read([([[1e-200]], [0.0])]).to(torch.float64)
    bounds = LinearBounds(net, torch.tensor([[[-1e-200, -1e-200]]], dtype=torch.float64))
    assert float(bounds.output.low) < 0
