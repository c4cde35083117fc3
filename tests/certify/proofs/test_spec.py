"""The lines that search and checker share enclose units, in floats of any scale and in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from creases.certify.proofs._spec import is_infinite, relu_lines

LEAKS = np.array([0.0, 0.01, 1e-200, 1.0, 3.0, -0.5])


def units(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ends (50, 6) around 0 from 1e-320 to 1e300, some of them on one side."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.uniform(-1, 1, (2, 50, 6)) * 10.0 ** rng.uniform(-320, 300, (2, 50, 6)), axis=0)
    return ends[0], ends[1]


@pytest.mark.parametrize("steep", [None, False, True])
@pytest.mark.parametrize("seed", range(2))
def test_lines_enclose_units_at_both_ends_and_at_0(seed: int, steep: bool | None) -> None:
    low, high = units(seed)
    on = low >= 0
    lines = relu_lines(low, high, LEAKS, on, ~on & (high <= 0), steep)
    for i, j in np.ndindex(low.shape):
        above, above_at, below, below_at = (line[i, j] for line in lines)
        if not np.isfinite([above, above_at, below, below_at]).all():
            continue
        for z in {low[i, j], high[i, j], min(max(0.0, low[i, j]), high[i, j])}:
            h = Fraction(z) * (1 if z > 0 else Fraction(LEAKS[j]))
            assert Fraction(below) * Fraction(z) + Fraction(below_at) <= h
            assert h <= Fraction(above) * Fraction(z) + Fraction(above_at)


def test_lines_in_fractions_are_chords() -> None:
    low, high = (np.array([Fraction(v)], dtype=object) for v in (-1, 2))
    none = np.zeros(1, bool)
    lines = relu_lines(low, high, np.array([Fraction(0)], dtype=object), none, none)
    assert [line[0] for line in lines] == [Fraction(2, 3), Fraction(2, 3), 1, 0]
    assert is_infinite(np.array([Fraction(10) ** 400, np.inf], dtype=object)).tolist() == [False, True]
