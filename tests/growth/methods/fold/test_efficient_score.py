"""The efficient score and the direction it chooses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creases.growth.methods._fold import efficient_score as module
from creases.growth.methods._fold.efficient_score import EfficientScore, best_direction, unit_values
from creases.growth.methods._fold.typical_mispredictions import decisions


def setting(seed, n=80, f=3, d=4):
    rng = np.random.default_rng(seed)
    F = np.column_stack([np.maximum(rng.normal(size=(n, f)), 0), np.ones(n)])
    return rng, F, rng.normal(size=n), rng.uniform(0.05, 0.25, n), rng.normal(size=(n, d))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_in_least_squares_the_gain_is_what_refitting_all_output_weights_gains(seed):
    rng, F, target, _, D = setting(seed)
    h = np.maximum(D @ rng.normal(size=4), 0)
    fitted = F @ np.linalg.lstsq(F, target, rcond=None)[0]
    both = np.column_stack([F, h])
    refitted = both @ np.linalg.lstsq(both, target, rcond=None)[0]
    fall = (((fitted - target) ** 2).mean() - ((refitted - target) ** 2).mean()) / 2
    found = EfficientScore(F, fitted - target, np.ones(len(target))).evaluate(h[:, None])
    share = (h**2).mean() / (found.curvature[0] - module.RIDGE * (h**2).mean())
    assert fall == pytest.approx(found.gain[0] * (1 + module.RIDGE * share), rel=1e-6, abs=1e-12)


def test_a_unit_that_is_a_mix_of_old_ones_gains_nothing():
    _, F, q, r, _ = setting(0)
    found = EfficientScore(F, q, r).evaluate(F @ np.array([[1.0], [2.0], [0.0], [-1.0]]))
    assert found.gain[0] == pytest.approx(0, abs=1e-20)


def test_dead_and_duplicate_features_change_nothing():
    _, F, q, r, D = setting(1)
    spoiled = np.column_stack([F, F[:, 0], np.zeros(len(F)), 2 * F[:, 1]])
    H = np.maximum(D, 0)
    assert np.allclose(EfficientScore(F, q, r).evaluate(H).gain, EfficientScore(spoiled, q, r).evaluate(H).gain)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_units_added_one_after_the_other_count_as_features_given_at_once(seed):
    rng, F, q, r, D = setting(seed)
    r[:10] = 0
    old = np.column_stack([np.maximum(D, 0), np.zeros(len(F)), F[:, 0] - 2 * F[:, 1], D[:, 0] * 1e-6])
    at_once, in_turn = EfficientScore(np.column_stack([F, old]), q, r), EfficientScore(F, q, r)
    for unit in np.split(old, [1, 3, 6], axis=1):
        in_turn = in_turn.beside(unit)
    H = np.maximum(D @ rng.normal(size=(4, 20)), 0)
    for name in ("gain", "slope", "curvature"):
        expected = getattr(at_once.evaluate(H), name)
        assert np.allclose(getattr(in_turn.evaluate(H), name), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_the_gain_is_the_same_for_a_longer_unit():
    _, F, q, r, D = setting(2)
    H, score = np.maximum(D, 0), EfficientScore(F, q, r)
    assert np.allclose(score.evaluate(H).gain, score.evaluate(1e3 * H).gain)
    assert np.allclose(score.evaluate(H).coefficient, 1e3 * score.evaluate(1e3 * H).coefficient)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_the_closed_form_is_the_best_mix_of_given_functions(seed):
    rng, F, q, r, D = setting(seed)
    score = EfficientScore(F, q, r)
    best = score.evaluate(D @ score.best_combination(D)[:, None]).gain[0]
    assert best >= score.evaluate(D @ rng.normal(size=(4, 500))).gain.max() * (1 - 1e-9)


@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("d", [3, 5])
def test_in_more_dimensions_the_fixed_point_is_better_than_2000_random_directions(d, leak):
    """Not a law, a check on ten problems: the search need not find the best, but it does better than chance."""
    won = []
    for seed in range(10):
        rng, F, q, r, D = setting(seed, d=d)
        score, anchor = EfficientScore(F, q, r), np.eye(1, d)[0]
        u = best_direction(score, D, anchor, leak)
        assert np.linalg.norm(u) == pytest.approx(1)
        tried = rng.normal(size=(2000, d))
        tried /= np.linalg.norm(tried, axis=1, keepdims=True)
        gains = score.evaluate(unit_values(D, tried, leak)).gain
        won.append(score.evaluate(unit_values(D, u[None], leak)).gain[0] >= 0.9 * gains.max())
    assert np.mean(won) >= 0.8


@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_direction_turns_with_the_data(d):
    rng, F, q, r, D = setting(4, d=d)
    R = np.linalg.qr(rng.normal(size=(d, d)))[0]
    anchor = rng.normal(size=d)
    anchor /= np.linalg.norm(anchor)
    score = EfficientScore(F, q, r)
    u, turned = best_direction(score, D, anchor, 0.0), best_direction(score, D @ R.T, R @ anchor, 0.0)
    if d == 2 and np.linalg.det(R) < 0:  # the circle is then run through the other way round, and has the same points
        assert score.evaluate(unit_values(D, u[None], 0.0)).gain == pytest.approx(
            score.evaluate(unit_values(D @ R.T, turned[None], 0.0)).gain
        )
    assert np.allclose(R @ u, turned, atol=1e-6)


def test_slope_and_curvature_of_two_classes_are_those_of_logistic_regression():
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(20, 2)), rng.integers(2, size=20)
    state = decisions(z, y)
    q, r = state.along(np.tile([-0.5, 0.5], (20, 1)))
    p = 1 / (1 + np.exp(z[:, 0] - z[:, 1]))
    assert np.allclose(q, p - (y == 1))
    assert np.allclose(r, p * (1 - p))
    one = decisions((z[:, 1] - z[:, 0])[:, None], y)
    assert np.allclose(one.loss, state.loss)
    assert np.array_equal(one.predicted, state.predicted)
    assert np.allclose(one.along(np.tile([0.0, 1.0], (20, 1)))[1], r)
