"""Classes along curves: two moons, and spirals."""

from __future__ import annotations

from math import pi

import numpy as np

from creases._arguments import check_arguments
from creases._schema import BOOL
from creases._validation import check_count
from creases.errors import InputError
from creases.problems._problem import Problem
from creases.problems._sampling import Seed, generator, halves, make_problem


@check_arguments(standardize=BOOL)
def moons(*, n: int = 400, seed: Seed = 0, noise: float = 0.1, standardize: bool = True) -> Problem:
    """Make two interleaving half circles, (cos t, sin t) and (1 - cos t, 1/2 - sin t), t ~ U(0, pi).

    ``noise`` is the standard deviation of what is added to both coordinates, before scaling.

    Examples
    --------
    >>> moons(noise=0.05)
    <Problem moons: 400 x 2, 2 classes>
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

    ``noise`` is the standard deviation of what is added to both coordinates, before scaling; the arms are
    1 / (arms turns) apart.

    Examples
    --------
    >>> spirals(arms=3)
    <Problem spirals: 400 x 2, 3 classes>
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
