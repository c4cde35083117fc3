"""Toy problems in the plane (the dissertation, chapters 4, 6 and 7): circle against annulus, XOR, and both at once."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

from creases._schema import BOOL, NUMBER, sequence
from creases._typing import Floats
from creases._validation import check_arguments, check_count, check_number
from creases.errors import InputError
from creases.problems._planar import Seed, generator, make_problem
from creases.problems._problem import Problem

#: Circle's radius, inner and outer radius of the annulus (r1, r2, r3), such that the circle, the gap and the annulus
#: have the same area: r2 = sqrt(2) r1, r3 = sqrt(3) r1.
EQUAL_AREA_RADII = (0.5, 0.5 * sqrt(2), 0.5 * sqrt(3))

CITATION = "Local Linearity of ReLU Neural Networks (dissertation)"


@check_arguments(radii=sequence(NUMBER, length=3), standardize=BOOL)
def circle_annulus(
    n: int = 1000,
    *,
    seed: Seed = 0,
    radii: tuple[float, float, float] = EQUAL_AREA_RADII,
    noise: float = 0.0,
    standardize: bool = False,
) -> Problem:
    """Make points in a disc (class 1) and in a ring around it, half of them each, uniformly distributed.

    The disc is ``|x| <= r1``, the ring ``r2 <= |x| <= r3``; the disc, the gap and the ring have equal areas by default
    (the dissertation, section 4.2.1). With an odd number of points the disc has one more. ``noise`` is the standard
    deviation of what is added to the coordinates, after the classes are set; ``standardize`` is "normalize" in Table
    4.2.
    """
    rng = generator(seed)
    X, disc = disc_and_ring(check_count(n, "n"), radii, rng)
    return make_problem(
        "circle_annulus",
        X,
        disc,
        rng,
        noise=noise,
        standardized=standardize,
        classes=("annulus", "circle"),
        description="a disc and the ring around it, separated by a gap",
        citation=f"{CITATION}, section 4.2.1",
    )


@check_arguments(standardize=BOOL)
def xor_circles(
    *,
    n: int = 400,
    seed: Seed = 0,
    radii: tuple[float, float, float] = EQUAL_AREA_RADII,
    noise: float = 0.0,
    standardize: bool = True,
) -> Problem:
    """Make the points of :func:`circle_annulus` with the classes [in the disc] xor [x1 x2 < 0].

    In the second and fourth quadrant the two classes are swapped. The dissertation only draws the problem (Figure 6.1,
    right); this formula is inferred from its text.
    """
    rng = generator(seed)
    X, disc = disc_and_ring(check_count(n, "n"), radii, rng)
    return make_problem(
        "xor_circles",
        X,
        disc ^ (X[:, 0] * X[:, 1] < 0),
        rng,
        noise=noise,
        standardized=standardize,
        classes=("even", "odd"),
        description="a disc and the ring around it, with the classes swapped in two opposite quadrants",
        citation=f"{CITATION}, section 6.1",
    )


@check_arguments(standardize=BOOL)
def xor(*, n: int = 400, seed: Seed = 0, noise: float = 0.0, standardize: bool = True) -> Problem:
    """Make points x ~ U(-1, 1)^2 of class 1 where x1 x2 < 0: the XOR of two signs (Figure 7.1, left)."""
    rng = generator(seed)
    X = rng.uniform(-1.0, 1.0, (check_count(n, "n"), 2))
    return make_problem(
        "xor",
        X,
        X[:, 0] * X[:, 1] < 0,
        rng,
        noise=noise,
        standardized=standardize,
        classes=("same sign", "different signs"),
        description="points of a square, classified by whether the signs of their coordinates differ",
        citation=f"{CITATION}, section 7.1",
    )


def disc_and_ring(
    n: int, radii: tuple[float, float, float], rng: np.random.Generator
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return (n, 2) points, half in the disc up to r1, half in the ring from r2 to r3; (n,) which are in the disc."""
    r1, r2, r3 = radii
    if not 0 < r1 <= r2 < r3:
        raise InputError("radii", "be 0 < r1 <= r2 < r3", f"{radii}")
    y = np.zeros(n, np.int64)
    y[: (n + 1) // 2] = 1
    rng.shuffle(y)
    disc = y == 1
    low, high = np.where(disc, 0.0, r2), np.where(disc, r1, r3)
    radius = np.sqrt(rng.uniform(low**2, high**2))  # uniform in area
    angle = rng.uniform(0, 2 * pi, n)
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), disc


# A ball against the shell around it, in any dimension (the dissertation, sections 4.1.3 and 4.2.2).

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

    As :func:`circle_annulus` in d dimensions (section 4.2.2), with ``equal_volume_radii(d)`` by default.
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
