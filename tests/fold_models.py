"""Small networks and data for folding, by seed; degenerate ones too."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from hypothesis import strategies as st
from torch import nn


@dataclass(frozen=True)
class FoldCase:
    """A network in float64, with data that it is not right about."""

    model: nn.Sequential
    X: np.ndarray
    y: np.ndarray


def perceptron(widths: list[int], rng: np.random.Generator, bend: nn.Module | None = None) -> nn.Sequential:
    """Linear layers with bends between, weights drawn from rng."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layer = nn.Linear(fan_in, fan_out).double()
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(rng.normal(size=(fan_out, fan_in)) / np.sqrt(fan_in)))
            layer.bias.copy_(torch.from_numpy(rng.normal(size=fan_out)))
        layers += [layer, bend or nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def spoil(model: nn.Sequential, how: str) -> None:
    """A dead unit, a duplicate, an unused one: ordinary networks."""
    with torch.no_grad():
        if how == "dead":
            model[0].bias[0] = -100.0
        elif how == "duplicate":
            model[0].weight[-1], model[0].bias[-1] = model[0].weight[0], model[0].bias[0]
        elif how == "unused":
            model[0].weight[0], model[0].bias[0] = 0.0, 0.0
        elif how == "twins":  # two outputs that never differ, or the only one is constant
            model[-1].weight[-1], model[-1].bias[-1] = model[-1].weight[0], model[-1].bias[0]


def data(n: int, d: int, classes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Normal points, with classes by the length of the point and some noise."""
    X = rng.normal(size=(n, d))
    size = np.linalg.norm(X, axis=1) + 0.1 * rng.normal(size=n)
    return X, np.minimum((size.argsort().argsort() * classes) // n, classes - 1)


@st.composite
def fold_cases(draw: st.DrawFn) -> FoldCase:
    """Networks with one or two hidden layers on inputs of 1 to 5 dimensions, one to four outputs."""
    d, outputs = draw(st.sampled_from([1, 2, 2, 3, 5])), draw(st.integers(1, 4))
    hidden = draw(st.lists(st.integers(2, 6), min_size=1, max_size=2))
    how = draw(st.sampled_from(["", "", "dead", "duplicate", "unused", "twins"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    model = perceptron([d, *hidden, outputs], rng)
    spoil(model, how)
    return FoldCase(model, *data(draw(st.integers(5, 60)), d, max(outputs, 2), rng))


def train_briefly(model: nn.Module, X: np.ndarray, y: np.ndarray, steps: int = 200) -> nn.Module:
    """Train a model in place by some steps of Adam, and return it."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)
    for _ in range(steps):
        optimizer.zero_grad()
        cost(model, inputs, targets).backward()
        optimizer.step()
    return model


def cost(model: nn.Module, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy, by the sign where there is one output."""
    z = model(X)
    if z.shape[1] == 1:
        return nn.functional.binary_cross_entropy_with_logits(z[:, 0], y.double())
    return nn.functional.cross_entropy(z, y)
