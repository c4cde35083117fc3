"""Typical mis-predictions: clusters of losses, and who stands for them."""

import numpy as np
import pytest

from creases.growth.methods._fold.typical_mispredictions import typical_mispredictions


def groups(seed=0):
    """Three far groups of 20 points; the second has high losses, the third no mistakes."""
    rng = np.random.default_rng(seed)
    X = np.repeat([[0.0, 0.0], [90.0, 0.0], [0.0, 90.0]], 20, axis=0) + rng.normal(size=(60, 2))
    loss = np.concatenate([rng.uniform(0, 1, 20), rng.uniform(2, 3, 20), rng.uniform(0.1, 0.2, 20)])
    wrong = np.concatenate([np.arange(20) < 7, np.ones(20, bool), np.zeros(20, bool)])
    return X, loss, wrong


def test_every_cluster_with_a_mistake_has_its_typical_one_the_costliest_first():
    X, loss, wrong = groups()
    found = typical_mispredictions(X, loss, wrong, k=3, restarts=5, seed=0)
    assert [one.index // 20 for one in found] == [1, 0]
    assert [len(one.members) for one in found] == [20, 20]
    assert [len(one.mistakes) for one in found] == [20, 7]
    assert found[0].mean_loss == pytest.approx(loss[20:40].mean())
    assert found[0].share == pytest.approx(loss[20:40].sum() / loss.sum())


def test_the_typical_one_is_the_mistake_nearest_to_the_loss_weighted_centroid():
    X, loss, wrong = groups(1)
    for one in typical_mispredictions(X, loss, wrong, k=3, restarts=2, seed=0):
        weights = loss[one.members]
        assert np.allclose(one.centroid, weights @ X[one.members] / weights.sum())
        far = np.linalg.norm(X[one.mistakes] - one.centroid, axis=1)
        assert one.index == one.mistakes[far.argmin()]
        assert wrong[one.mistakes].all()
        assert (np.diff(far) >= 0).all()


def test_where_nothing_is_wrong_nothing_is_typical():
    X, loss, wrong = groups()
    assert typical_mispredictions(X, loss, np.zeros_like(wrong), k=3, restarts=2, seed=0) == []
    assert typical_mispredictions(X, np.zeros_like(loss), wrong, k=3, restarts=2, seed=0) == []


def test_fewer_different_instances_than_clusters_are_ordinary():
    X = np.array([[1.0, 2.0]] * 5 + [[3.0, 4.0]])
    loss = np.array([1.0, 0, 0, 0, 0, 2.0])
    found = typical_mispredictions(X, loss, loss > 0, k=3, restarts=2, seed=0)
    assert sorted(one.index for one in found) == [0, 5]
    assert typical_mispredictions(X[:5], loss[:5], loss[:5] > 0, k=3, restarts=2, seed=0)[0].index == 0
