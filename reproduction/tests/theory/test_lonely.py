import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creases.errors import InputError
from creases.splines.theory import lonely_samples
from creases_reproduction.splines.theory.lonely import (
    interlacing_spline,
    lonely_fraction,
    lonely_probability,
    simulate_lonely,
)

places = st.floats(-3, 3).map(lambda x: round(x, 1))  # coarse, so that data and breakpoints coincide often


@settings(deadline=None)
@given(st.lists(places, min_size=1, max_size=8), st.lists(places, max_size=8))
def test_a_sample_is_lonely_when_no_other_has_the_same_breakpoints_on_its_left(x, breakpoints):
    piece = [sum(b < value for b in breakpoints) for value in x]
    assert lonely_samples(x, breakpoints).tolist() == [piece.count(p) == 1 for p in piece]


@pytest.mark.parametrize(("how", "value"), [("spaced", 0.618), ("uniform", 0.3875)])
def test_the_probability_that_twenty_data_are_lonely_between_400_breakpoints(how, value):
    assert lonely_probability(20, 400, how) == pytest.approx(value, abs=5e-4)


def test_the_spaced_probability_is_near_its_exponential_form():
    assert lonely_probability(20, 400) == pytest.approx(np.exp(-20 * 19 / (2 * 401)), abs=0.01)


@pytest.mark.parametrize("how", ["spaced", "uniform"])
@pytest.mark.parametrize(("n", "h"), [(1, 0), (1, 3), (2, 1), (3, 2), (3, 10), (5, 40), (20, 400)])
def test_formulas_agree_with_simulation(n, h, how):
    drawn = simulate_lonely(n, h, how, trials=20_000 if h < 100 else 4000, seed=1)
    probability, fraction = lonely_probability(n, h, how), lonely_fraction(n, h, how)
    assert abs(drawn.fraction - fraction) <= 4.5 * drawn.fraction_error + 1e-12
    error = np.sqrt(probability * (1 - probability) / drawn.trials)
    assert abs(drawn.probability - probability) <= 4.5 * error + 1e-9


def test_more_data_than_pieces_are_never_all_lonely():
    assert lonely_probability(5, 3) == lonely_probability(5, 3, "uniform") == 0
    assert simulate_lonely(5, 3, trials=100).probability == 0
    assert lonely_fraction(2, 0) == lonely_fraction(2, 0, "uniform") == 0


def test_huge_counts_neither_overflow_nor_leave_the_unit_interval():
    for how in ("spaced", "uniform"):
        assert 0 <= lonely_probability(10**5, 10**6, how) < 1e-300
        assert lonely_probability(10**3, 10**12, how) == pytest.approx(1, abs=1e-5)
        assert lonely_fraction(10**3, 10**12, how) == pytest.approx(1, abs=1e-5)


def test_the_same_seed_draws_the_same():
    assert simulate_lonely(9, 9, "cauchy", seed=3, trials=50) == simulate_lonely(9, 9, "cauchy", seed=3, trials=50)


def test_no_data_are_lonely():
    assert lonely_samples([], [0.0]).tolist() == []


def test_breakpoints_at_infinity_cut_nothing():
    assert lonely_samples([0.0, 1.0], [np.inf, -np.inf]).tolist() == [False, False]


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30, unique=True), st.integers(0, 99))
def test_units_interlaced_with_the_data_interpolate_them(x, seed):
    y = np.random.default_rng(seed).normal(size=len(x))
    f = interlacing_spline(np.array(x) / 10, y)
    assert f.width == len(x) - 1
    np.testing.assert_allclose(f(np.array(x) / 10), y, atol=1e-8 * (1 + np.abs(f.mu).max(initial=0)))
    assert lonely_samples(np.array(x) / 10, f.beta).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lonely_probability(0, 3), "n must be a positive integer, got 0"),
        (lambda: lonely_fraction(3, -1), "h must be an integer, at least 0, got -1"),
        (lambda: lonely_fraction(3, 3, "cauchy"), "placement must be 'spaced' or 'uniform', got 'cauchy'"),
        (lambda: simulate_lonely(3, 3, "even"), "placement must be 'spaced', 'uniform' or 'cauchy', got 'even'"),
        (lambda: simulate_lonely(3, 3, interval=(1, 1)), "interval must be two finite numbers"),
        (lambda: interlacing_spline([1.0, 1.0], [0.0, 1.0]), "x must have at least one value, all different"),
        (lambda: lonely_samples([np.nan], [0.0]), "x must be finite, got nan"),
        (lambda: lonely_samples([0.0], [np.nan]), "breakpoints must have no NaN, got 1 of them"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
