"""The kernel regime's closed form, against scipy's splines and against its own stationarity conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline, make_smoothing_spline

from creases.errors import InputError
from creases.splines.theory import minimum_norm_fit


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 8),
    st.integers(1, 40),
    st.sampled_from([0.0, 0.0, 1e-3, 1.0]),
    st.sampled_from([1.0, 1e-6, 1e6]),
)
def test_delta_slopes_solve_the_saddle_point_system(seed, n, width, ridge, scale):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, n))
    y, beta = rng.normal(size=n), rng.uniform(-1, 1, width)
    if n > 1 and np.diff(x).min() < 1e-3:  # too ill-conditioned to compare with
        return
    f = minimum_norm_fit(x * scale, y, beta * scale, ridge=ridge * scale**2)
    phi, free = np.maximum(x[:, None] - beta, 0), np.column_stack([np.ones(n), x])
    inner = phi @ phi.T + ridge * np.eye(n)
    system = np.block([[inner, free], [free.T, np.zeros((2, 2))]])
    a = np.linalg.lstsq(system, np.concatenate([y, [0, 0]]), rcond=1e-11)[0][:n]
    residual = np.linalg.norm(
        system @ np.linalg.lstsq(system, np.concatenate([y, [0, 0]]), rcond=1e-11)[0] - [*y, 0, 0]
    )
    if residual > 1e-9:  # the data cannot be met: the system has no solution, minimum_norm fits
        return
    assert f.mu * scale == pytest.approx(phi.T @ a, abs=1e-5 * (1 + np.abs(phi.T @ a).max()))
    if ridge == 0:
        assert f(x * scale) == pytest.approx(y, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 8))
def test_no_other_interpolant_has_smaller_delta_slopes(seed, n):
    rng = np.random.default_rng(seed)
    x, y, beta = np.arange(n) + rng.uniform(0, 0.5, n), rng.normal(size=n), rng.uniform(0, n, 60)
    f = minimum_norm_fit(x, y, beta)
    phi = np.column_stack([np.maximum(x[:, None] - beta, 0), np.ones(n), x])
    *_, nothing = np.linalg.svd(phi)
    for direction in nothing[n:]:  # changes of mu and of the linear part that no datum sees
        assert abs(direction[:-2] @ f.mu) < 1e-8 * (1 + np.abs(f.mu).max())


@pytest.mark.parametrize(("width", "error"), [(100, 5e-3), (1000, 5e-5), (10_000, 5e-7)])
def test_equally_spaced_breakpoints_give_the_minimum_norm_fit(width, error):
    x, t = np.linspace(-3, 3, 12), np.linspace(-3, 3, 1001)
    f = minimum_norm_fit(x, np.sin(2 * x), np.linspace(-3, 3, width))
    assert np.abs(f(t) - CubicSpline(x, np.sin(2 * x), bc_type="natural")(t)).max() < error


@pytest.mark.parametrize("ridge", [0.1, 10.0, 1000.0])
def test_a_ridge_gives_the_smoothing_spline(ridge):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, 25))
    y = np.sin(2 * x) + 0.2 * rng.normal(size=25)
    width, t = 5000, np.linspace(x[0], x[-1], 500)
    f = minimum_norm_fit(x, y, np.linspace(x[0], x[-1], width), ridge=ridge)
    smooth = make_smoothing_spline(x, y, lam=ridge * (x[-1] - x[0]) / width)
    assert np.abs(f(t) - smooth(t)).max() < 2e-4


def test_the_natural_spline_continues_as_straight_lines():
    x, y = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.0, 1.0, -1.0, 2.0])
    f, order = minimum_norm_fit(x, y), np.argsort(x)
    inside = CubicSpline(x[order], y[order], bc_type="natural")
    t = np.linspace(-2, 3, 50)
    assert f(t) == pytest.approx(inside(t), abs=1e-14)
    assert f(x) == pytest.approx(y, abs=1e-14)
    assert f([-10.0, 13.0]) == pytest.approx([1 - 8 * inside(-2, 1), 2 + 10 * inside(3, 1)], abs=1e-12)
    assert f([-10.0, -3.0, 3.5, 13.0], 2) == pytest.approx(np.zeros(4), abs=1e-13)


def test_few_data_and_no_breakpoints_are_ordinary():
    line = minimum_norm_fit([0.0, 1.0, 2.0], [0.0, 1.0, 5.0], [])
    assert (line.o0, line.o1) == pytest.approx((-0.5, 2.5))
    point = minimum_norm_fit([4.0], [7.0], [0.0, 5.0])
    assert float(point(4.0)) == pytest.approx(7.0)
    assert point.mu == pytest.approx([0, 0], abs=1e-14)
    double = minimum_norm_fit([1.0, 1.0, 2.0, 3.0], [0.0, 2.0, 0.0, 1.0], [1.5, 2.5])
    assert double([1.0, 2.0, 3.0]) == pytest.approx([1.0, 0.0, 1.0])


def test_wrong_data_are_refused():
    with pytest.raises(InputError, match="x must have at least one sample, got none"):
        minimum_norm_fit([], [], [0.0])
    with pytest.raises(InputError, match="ridge must be a finite number at least 0, got -1"):
        minimum_norm_fit([1.0], [1.0], [0.0], ridge=-1)
    with pytest.raises(InputError, match="beta must be finite, got inf"):
        minimum_norm_fit([1.0], [1.0], [np.inf])
    with pytest.raises(
        InputError, match="x must have at least two values, all different; merge samples with the same x"
    ):
        minimum_norm_fit([1.0, 1.0], [1.0, 2.0])
