"""Plane problems: classes in the plane, by formulas and by arcs."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from creases._schema import BOOL
from creases._typing import Bools, Floats
from creases._validation import check_arguments, check_count, check_number
from creases.errors import InputError
from creases.problems._problem import Problem, standardize

# Shared parts of the toy problems: checks of their options, and making problems of labelled points.

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


CITATION = "Explainable Network Growth by Folding on Typical Mis-predictions (slides); exact data set defined here"


class _Points(NamedTuple):
    """Points that are uniform in a rectangle, of class 1 where a rule holds."""

    x: tuple[float, float]
    v: tuple[float, float]
    rule: Callable[[Floats, Floats], Bools]
    classes: tuple[str, str]
    description: str


#: Points above and below a curve, or inside and outside of a circle of half the square's area, by name.
PLANES = {
    "sine": _Points(
        (-pi, pi),
        (-1.8, 1.8),
        lambda x, v: v > np.sin(x),
        ("below", "above"),
        "points above or below the curve v = sin x",
    ),
    "quadratic": _Points(
        (-1.5, 1.5), (-0.75, 2.25), lambda x, v: v > x**2, ("below", "above"), "points above or below the curve v = x^2"
    ),
    "circle": _Points(
        (-1.0, 1.0),
        (-1.0, 1.0),
        lambda x, v: x**2 + v**2 < 2 / pi,
        ("outside", "inside"),
        "points of a square, inside or outside a circle of half its area",
    ),
}


@check_arguments(standardize=BOOL)
def plane_points(name: str, *, n: int = 400, seed: Seed = 0, noise: float = 0.0, standardize: bool = True) -> Problem:
    """Make the points of a name in ``PLANES``."""
    points, rng, count = PLANES[name], generator(seed), check_count(n, "n")
    X = np.stack([rng.uniform(*points.x, count), rng.uniform(*points.v, count)], axis=1)
    return make_problem(
        name,
        X,
        points.rule(X[:, 0], X[:, 1]),
        rng,
        noise=noise,
        standardized=standardize,
        classes=points.classes,
        description=points.description,
        citation=CITATION,
    )


@check_arguments(standardize=BOOL)
def overlapping_quadratic(*, n: int = 400, seed: Seed = 0, noise: float = 0.15, standardize: bool = True) -> Problem:
    """Make points x ~ U(-1.4, 1.4) of two parabolas, v = x^2 - 0.5 (class 0) and v = 0.5 - x^2 (class 1).

    Here the noise is part of the problem: the standard deviation of v about its curve.
    """
    rng = generator(seed)
    count = check_count(n, "n")
    y = halves(count, rng)
    x = rng.uniform(-1.4, 1.4, count)
    v = np.where(y == 0, x**2 - 0.5, 0.5 - x**2) + check_number(noise, "noise", least=0) * rng.normal(size=count)
    return make_problem(
        "overlapping_quadratic",
        np.stack([x, v], axis=1),
        y,
        rng,
        noise=0.0,
        standardized=standardize,
        classes=("opens up", "opens down"),
        description="two noisy parabolas, v = x^2 - 0.5 and v = 0.5 - x^2, that cross twice",
        citation=CITATION,
    )


@check_arguments(standardize=BOOL)
def moons(*, n: int = 400, seed: Seed = 0, noise: float = 0.1, standardize: bool = True) -> Problem:
    """Make two interleaving half circles, (cos t, sin t) and (1 - cos t, 1/2 - sin t), t ~ U(0, pi).

    ``noise`` is the standard deviation of the noise added to both coordinates, before scaling.
    """
    rng = generator(seed)
    count = check_count(n, "n")
    y = halves(count, rng)
    t = rng.uniform(0.0, pi, count)
    upper = np.stack([np.cos(t), np.sin(t)], axis=1)
    lower = np.stack([1 - np.cos(t), 0.5 - np.sin(t)], axis=1)
    return make_problem(
        "moons",
        np.where((y == 0)[:, None], upper, lower),
        y,
        rng,
        noise=noise,
        standardized=standardize,
        classes=("upper moon", "lower moon"),
        description="two interleaving half circles, with noise",
        citation="the curves of scikit-learn's make_moons",
    )


@check_arguments(standardize=BOOL)
def spirals(
    *,
    n: int = 400,
    seed: Seed = 0,
    noise: float = 0.02,
    turns: float = 1.5,
    arms: int = 2,
    standardize: bool = True,
) -> Problem:
    """Make spirals around one centre: arm k at angle 2 pi (turns r + k / arms), radius r = sqrt(u), u ~ U(0, 1).

    ``noise`` is the standard deviation of the noise added to both coordinates, before scaling; the arms are
    1 / (arms turns) apart.
    """
    rng = generator(seed)
    count, arms = check_count(n, "n"), check_count(arms, "arms", least=2)
    if not 0 < turns < np.inf:
        raise InputError("turns", "be a number above 0", f"{turns}")
    y = halves(count, rng, arms)
    r = np.sqrt(rng.uniform(0.0, 1.0, count))
    angle = 2 * pi * (turns * r + y / arms)
    return make_problem(
        "spirals",
        r[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1),
        y,
        rng,
        noise=noise,
        standardized=standardize,
        classes=tuple(f"arm {k + 1}" for k in range(arms)),
        description=f"{arms} interleaved spirals of {turns:g} {'turn' if turns == 1 else 'turns'}, with noise",
        citation="after the two spirals of Lang & Witbrock 1988",
    )
