"""Shallow networks of one input for tests, ugly ones as ordinary draws, and their values in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from creases.splines import Shallow

Array = NDArray[np.float64]

#: What a unit can be: see ``_unit``.
UNITS = ("plain", "no_w", "no_b", "no_v", "all_zero", "huge_w", "tiny_w", "far", "subnormal", "copy", "opposite")


@st.composite
def shallow_networks(draw: st.DrawFn, max_width: int = 8) -> Shallow:
    """Networks of 0 to ``max_width`` units of all kinds, with or without leaks and a skip."""
    kinds = draw(st.lists(st.sampled_from(UNITS), max_size=max_width))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    units: list[tuple[float, float, float]] = []
    for kind in kinds:
        units.append(_unit(kind, rng, units))
    w, b, v = np.array(units).reshape(-1, 3).T
    leak = draw(st.sampled_from([0.0, 0.0, 0.1, -1.0, 1.0, "each"]))
    leaks = rng.choice([0.0, 0.25, 1.0, -1.0, 3.0], len(w)) if leak == "each" else leak
    c0, c1 = draw(st.sampled_from([(0.0, 0.0), (1.5, 0.0), (-0.3, 0.7), (0.0, -1e6)]))
    return Shallow(w, b, v, c0, c1, leaks)


def _unit(kind: str, rng: np.random.Generator, others: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    w, b, v = rng.normal(size=3)
    changed = {
        "no_w": (0.0, b, v),
        "no_b": (w, 0.0, v),
        "no_v": (w, b, 0.0),
        "all_zero": (0.0, 0.0, 0.0),
        "huge_w": (w * 2.0**40, b, v),
        "tiny_w": (w * 2.0**-40, b, v),
        "far": (w * 1e-8, b * 1e4, v),
        "subnormal": (5e-324, b, v),
    }
    if others and kind == "copy":
        return others[-1]
    if others and kind == "opposite":  # breakpoint of the last, other orientation
        return -2 * others[-1][0], -2 * others[-1][1], v
    return changed.get(kind, (float(w), float(b), float(v)))


def exact(f: Shallow, x: Array) -> Array:
    """Values in exact fractions, rounded once."""
    return np.array([float(_exact(f, Fraction(float(t)))) for t in x])


def _exact(f: Shallow, x: Fraction) -> Fraction:
    total = Fraction(f.c0) + Fraction(f.c1) * x
    for row in zip(f.w, f.b, f.v, f.leak, strict=True):
        w, b, v, leak = (Fraction(float(entry)) for entry in row)
        z = w * x + b
        total += v * (z if z > 0 else leak * z)
    return total


def terms(f: Shallow, x: Array) -> Array:
    """Sum of the magnitudes of a network's terms at x: what rounding is relative to."""
    z = np.abs(x[:, None] * f.w) + np.abs(f.b)
    return abs(f.c0) + np.abs(f.c1 * x) + (z * np.maximum(1, np.abs(f.leak))) @ np.abs(f.v)


def inputs(f: Shallow, seed: int = 0) -> Array:
    """Inputs of many sizes, and the breakpoints themselves."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        beta = -f.b / f.w
    beta = beta[np.isfinite(beta) & (np.abs(beta) < 1e100)]
    return np.concatenate([[0.0], rng.normal(size=20) * 3, rng.normal(size=8) * 1e6, beta, beta * (1 + 1e-9)])
