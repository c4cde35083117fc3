"""Shared parts of the toy problems: checks of their options, and making problems of labelled points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases._validation import check_number
from creases.errors import InputError
from creases.problems._problem import Problem, standardize

Seed = int | np.random.Generator


def generator(seed: Seed) -> np.random.Generator:
    """Return a generator unchanged, or a new one from a seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError("seed", "be an integer, at least 0, or a numpy Generator", repr(seed)) from None


def halves(n: int, rng: np.random.Generator, parts: int = 2) -> NDArray[np.int64]:
    """Return (n,) classes 0 .. parts - 1 in random order, all equally frequent up to one."""
    y = np.arange(n, dtype=np.int64) % parts
    rng.shuffle(y)
    return y


def make_problem(
    name: str,
    X: Floats,
    y: NDArray[np.bool_] | NDArray[np.int64],
    rng: np.random.Generator,
    *,
    noise: float,
    standardized: bool,
    classes: tuple[str, ...],
    description: str,
    citation: str,
) -> Problem:
    """Make a problem of points X with classes y: add normal ``noise`` to the points, then standardize if asked."""
    if check_number(noise, "noise", least=0) > 0:
        X = X + rng.normal(0.0, noise, X.shape)
    return Problem(
        name=name,
        X=standardize(X) if standardized else X,
        y=y.astype(np.int64),
        features=tuple(f"x{i + 1}" for i in range(X.shape[1])),
        classes=classes,
        description=description,
        citation=citation,
    )
