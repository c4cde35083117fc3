"""A ball against the shell around it, in any dimension (the dissertation, sections 4.1.3 and 4.2.2)."""

from __future__ import annotations

from math import sqrt

import numpy as np

from creases._arguments import check_arguments
from creases._schema import BOOL
from creases._validation import check_count, check_number
from creases.errors import InputError
from creases.problems._problem import Problem
from creases.problems._sampling import Seed, generator, make_problem

Radii = tuple[float, float, float]


def equal_volume_radii(d: int, r1: float = 0.5) -> Radii:
    """Return (r1, r2, r3) with r2 = sqrt(d) r1 and a shell of the ball's volume, r3^d = r2^d + r1^d.

    At r2 = sqrt(d) r1 the hyperoctahedron, one hidden layer of d + 1 units, just separates them (section 4.1.3).
    The shell becomes thinner as d grows; above d = 21 it is a sphere up to rounding.

    Examples
    --------
    >>> [round(r, 3) for r in equal_volume_radii(2)]
    [0.5, 0.707, 0.866]
    """
    r2 = sqrt(check_count(d, "d")) * check_number(r1, "r1", above=0)
    return r1, r2, r2 * (1 + (r1 / r2) ** d) ** (1 / d)


@check_arguments(standardize=BOOL)
def shells(
    *,
    n: int = 10_000,
    d: int = 3,
    seed: Seed = 0,
    radii: Radii | None = None,
    noise: float = 0.0,
    standardize: bool = True,
) -> Problem:
    """Make points in a ball of R^d and in a shell around it, half of them each, uniformly distributed.

    Parameters
    ----------
    n
        Number of points; with an odd number the ball has one more.
    d
        Dimension; d = 2 with the default radii is circle against annulus.
    seed
        A seed, or a generator.
    radii
        ``(r1, r2, r3)``: the ball is ``|x| <= r1``, the shell ``r2 <= |x| <= r3``. Default: ``equal_volume_radii(d)``.
    noise
        Standard deviation of normal noise added to the coordinates, after the classes are set.
    standardize
        Scale each axis to mean 0 and standard deviation 1, as in section 4.2.2.

    Examples
    --------
    >>> shells(n=1000, d=8)
    <Problem shells: 1000 x 8, 2 classes>
    """
    count, d = check_count(n, "n"), check_count(d, "d")
    r1, r2, r3 = equal_volume_radii(d) if radii is None else radii
    if not 0 < r1 <= r2 <= r3:
        raise InputError("radii", "be 0 < r1 <= r2 <= r3", f"{(r1, r2, r3)}")
    rng = generator(seed)
    ball = np.arange(count) < (count + 1) // 2
    rng.shuffle(ball)
    direction = rng.normal(size=(count, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    fraction = rng.uniform(np.where(ball, 0.0, (r2 / r3) ** d), 1.0)  # of the volume within the outer radius
    radius = np.where(ball, r1, r3) * fraction ** (1 / d)
    return make_problem(
        "shells",
        np.where(ball, radius, np.clip(radius, r2, r3))[:, None] * direction,
        ball,
        rng,
        noise=noise,
        standardized=standardize,
        classes=("shell", "ball"),
        description=f"a ball in {d} dimensions and the shell around it, separated by a gap",
        citation="Local Linearity of ReLU Neural Networks (dissertation), section 4.2.2",
    )
