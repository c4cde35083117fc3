"""Random networks of one input, and how far numbers deviate."""

from __future__ import annotations

import numpy as np

from creases._typing import Floats
from creases.splines import Shallow
from creases_reproduction.experiment import Scale


def by_scale(scale: Scale, quick: int, full: int) -> int:
    """Return a number of cases, draws or the like at a scale."""
    return quick if scale == "quick" else full


def random_shallow(rng: np.random.Generator, width: int, skip: bool = True) -> Shallow:
    """Return a network of normal weights."""
    w, b, v = rng.normal(size=(3, width))
    return Shallow(w, b, v, float(rng.normal()), float(rng.normal()) if skip else 0.0)


def relative_deviation(found: Floats, right: Floats) -> float:
    """Return the largest deviation, relative to the largest value."""
    return float(np.abs(found - right).max() / max(float(np.abs(right).max()), 1e-300))


def standardize(y: Floats) -> Floats:
    """Return values divided by their standard deviation."""
    return np.asarray(y / y.std())
