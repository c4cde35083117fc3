"""Functions of vectors are those of numpy, to the last places, entry by entry."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from creases.lab import _simd as simd


def over(function, x: np.ndarray) -> np.ndarray:
    """A function of narrow vectors over all entries of a flat array."""

    @numba.njit
    def loop(source, target, count):
        for k in range(count):
            simd.store(simd.vectors(target, 0), k, function(simd.load(simd.vectors(source, 0), k)))

    lanes = simd.BYTES // x.itemsize
    padded = -(-len(x) // lanes) * lanes
    both = [np.zeros(padded + lanes, x.dtype) for _ in range(2)]
    source, target = (memory[-memory.ctypes.data % simd.BYTES // x.itemsize :] for memory in both)
    source[: len(x)] = x
    loop(source, target, padded // lanes)
    return target[: len(x)].copy()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "low", "high"), [("exp", -80, 1), ("log1p", -30, 60), ("sqrt", -60, 60), ("inverse", -60, 60)]
)
def test_functions_of_vectors_are_right_to_the_last_places(name, low, high, dtype):
    x = np.random.default_rng(0).uniform(low, high, 5000)
    x = -abs(x) if name == "exp" else np.exp(x)
    x = x.astype(dtype)
    exact = {"exp": np.exp, "log1p": np.log1p, "sqrt": np.sqrt, "inverse": np.reciprocal}[name](x.astype(np.longdouble))
    found = over(getattr(simd, name), x)
    assert (abs(found / exact - 1) < 4 * np.finfo(dtype).eps).all()


def test_ends_of_the_line():
    x = np.array([0.0, -1e30, np.nan, -np.inf], np.float32)
    found = over(simd.exp, x)
    assert found[0] == 1
    assert np.isnan(found[2])
    assert (found[[1, 3]] < 1e-37).all()
    same = np.array([0.0, np.inf, np.nan, 1e-30], np.float32)
    assert_array_equal(over(simd.log1p, same), same)
    roots = over(simd.sqrt, np.array([0.0, np.inf, 1.0, 4.0], np.float32))
    assert roots[0] < 1e-18
    assert roots[1] > 1e18
    assert_array_equal(roots[2:], [1, 2])
