import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creases.errors import InputError
from creases.splines import Shallow, Spline, theory, to_shallow, to_spline
from splines_cases import shallow_cases


def loss_slice(spline, unit, x, y):
    """The slice in a breakpoint of a spline."""
    return theory.loss_slice(to_shallow(spline), unit, x, y)


def rest(spline, unit):
    """The function without one of its units."""
    return Spline(spline.o0, spline.o1, *(np.delete(part, unit) for part in (spline.beta, spline.mu, spline.s)))


def brute(spline, unit, x, y, betas):
    """The loss at each place of the breakpoint, by summing over the data."""
    way = x - np.asarray(betas)[:, None]
    e = rest(spline, unit)(x) - y + np.where(spline.s[unit] * way > 0, spline.mu[unit] * way, 0.0)
    return 0.5 * (e**2).sum(axis=1)


@st.composite
def splines(draw):
    """A spline with data that repeat, lie on breakpoints, or are one alone; orientations both ways, mu may be 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    H, N = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    x = rng.uniform(-2, 2, N) if draw(st.booleans()) else rng.integers(-2, 3, N).astype(float)
    mu = rng.normal(size=H) * draw(st.sampled_from([0.0, 1.0, 1.0, 100.0]))
    spline = Spline(
        *rng.normal(size=2), rng.integers(-2, 3, H) + rng.choice([0, 0.5], H), mu, rng.choice([-1.0, 1.0], H)
    )
    return spline, int(rng.integers(H)), x, rng.normal(size=N)


@settings(deadline=None)
@given(splines())
def test_the_slice_is_the_loss_with_the_breakpoint_moved(case):
    spline, unit, x, y = case
    betas = np.concatenate([np.linspace(-3, 3, 25), x, x + 1e-9])
    expected = brute(spline, unit, x, y, betas)
    np.testing.assert_allclose(loss_slice(*case)(betas), expected, rtol=1e-9, atol=1e-10 * (1 + expected.max()))


@settings(deadline=None)
@given(splines())
def test_the_derivative_jumps_at_a_datum_by_orientation_times_delta_slope_times_what_the_rest_misses(case):
    spline, unit, x, y = case
    found = loss_slice(*case)
    r = rest(spline, unit)(x) - y
    expected = [spline.s[unit] * spline.mu[unit] * r[x == knot].sum() for knot in found.knots]
    jumps = np.diff(found.derivatives(), axis=1)[:, 0]
    np.testing.assert_allclose(jumps, expected, atol=1e-10 * (1 + np.abs(found.coefficients).max()))


@settings(deadline=None)
@given(splines())
def test_the_curvature_counts_the_data_that_the_unit_sees(case):
    spline, unit, x, _ = case
    found = loss_slice(*case)
    ends = np.concatenate([[found.knots[0] - 1], found.knots, [found.knots[-1] + 1]])
    middles = (ends[:-1] + ends[1:]) / 2
    seen = [(spline.s[unit] * (x - beta) > 0).sum() for beta in middles]
    np.testing.assert_allclose(found.curvatures, spline.mu[unit] ** 2 * np.array(seen), rtol=1e-12)


@settings(deadline=None)
@given(splines())
def test_knots_are_maxima_and_minima_as_their_types_say(case):
    spline, unit, x, y = case
    found = loss_slice(*case)
    slopes = np.abs(found.derivatives())
    step = 1e-6
    for knot, kind, slope in zip(found.knots, found.types(), slopes.min(axis=1), strict=True):
        if slope < 1e-3 * (1 + found.coefficients[:, 2].max()):
            continue  # too flat to tell by a difference
        left, here, right = brute(spline, unit, x, y, [knot - step, knot, knot + step])
        assert kind == {(True, True): 2, (False, False): 3}.get((left < here, right < here), 1)


@settings(max_examples=50, deadline=None)
@given(splines())
def test_no_place_on_a_fine_grid_is_better_than_the_minimum(case):
    spline, unit, x, y = case
    place, value = loss_slice(*case).minimum()
    grid = np.concatenate([np.linspace(-4, 4, 801), x])
    losses = brute(spline, unit, x, y, grid)
    assert value <= losses.min() + 1e-10 * (1 + losses.max())
    np.testing.assert_allclose(brute(spline, unit, x, y, [place]), value, rtol=1e-8, atol=1e-9 * (1 + losses.max()))


@settings(deadline=None)
@given(shallow_cases())
def test_a_networks_slice_is_its_splines(case):
    net, x, y = case
    for unit in np.flatnonzero(net.w != 0):
        found = theory.loss_slice(net, int(unit), x, y)
        order = np.cumsum(net.w != 0)[unit] - 1
        expected = loss_slice(to_spline(net), int(order), x, y)
        size = 1 + np.abs(expected.coefficients).max()
        np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-7, atol=1e-8 * size)
        assert found.beta == pytest.approx(expected.beta)


def test_the_breakpoint_now_gives_the_loss_now():
    spline, x = Spline(0, 0.5, [0.5, -1.0], [1.0, 2.0], [1.0, -1.0]), np.linspace(-2, 2, 9)
    found = loss_slice(spline, 1, x, np.sin(x))
    np.testing.assert_allclose(found(found.beta), 0.5 * np.sum((spline(x) - np.sin(x)) ** 2))


def test_a_knot_is_of_each_type():
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([2.0, -2.0, 3.0, 0.5])
    found = loss_slice(Spline(0, 0, [0.5], [1.0], [1.0]), 0, x, y)
    assert found.types().tolist() == [1, 3, 2, 0]  # beyond the last datum the unit sees nothing
    assert found.minimum()[0] == min((1.0, 2.5), key=lambda place: float(found(place)))


def test_far_from_zero_digits_are_kept():
    x = 1e6 + np.linspace(0, 1, 11)
    spline = Spline(0.0, 0.0, [1e6 + 0.42], [2.0], [1.0])
    found = loss_slice(spline, 0, x, np.zeros(11))
    betas = 1e6 + np.linspace(0, 1, 7)
    np.testing.assert_allclose(found(betas), brute(spline, 0, x, 0.0, betas), rtol=1e-8)


def test_without_data_the_loss_is_zero_everywhere():
    found = loss_slice(Spline(0, 0, [0.5], [1.0], [1.0]), 0, [], [])
    assert found([0.0, 7.0]).tolist() == [0, 0]
    assert found.minimum() == (0.5, 0.0)


def test_a_unit_without_breakpoint_is_refused():
    with pytest.raises(InputError, match="unit must have a breakpoint, got unit 1 with w = 0"):
        theory.loss_slice(Shallow([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]), 1, [1.0], [1.0])
    with pytest.raises(InputError, match="unit must be an integer from 0 to 0"):
        loss_slice(Spline(0, 0, [0.5], [1.0], [1.0]), 1, [1.0], [1.0])


def test_what_overflows_is_refused():
    with pytest.raises(InputError, match="net must have products with the data that fit into float64"):
        loss_slice(Spline(0, 0, [0.5], [1e200], [1.0]), 0, [1.0], [1.0])
