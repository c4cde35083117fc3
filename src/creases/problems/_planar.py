"""The four problems in the plane on which the growth methods are compared (XNG experiment).

All take the number of points ``n``, a ``seed`` (or a numpy Generator to draw from), ``noise``: the standard
deviation of what is added to both coordinates once the classes are set, in the units of the formulas, and
``standardize``: whether each axis is then brought to mean 0 and standard deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import NamedTuple

import numpy as np

from creases._arguments import check_arguments
from creases._schema import BOOL
from creases._typing import Bools, Floats
from creases._validation import check_count, check_number
from creases.problems._problem import Problem
from creases.problems._sampling import Seed, generator, halves, make_problem

CITATION = "Explainable Network Growth by Folding on Typical Mis-predictions (slides); exact data set defined here"


@check_arguments(standardize=BOOL)
def sine(*, n: int = 400, seed: Seed = 0, noise: float = 0.0, standardize: bool = True) -> Problem:
    """Make points above and below a sine: x ~ U(-pi, pi), v ~ U(-1.8, 1.8), class 1 where v > sin x.

    Examples
    --------
    >>> sine()
    <Problem sine: 400 x 2, 2 classes>
    """
    about = "points above or below the curve v = sin x"
    points = _Points((-pi, pi), (-1.8, 1.8), lambda x, v: v > np.sin(x), ("below", "above"))
    return _sample(points, "sine", about, n, seed, noise, standardize)


@check_arguments(standardize=BOOL)
def quadratic(*, n: int = 400, seed: Seed = 0, noise: float = 0.0, standardize: bool = True) -> Problem:
    """Make points above and below a parabola: x ~ U(-1.5, 1.5), v ~ U(-0.75, 2.25), class 1 where v > x^2.

    Examples
    --------
    >>> quadratic(n=100, seed=1).classes
    ('below', 'above')
    """
    about = "points above or below the curve v = x^2"
    points = _Points((-1.5, 1.5), (-0.75, 2.25), lambda x, v: v > x**2, ("below", "above"))
    return _sample(points, "quadratic", about, n, seed, noise, standardize)


@check_arguments(standardize=BOOL)
def circle(*, n: int = 400, seed: Seed = 0, noise: float = 0.0, standardize: bool = True) -> Problem:
    """Make points inside and outside of a circle: x ~ U(-1, 1)^2, class 1 where |x|^2 < 2/pi, half of the square.

    Examples
    --------
    >>> circle().X.shape
    (400, 2)
    """
    about = "points of a square, inside or outside a circle of half its area"
    points = _Points((-1.0, 1.0), (-1.0, 1.0), lambda x, v: x**2 + v**2 < 2 / pi, ("outside", "inside"))
    return _sample(points, "circle", about, n, seed, noise, standardize)


@check_arguments(standardize=BOOL)
def overlapping_quadratic(*, n: int = 400, seed: Seed = 0, noise: float = 0.15, standardize: bool = True) -> Problem:
    """Make points x ~ U(-1.4, 1.4) of two parabolas, v = x^2 - 0.5 (class 0) and v = 0.5 - x^2 (class 1).

    Here the noise is part of the problem: the standard deviation of v about its curve.

    Examples
    --------
    >>> overlapping_quadratic().y.mean()
    np.float64(0.5)
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


class _Points(NamedTuple):
    """Points that are uniform in a rectangle, of class 1 where a rule holds."""

    x: tuple[float, float]
    v: tuple[float, float]
    rule: Callable[[Floats, Floats], Bools]
    classes: tuple[str, str]


def _sample(
    points: _Points, name: str, description: str, n: int, seed: Seed, noise: float, standardized: bool
) -> Problem:
    rng = generator(seed)
    count = check_count(n, "n")
    X = np.stack([rng.uniform(*points.x, count), rng.uniform(*points.v, count)], axis=1)
    return make_problem(
        name,
        X,
        points.rule(X[:, 0], X[:, 1]),
        rng,
        noise=noise,
        standardized=standardized,
        classes=points.classes,
        description=description,
        citation=CITATION,
    )
