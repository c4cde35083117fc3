"""Small networks for the claims of the XNG slides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from torch import nn

from creases.lab import Batch
from creases.problems import Problem, get
from creases_reproduction.experiment import Scale
from creases_reproduction.xng.growth_experiment import GROWN, PROBLEMS, small_networks

#: The box in which regions are counted: the data are standardized.
BOX = ((-3.0, 3.0), (-3.0, 3.0))


def by_scale(scale: Scale, quick: int, full: int) -> int:
    """Return a number of cases for a scale."""
    return quick if scale == "quick" else full


def trained_networks(scale: Scale) -> Iterator[tuple[Problem, nn.Sequential]]:
    """Return 2-2-2 networks trained as in the experiment, on each of its problems."""
    for name in PROBLEMS:
        batch = small_networks(name, by_scale(scale, 3, 100), 0, GROWN)
        yield from ((get(name), batch.module(k).double()) for k in range(batch.count))


def random_network(widths: list[int], seed: int) -> nn.Sequential:
    """Return a multilayer perceptron with random weights."""
    return Batch.initial(1, widths, seed=seed, dtype=np.float64).module(0)
