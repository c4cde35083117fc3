"""What the toy problems share: checking their options, and making labelled points a problem."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.errors import InputError
from creases.problems._problem import Problem, standardise

Seed = int | np.random.Generator


def check_count(n: int, name: str = "n", least: int = 1, what: str = "point") -> int:
    """n as an int of at least ``least``."""
    try:
        count = index(n)
    except TypeError:
        raise InputError(f"{name}: expected a whole number, got {n!r}") from None
    if count < least:
        raise InputError(f"{name}: expected at least {least} {what}{'' if least == 1 else 's'}, got {n}")
    return count


def generator(seed: Seed) -> np.random.Generator:
    """The generator itself, or a new one from a seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError(f"seed: expected a whole number of at least 0 or a numpy Generator, got {seed!r}") from None


def check_noise(noise: float) -> float:
    """The standard deviation of the noise: finite and not negative."""
    if not 0 <= noise < np.inf:
        raise InputError(f"noise: expected a standard deviation of at least 0, got {noise}")
    return float(noise)


def halves(n: int, rng: np.random.Generator, parts: int = 2) -> NDArray[np.int64]:
    """(n,) classes 0 .. parts - 1 in random order, all equally often (the first have what is left over)."""
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
    standardised: bool,
    classes: tuple[str, ...],
    description: str,
    citation: str,
) -> Problem:
    """Points X with their classes y, moved by ``noise``, then scaled if asked: the end of every toy problem."""
    if check_noise(noise) > 0:
        X = X + rng.normal(0.0, noise, X.shape)
    return Problem(
        name=name,
        X=standardise(X) if standardised else X,
        y=y.astype(np.int64),
        features=tuple(f"x{i + 1}" for i in range(X.shape[1])),
        classes=classes,
        description=description,
        citation=citation,
    )
