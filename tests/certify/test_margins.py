"""Margins of a data set against the distance to every part of the boundary."""

import numpy as np
import pytest

import creases
from creases.certify import margins
from creases.errors import InputError


@pytest.fixture(scope="module")
def net():
    rng = np.random.default_rng(4)
    layers = [(rng.normal(size=(6, 2)), rng.normal(size=6)), (rng.normal(size=(2, 6)), np.zeros(2))]
    layers[1][1][:] = -creases.read(layers)([0.3, -0.2])  # a tie there, on a crossing of the two outputs
    return creases.read(layers)


def test_distances_are_those_to_the_segments_of_the_boundary(net):
    X = np.random.default_rng(1).uniform(-1, 1, (6, 2))
    calls = []
    result = margins(net, X, progress=lambda *call: calls.append(call))
    segments = creases.plane(net, (-20, 20)).boundary().segments
    a, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    share = np.clip(((X[:, None] - a) * along).sum(-1) / (along**2).sum(-1), 0, 1)
    exact = np.linalg.norm(X[:, None] - a - share[..., None] * along, axis=-1).min(axis=1)
    assert result.distance == pytest.approx(exact, abs=1e-6)
    assert result.share_proved == 1.0
    assert result.least_safe(3).tolist() == np.argsort(exact)[:3].tolist()
    low, high = result.share_safe(0.2)
    assert low == high == (exact >= 0.2).mean()
    assert (net(result.points + 1e-4 * (result.points - X)).argmax(axis=1) != result.predicted).all()
    assert calls[-1] == ("measuring distances", 6, 6)
    frame = result.to_frame()
    assert frame.index[0] == exact.argmin()
    assert f"least safe rows: {exact.argmin()} (" in str(result)


def test_a_row_without_another_decision_is_infinitely_safe():
    net = creases.read([([[1.0], [1.0]], [1.0, 0.0])])
    result = margins(net, [[0.0], [2.0]], box=(-3, 3))
    assert np.isinf(result.distance).all()
    assert np.isinf(result.lower_bound).all()
    assert result.reached.tolist() == [-1, -1]
    assert np.isnan(result.points).all()


def test_weights_and_norms_go_to_the_search():
    net = creases.read([([[1.0, 1.0]], [-1.0])])
    result = margins(net, [[0.0, 0.0]], norm="l1", weights=[10.0, 2.0])
    assert result.distance == pytest.approx([2.0])


def test_no_rows_and_counts_are_refused(net):
    with pytest.raises(InputError, match="X must have at least one row"):
        margins(net, np.zeros((0, 2)))
    with pytest.raises(InputError, match="count must be left out"):
        margins(net, [[0.0, 0.0]], count=2)


@pytest.mark.thorough
@pytest.mark.parametrize("n_jobs", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_processes_measure_the_same_bits_in_the_order_of_rows(net, n_jobs):
    X = np.random.default_rng(2).uniform(-1, 1, (7, 2))
    calls = []
    alone, shared = margins(net, X), margins(net, X, n_jobs=n_jobs, progress=lambda *call: calls.append(call))
    for name in ("distance", "lower_bound", "proved", "predicted", "reached", "points"):
        assert getattr(alone, name).tobytes() == getattr(shared, name).tobytes()
    assert [call[1] for call in calls] == list(range(1, 8))


@pytest.mark.thorough
def test_an_error_in_a_process_is_the_error_of_the_call(net):
    with pytest.raises(InputError, match="norm must be 'l1', 'l2' or 'linf', got 'l7'"):
        margins(net, [[0.0, 0.0]] * 3, norm="l7", n_jobs=2)
