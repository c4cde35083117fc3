"""Fits with bounded slopes, shapes and given points; chosen numbers of pieces; standard errors."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import isotonic_regression

from creases.errors import InputError
from creases.splines import optimal_fit
from creases.splines._free_knots.constrained_fit import constrained_least_squares


def noisy(seed, n=40):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 4, n))
    return x, np.sin(2 * x) + x / 2 + 0.2 * rng.normal(size=n)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_constrained_least_squares_agree_with_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(8, 4)), rng.normal(size=8)
    inside = rng.normal(size=4)
    E, G = rng.normal(size=(1, 4)), rng.normal(size=(5, 4))
    f, h = E @ inside, G @ inside - rng.uniform(0, 0.5, 5)
    z = constrained_least_squares(A, b, E, f, G, h)
    assert np.abs(E @ z - f).max() < 1e-9
    assert (G @ z - h).min() > -1e-9
    conditions = [
        {"type": "eq", "fun": lambda z: E @ z - f, "jac": lambda z: E},
        {"type": "ineq", "fun": lambda z: G @ z - h, "jac": lambda z: G},
    ]
    other = minimize(lambda z: ((A @ z - b) ** 2).sum(), inside, method="SLSQP", constraints=conditions, tol=1e-12)
    assert ((A @ z - b) ** 2).sum() <= other.fun * (1 + 1e-6)


def test_conditions_that_contradict_each_other_have_no_solution():
    one = np.ones((1, 1))
    assert constrained_least_squares(one, np.zeros(1), one, np.ones(1), -one, np.zeros(1)) is None
    assert constrained_least_squares(one, np.zeros(1), one[:0], np.zeros(0), np.vstack([one, -one]), np.ones(2)) is None


@pytest.mark.slow
def test_slopes_stay_within_their_bounds_and_cost_little_more_than_needed():
    x, y = noisy(0)
    free, rising = optimal_fit(x, y, 5), optimal_fit(x, y, 5, slopes=(0, np.inf))
    assert free.pieces.slopes.min() < 0
    assert rising.pieces.slopes.min() > -1e-9
    assert not rising.is_optimal
    assert free.lower_bound <= rising.lower_bound <= rising.sse
    least = ((isotonic_regression(y) - y) ** 2).sum()  # of all increasing functions
    assert least < rising.sse < 1.3 * least
    assert np.abs(optimal_fit(x, y, 5, slopes=(-0.5, 0.5)).pieces.slopes).max() <= 0.5 + 1e-9


def test_an_optimum_that_satisfies_the_conditions_is_kept():
    x, y = noisy(1)
    free = optimal_fit(x, y, 3)
    bounded = optimal_fit(x, y, 3, slopes=(-100, 100))
    assert bounded.is_optimal
    assert bounded.sse == free.sse


def test_no_choice_of_knots_on_the_samples_beats_a_convex_fit():
    rng = np.random.default_rng(2)
    x = np.linspace(-1, 1, 15)
    y = np.abs(x) + 0.3 * rng.normal(size=15)
    fit = optimal_fit(x, y, 3, shape="convex")
    assert (np.diff(fit.pieces.slopes) >= -1e-9).all()
    best = np.inf
    for knots in combinations(x[1:-1], 2):
        A = np.column_stack([np.ones_like(x), x, *(np.maximum(x - knot, 0) for knot in knots)])
        G = np.eye(4)[2:]
        z = constrained_least_squares(A, y, G[:0], np.zeros(0), G, np.zeros(2))
        best = min(best, ((A @ z - y) ** 2).sum())
    assert fit.sse <= best * (1 + 1e-9)
    mirrored = optimal_fit(x, -y, 3, shape="concave")
    assert mirrored.sse == pytest.approx(fit.sse, rel=1e-9)


@pytest.mark.slow
def test_the_fit_passes_through_points_inside_and_outside_the_data():
    x, y = noisy(3)
    points = [(-0.5, 1.0), (2.0, 0.0), (4.5, 3.0)]
    fit = optimal_fit(x, y, 5, through=points)
    assert fit([point[0] for point in points]) == pytest.approx([point[1] for point in points], abs=1e-8)
    assert optimal_fit(x, y, 5).sse < fit.sse


@pytest.mark.parametrize("criterion", ["bic", "cv"])
def test_the_number_of_pieces_of_the_data_is_chosen(criterion):
    rng = np.random.default_rng(7)
    x = np.linspace(0, 3, 60)
    y = np.abs(x - 1) - 2 * np.maximum(x - 2, 0) + 0.05 * rng.normal(size=60)
    fit = optimal_fit(x, y, criterion, max_pieces=5)
    assert fit.pieces.count == 3
    assert list(fit.selection) == [1, 2, 3, 4, 5]
    assert min(fit.selection, key=fit.selection.get) == 3
    if criterion == "bic":
        assert fit.selection[3] == pytest.approx(60 * np.log(fit.sse / 60) + 6 * np.log(60))


def test_more_pieces_than_the_data_can_judge_are_not_considered():
    x = np.arange(7.0)
    assert max(optimal_fit(x, np.cos(x), "bic").selection) == 3  # four pieces have eight parameters


def test_standard_errors_agree_with_simulation():
    rng = np.random.default_rng(8)
    x = np.linspace(0, 2, 60)
    clean = np.abs(x - 1.013)
    fits = [optimal_fit(x, clean + 0.1 * rng.normal(size=60), 2) for _ in range(150)]
    spread = np.std([fit.pieces.slopes for fit in fits], axis=0)
    y = clean + 0.1 * rng.normal(size=60)
    statistics = optimal_fit(x, y, 2).statistics(x, y)
    assert statistics.standard_errors == pytest.approx(spread, rel=0.3)
    assert statistics.knot_standard_errors == pytest.approx(np.std([fit.knots for fit in fits]), rel=0.3)
    assert statistics.degrees_of_freedom == 56
    low, high = statistics.interval().T
    assert (low < statistics.slopes).all()
    assert (statistics.slopes < high).all()


def test_p_values_of_one_piece_are_those_of_linear_regression():
    from scipy.stats import linregress

    rng = np.random.default_rng(9)
    x, y = rng.uniform(size=20), rng.normal(size=20)
    statistics, other = optimal_fit(x, y, 1).statistics(x, y), linregress(x, y)
    assert statistics.standard_errors == pytest.approx([other.stderr])
    assert statistics.p_values == pytest.approx([other.pvalue])


def test_slopes_that_the_data_do_not_determine_have_no_standard_error():
    x, y = [0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0, 9.0]
    statistics = optimal_fit(x, y, 2).statistics(x, y)
    assert np.isnan(statistics.standard_errors[1])
    assert np.isnan(optimal_fit(x[:3], y[:3], 2).statistics(x[:3], y[:3]).p_values).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slopes": (1, 0)}, r"slopes must be the smallest and the largest slope, got \(1, 0\)"),
        ({"slopes": 3}, "slopes must be the smallest and the largest slope, got 3"),
        ({"shape": "round"}, "shape must be"),
        ({"through": [(1, 1), (1, 2)]}, "through must be points with different x"),
        (
            {"through": [(0, 0), (1, 9), (2, 0)], "shape": "convex"},
            "pieces must allow a function that satisfies all conditions, got 3; use more pieces, or weaken slopes",
        ),
        ({"pieces": "best"}, "pieces must be"),
        ({"max_nodes": -1}, "max_nodes must be an integer, at least 0, got -1"),
    ],
)
def test_conditions_that_cannot_be_met_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        optimal_fit(np.arange(5.0), [0, 1, 0, 2, 1], **{"pieces": 3, **options})
