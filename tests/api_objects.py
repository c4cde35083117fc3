"""Small models, networks and results that the calls of public functions are made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import creases
from creases import compare, lab, splines

RNG = np.random.default_rng(0)
BOX = [(-1.0, 1.0), (-1.0, 1.0)]
X = RNG.normal(size=(12, 2))
Y = np.arange(12) % 3
x1 = np.linspace(-1, 1, 9)
y1 = np.abs(x1)


class Call(NamedTuple):
    """A function and a correct value of each argument that a test may change."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


def call(function: Callable[..., Any], /, **arguments: Any) -> Call:
    return Call(function, arguments)


def model(*widths: int) -> nn.Sequential:
    """Return a perceptron of given widths in float64, always the same."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layers: list[nn.Module] = []
        for a, b in pairwise(widths):
            layers += [nn.Linear(a, b), nn.ReLU()]
        return nn.Sequential(*layers[:-1]).double()


@cache
def net(*widths: int) -> Any:
    return creases.read(model(*widths or (2, 4, 3)))


@cache
def plane() -> Any:
    return creases.plane(net(), BOX)


@cache
def line() -> Any:
    return creases.line(net(), [-1.0, -1.0], [1.0, 1.0])


@cache
def space() -> Any:
    return creases.space(net(3, 4, 2), (-1, 1))


@cache
def coefficients() -> Any:
    return compare.coefficients(net(), X)


@cache
def batch() -> Any:
    return lab.Batch.initial(4, [2, 3, 1], seed=0)


@cache
def shallow() -> Any:
    return splines.from_module(model(1, 5, 1))


@cache
def optimum() -> Any:
    return splines.optimal_fit(x1, y1, 2)
