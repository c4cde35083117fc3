"""Samples drawn by their loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creases.growth.methods._fold.search import importance_sample


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.integers(1, 80), st.integers(0, 100))
def test_a_sample_has_the_size_asked_for_and_weights_of_mean_one(mass, size, seed):
    rows, weight = importance_sample(np.array(mass), size, seed)
    assert abs(len(rows) - min(size, len(mass))) <= 1
    assert (np.diff(rows) > 0).all()
    assert (weight > 0).all()
    assert weight.mean() == pytest.approx(1)


def test_weighted_means_estimate_the_means_over_all():
    rng = np.random.default_rng(0)
    mass, values = rng.exponential(size=500) ** 3, rng.normal(size=500) + 2
    means = []
    for seed in range(400):
        rows, weight = importance_sample(mass, 80, seed)
        means.append((weight * values[rows]).mean())
    error = np.std(means) / np.sqrt(len(means))
    assert np.mean(means) == pytest.approx(values.mean(), abs=4 * error + 0.01)


def test_high_losses_are_drawn_more_often():
    mass = np.where(np.arange(1000) < 50, 10.0, 0.01)
    rows, weight = importance_sample(mass, 200, 0)
    assert (rows < 50).sum() == 50
    assert weight[rows < 50].max() < weight[rows >= 50].min()
