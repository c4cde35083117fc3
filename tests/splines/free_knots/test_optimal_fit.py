"""The optimal continuous piecewise-linear fit, against all choices of knots, other formulas and other searches."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creases.errors import InputError
from creases.splines import OptimalFit, optimal_fit


def error_with(knots, x, y, w):
    """Least squared error with given inner knots, by dense least squares in another basis."""
    basis = np.column_stack([np.ones_like(x), x, *(np.maximum(x - k, 0) for k in knots)]) * np.sqrt(w)[:, None]
    found = np.linalg.lstsq(basis, y * np.sqrt(w), rcond=None)[0]
    return ((basis @ found - y * np.sqrt(w)) ** 2).sum()


def by_brute_force(x, y, w, pieces, grid):
    inner = [g for g in np.unique(grid) if x.min() < g < x.max()]
    chosen = combinations(inner, min(pieces - 1, len(inner)))
    return min(error_with(knots, x, y, w) for knots in chosen)


def by_separate_lines(x, y, pieces):
    """Least squared error of lines on groups of neighbours, by brute force."""
    order = np.argsort(x)
    x, y = x[order], y[order]
    ends = [n for n in range(1, len(x)) if x[n - 1] < x[n]]
    best = np.inf
    for cuts in combinations(ends, min(pieces - 1, len(ends))):
        parts = zip(np.split(x, cuts), np.split(y, cuts), strict=True)
        best = min(best, sum(error_with([], a, b, np.ones_like(a)) for a, b in parts))
    return best


@st.composite
def small_data(draw):
    """A few data: on a grid (so that x repeat) or not, exact or noisy, constant, badly scaled, in any order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 10))
    x = rng.integers(0, 6, n).astype(float) if draw(st.booleans()) else rng.uniform(-1, 1, n)
    kind = draw(st.sampled_from(["noise", "kinks", "constant", "steps"]))
    y = {
        "noise": rng.normal(size=n),
        "kinks": np.abs(x - 0.3) - 2 * np.maximum(x - 0.6, 0),
        "constant": np.full(n, 0.1),
        "steps": np.sign(x - np.median(x)),
    }[kind]
    x_scale, y_scale = (10.0 ** draw(st.sampled_from([0, 0, -150, 100])) for _ in range(2))
    w = rng.uniform(0.1, 2, n) if draw(st.booleans()) else np.ones(n)
    if draw(st.booleans()):
        w[rng.integers(n)] = 0.0
    if not w.any():
        w[:] = 1.0
    return x * x_scale, y * y_scale, w, draw(st.integers(1, 12)), x_scale, y_scale


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(small_data())
def test_the_grid_optimum_is_that_of_all_choices_of_knots(case):
    x, y, w, pieces, x_scale, y_scale = case
    if y_scale > 1e50 * x_scale:  # slopes of 1e250 and more
        return
    fit = optimal_fit(x, y, pieces, weights=w)
    seen = w > 0
    unit_x, unit_y = x[seen] / x_scale, y[seen] / y_scale
    expected = by_brute_force(unit_x, unit_y, w[seen], pieces, unit_x)
    total = (w[seen] * (unit_y - unit_y.mean()) ** 2).sum()
    assert fit.grid_sse / y_scale**2 == pytest.approx(expected, abs=1e-9 * total + 1e-28)
    assert fit.sse / y_scale**2 <= expected + 1e-9 * total + 1e-28
    assert fit.pieces.count <= pieces
    assert ((w * (fit(x) - y) ** 2).sum() / y_scale**2) == pytest.approx(fit.sse / y_scale**2, abs=1e-9 * total + 1e-28)


@settings(max_examples=60, deadline=None)
@given(small_data())
def test_polishing_never_costs_and_never_beats_lines_that_are_not_joined(case):
    x, y, _, pieces, x_scale, y_scale = case
    if x_scale != 1 or y_scale != 1:
        return
    fit = optimal_fit(x, y, pieces)
    slack = 1e-11 * ((y - y.mean()) ** 2).sum() + 1e-28
    assert by_separate_lines(x, y, pieces) - slack <= fit.lower_bound <= fit.sse <= fit.grid_sse + slack
    assert fit.sse == pytest.approx(((fit(x) - y) ** 2).sum(), abs=slack)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_a_function_of_k_pieces_is_found_again(seed, pieces):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 1, 60)
    knots = np.sort(rng.choice(np.arange(5, 55, 5), pieces - 1, replace=False)) / 59.0 + rng.uniform(0, 0.01)
    jumps = rng.choice([-1, 1], pieces - 1) * rng.uniform(0.5, 2, pieces - 1)
    y = rng.normal() + rng.normal() * x + sum(j * np.maximum(x - k, 0) for j, k in zip(jumps, knots, strict=True))
    fit = optimal_fit(x, y, pieces)
    assert fit.sse <= 1e-18
    assert fit.knots == pytest.approx(knots, abs=1e-7)
    assert np.diff(fit.pieces.slopes) == pytest.approx(jumps, abs=1e-6)


@pytest.mark.slow
def test_of_many_data_knots_lie_on_an_even_choice_of_them():
    x = np.linspace(-1, 1, 5000)
    fit = optimal_fit(x, np.abs(x - 0.1), 2)
    assert not fit.is_optimal
    assert fit.knots == pytest.approx([0.1], abs=1e-6)
    assert fit.sse < 1e-9


def test_a_single_place_is_fitted_by_its_mean():
    fit = optimal_fit([2.0, 2.0, 2.0], [1.0, 2.0, 6.0], 4)
    assert (fit.pieces.count, float(fit(7.0)), fit.sse, fit.lower_bound) == (1, 3.0, 14.0, 14.0)
    assert optimal_fit([1.0], [5.0], 1).sse == 0


@pytest.mark.slow
def test_weights_count_as_repeated_data():
    rng = np.random.default_rng(2)
    x, y, times = rng.uniform(size=20), rng.normal(size=20), rng.integers(0, 4, 20)
    weighted = optimal_fit(x, y, 4, weights=times)
    repeated = optimal_fit(np.repeat(x, times), np.repeat(y, times), 4)
    assert weighted.sse == pytest.approx(repeated.sse, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_data_a_rounding_apart_are_fitted_as_what_they_are(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 5)
    x, y = np.concatenate([x, np.nextafter(x, 2)]), rng.normal(size=10)
    fit = optimal_fit(x, y, 4)
    assert fit.sse == pytest.approx(((fit(x) - y) ** 2).sum(), rel=1e-9)
    assert fit.lower_bound <= fit.sse <= fit.grid_sse


def test_the_fit_is_a_spline_too():
    x = np.linspace(-1, 1, 21)
    fit = optimal_fit(x, np.abs(x), 2)
    assert isinstance(fit, OptimalFit)
    assert fit.spline()(x) == pytest.approx(fit(x), abs=1e-14)
    assert fit.spline().jumps == pytest.approx([2.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], 2), "x must have at least one sample, got none"),
        (([1.0, np.nan], [1, 2], 2), "x must be finite, got nan"),
        (([1, 2], [1, np.inf], 2), "y must be finite, got inf"),
        (([1, 2], [1, 2, 3], 2), r"y must have shape \(2,\), got \(3,\)"),
        (([1, 2], [1, 2], 0), "pieces must be a positive integer, got 0"),
        (([1, 2], [1, 2], 1.5), "pieces must be a positive integer, got 1.5"),
        (([1, 2], [1e200, -1e200], 1), "y must have squared errors that fit into float64; scale y or weights down"),
        (([-1.5e308, 1.5e308], [1, 2], 1), "x must have a range that fits into float64; scale x down"),
        (([0, 1, 1e300], [1, 2, 3], 1), "x must have different values at least 1e-70 of their range apart"),
        (([0.0, 1e-300], [1e100, -1e100], 1), "x must have a range wide enough that slopes fit into float64"),
    ],
)
def test_wrong_data_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        optimal_fit(*arguments)


def test_wrong_weights_are_refused():
    with pytest.raises(
        InputError, match=r"weights must be non-negative with at least one positive entry, got a minimum of -1.0"
    ):
        optimal_fit([1, 2], [1, 2], 1, weights=[1, -1])
    with pytest.raises(
        InputError, match=r"weights must be non-negative with at least one positive entry, got a minimum of 0.0"
    ):
        optimal_fit([1, 2], [1, 2], 1, weights=[0, 0])
    with pytest.raises(InputError, match=r"weights must be 0 or at least 1e-70 of the largest one, got 1e-300 of it"):
        optimal_fit([1, 2, 3], [1, 2, 1], 1, weights=[1, 1, 1e300])
