"""The best place for one knot, in closed form, against scans over many places."""

from __future__ import annotations

import numpy as np
import pytest

from creases.splines._free_knots.grid_search import error_at, exchange, place_round, polish


def example(seed):
    """Data on [0, 1] with both ends, some x repeated, and knots, some on data."""
    rng = np.random.default_rng(seed)
    n, pieces = int(rng.integers(5, 20)), int(rng.integers(2, 6))
    x = np.sort(rng.uniform(size=n))
    x[1] = x[2]
    x = (x - x[0]) / (x[-1] - x[0])
    inner = rng.uniform(size=pieces - 1)
    inner[0] = x[n // 2]
    knots = np.concatenate([[0.0], np.sort(inner), [1.0]])
    return knots, x, rng.normal(size=n), rng.uniform(0.2, 2, n)


def dense_error(knots, x, y, w):
    """Least squared error with given knots, in another basis."""
    basis = np.column_stack([np.ones_like(x), x, np.maximum(x[:, None] - knots[1:-1], 0)]) * np.sqrt(w)[:, None]
    found = np.linalg.lstsq(basis, y * np.sqrt(w), rcond=None)[0]
    return ((basis @ found - y * np.sqrt(w)) ** 2).sum()


def scan(rest, x, y, w, low=0.0, high=1.0):
    """The least error with one knot more, over many places and at the data."""
    places = np.union1d(np.linspace(low, high, 400), x)
    places = places[(places > low) & (places < high) & ~np.isin(places, rest)]
    return min(error_at(np.sort(np.append(rest, place)), x, y, w) for place in places)


@pytest.mark.parametrize("seed", range(8))
def test_no_place_of_a_scan_beats_the_best_exchange(seed):
    knots, x, y, w = example(seed)
    found, error = exchange(knots, x, y, w)
    assert len(np.setdiff1d(found, knots)) <= 1
    assert error == pytest.approx(dense_error(found, x, y, w), rel=1e-8, abs=1e-12)
    scanned = min(scan(np.delete(knots, gone), x, y, w) for gone in range(1, len(knots) - 1))
    assert error <= scanned * (1 + 1e-9) + 1e-13
    assert error >= scanned * 0.8 - 1e-13  # the scan is not far off


@pytest.mark.parametrize("seed", range(8))
def test_every_knot_of_a_round_moves_to_its_best_place_between_neighbours(seed):
    knots, x, y, w = example(seed)
    moved = knots.copy()
    place_round(moved, x, y, w)
    for k in range(1, len(knots) - 1):
        now = np.concatenate([moved[: k + 1], knots[k + 1 :]])  # knots after k had not moved yet
        best = scan(np.delete(now, k), x, y, w, now[k - 1], now[k + 1])
        assert error_at(now, x, y, w) <= best * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("seed", range(8))
def test_after_polishing_no_other_place_for_any_knot_is_better(seed):
    knots, x, y, w = example(seed)
    before = error_at(knots, x, y, w)
    error = polish(knots, x, y, w)
    assert error <= before
    assert error == pytest.approx(dense_error(knots, x, y, w), rel=1e-8, abs=1e-12)
    for gone in range(1, len(knots) - 1):
        assert error <= scan(np.delete(knots, gone), x, y, w) * (1 + 1e-8) + 1e-13


def test_lines_that_cross_between_two_data_are_joined_there():
    x = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    knots = np.array([0.0, 0.9, 1.0])
    place_round(knots, x, np.where(x < 0.6, x, 1.2 - x), np.ones(5))
    assert knots[1] == pytest.approx(0.6, abs=1e-15)


def test_where_a_jump_takes_two_knots_they_share_the_gap():
    x = np.linspace(0, 1, 11)
    knots = np.array([0.0, 0.2, 0.8, 1.0])
    error = polish(knots, x, np.sign(x - 0.55), np.ones(11))
    assert error < 1e-25
    assert ((knots[1:-1] > 0.5) | np.isclose(knots[1:-1], 0.5)).all()
    assert ((knots[1:-1] < 0.6) | np.isclose(knots[1:-1], 0.6)).all()
