""""""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch import nn

from creases.errors import CreasesError, InputError
from creases.splines import Shallow, to_hyperplanes, to_module, to_spline
from creases.splines._deep import deep_breakpoints
from creases.splines._dynamics import Breakpoints, Tracker, breakpoints, match_breakpoints
from creases.splines._spline import Pieces
from splines_cases import shallow_cases


def mlp(*widths, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers = [layer for a, b in pairwise(widths) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1]).double()


def train(model, tracker, steps, lr=0.02):
    x = torch.linspace(-3, 3, 30, dtype=torch.float64)[:, None]
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    tracker(model)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), torch.sin(2 * x)).backward()
        optimizer.step()
        tracker(model)
    return tracker.history()


def some(x, unit=None, direction=None):
    """Marks at given places, of units of one layer."""
    k = len(x)
    unit = np.arange(k) if unit is None else np.array(unit)
    direction = np.ones(k, int) if direction is None else np.array(direction)
    return Breakpoints(
        np.array(x, float), np.ones(k), np.zeros(k, int), unit, direction, np.ones(k, bool), Pieces([], [0], [0])
    )


@pytest.mark.slow
@settings(deadline=None)
@given(shallow_cases())
def test_breakpoints_of_a_shallow_network_are_those_of_its_spline_and_module(case):
    net, _, _ = case
    found, form = breakpoints(net), to_spline(net)
    np.testing.assert_array_equal(found.x, form.beta)
    np.testing.assert_array_equal(found.jump, form.jumps)
    np.testing.assert_array_equal(found.unit, np.flatnonzero(net.w))
    again = breakpoints(to_module(net))
    np.testing.assert_allclose(again.x, found.x)
    np.testing.assert_allclose(again.jump, found.jump, atol=1e-12)


def test_the_quick_way_for_one_layer_finds_what_the_general_way_does():
    model = mlp(1, 12, 1)
    quick, general = breakpoints(model), deep_breakpoints(model)
    order = np.argsort(quick.x)
    np.testing.assert_allclose(quick.x[order], general.x)
    np.testing.assert_allclose(quick.jump[order], general.jump)
    for name in ("unit", "layer", "direction", "active"):
        np.testing.assert_array_equal(getattr(quick, name)[order], getattr(general, name))
    np.testing.assert_allclose(quick.pieces.slopes, general.pieces.slopes, atol=1e-12)


def test_breakpoints_of_one_unit_are_matched_by_the_least_way():
    before, after = some([0.0, 1.0, 5.0], [0, 0, 0]), some([5.1, 0.05, 1.1], [0, 0, 0])
    i, j = match_breakpoints(before, after, 0.15)
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 1), (1, 2), (2, 0)]


def test_breakpoints_of_other_units_or_directions_or_far_away_are_not_the_same():
    assert not len(match_breakpoints(some([0.0], [0]), some([0.0], [1]), 0.15)[0])
    assert not len(match_breakpoints(some([0.0], [0], [1]), some([0.0], [0], [-1]), 0.15)[0])
    assert not len(match_breakpoints(some([0.0]), some([0.2]), 0.15)[0])
    assert not len(match_breakpoints(some([50.0]), some([-50.0]), 0.15)[0])
    assert len(match_breakpoints(some([50.0]), some([500.0]), 0.15)[0]) == 1


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 2)), max_size=8),
    st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 2)), max_size=8),
    st.floats(0, 1),
)
def test_matches_are_one_to_one_within_the_gate_and_as_many_as_can_be(old, new, gate):
    before, after = (some([x for x, _ in part], [u for _, u in part]) for part in (old, new))
    i, j = match_breakpoints(before, after, gate)
    assert len(set(i.tolist())) == len(i) == len(set(j.tolist())) == len(j)
    assert (np.abs(np.arctan(before.x[i]) - np.arctan(after.x[j])) <= gate).all()
    assert (before.unit[i] == after.unit[j]).all()
    near = np.abs(np.arctan(before.x)[:, None] - np.arctan(after.x)) <= gate
    can = csr_array(near & (before.unit[:, None] == after.unit))
    assert len(i) == (maximum_bipartite_matching(can, perm_type="column") >= 0).sum()


def test_a_shallow_network_keeps_its_breakpoints_through_training():
    history = train(mlp(1, 30, 1), Tracker(every=10), 300)
    assert (history.births, history.deaths) == (0, 0)
    assert history.counts.tolist() == [30] * 31
    assert history.steps.tolist() == list(range(0, 301, 10))
    tracks = history.tracks()
    assert len(tracks) == 30
    assert all(len(track.step) == 31 for track in tracks.values())


@pytest.mark.slow
def test_breakpoints_at_the_start_and_births_and_deaths_are_those_at_the_end():
    tracker = Tracker(every=5, max_frames=7)
    history = train(mlp(1, 6, 6, 6, 1, seed=3), tracker, 400, lr=0.1)
    counts = history.counts
    assert history.births + history.deaths > 0
    assert counts[0] + history.births - history.deaths == counts[-1]
    # applied one by one, the events lead to every frame
    for step, count in zip(history.steps, counts, strict=True):
        events = [event for event in history.events if event.step <= step]
        kinds = [event.kind for event in events]
        assert counts[0] + kinds.count("birth") - kinds.count("death") == count


def test_a_frame_is_the_model_at_its_step():
    model, tracker = mlp(1, 5, 5, 1), Tracker(every=4)
    history = train(model, tracker, 8)
    last, x = history.frames[-1].breakpoints, np.linspace(-4, 4, 50)
    np.testing.assert_allclose(last.pieces(x), model(torch.from_numpy(x)[:, None]).detach().numpy()[:, 0], atol=1e-12)
    found = breakpoints(model)
    np.testing.assert_array_equal(last.x, found.x)
    np.testing.assert_array_equal(last.jump, found.jump)
    assert history.frames[-1].step == 8


def test_crossings_of_samples_are_recorded_in_the_order_they_happen():
    tracker = Tracker([0.5, 0.2, -1.0])
    for beta in (0.0, 0.1, 0.6, 0.55, 0.15):
        tracker(Shallow([1.0], [-beta], [1.0]))
    events = [(event.step, event.kind, event.x, event.sample) for event in tracker.history().events]
    assert events == [(2, "death", 0.1, -1), (2, "birth", 0.6, -1), (4, "death", 0.55, -1), (4, "birth", 0.15, -1)]
    tracker = Tracker([0.5, 0.2, -1.0], gate=1.0)
    for beta in (0.0, 0.1, 0.6, 0.55, 0.15):
        tracker(Shallow([1.0], [-beta], [1.0]))
    events = [(event.step, event.kind, event.x, event.sample) for event in tracker.history().events]
    assert events == [
        (2, "crossing", 0.2, 1),
        (2, "crossing", 0.5, 0),
        (4, "crossing", 0.5, 0),
        (4, "crossing", 0.2, 1),
    ]
    assert tracker.history().crossings == 4


def test_a_weight_that_goes_through_zero_is_a_death_and_a_birth():
    tracker = Tracker()
    for w in (0.1, 0.0, -0.1):
        tracker(Shallow([w], [1.0], [1.0]))
    history = tracker.history()
    assert history.counts.tolist() == [1, 0, 1]
    assert (history.births, history.deaths) == (1, 1)
    assert sorted(history.tracks()) == [0, 1]


@pytest.mark.slow
def test_frames_are_bounded_and_span_the_whole_training():
    tracker = Tracker(max_frames=10)
    for step in range(1000):
        tracker(Shallow([1.0], [-step / 1000], [1.0]))
    history = tracker.history()
    assert len(history) <= 11
    assert (history.steps[0], history.steps[-1]) == (0, 999)
    gaps = np.diff(history.steps)
    assert gaps[:-1].max() == gaps[:-1].min()
    np.testing.assert_allclose(history.tracks()[0].x, history.steps / 1000)


def test_the_latest_events_are_kept_and_all_are_counted():
    tracker = Tracker([0.0], max_frames=1)
    for step in range(300):
        tracker(Shallow([1.0], [0.01 * (-1) ** step], [1.0]))
    history = tracker.history()
    assert history.crossings == 299
    assert len(history.events) == 100
    assert history.events[-1].step == 299


def test_a_tracker_that_saw_nothing_has_an_empty_history():
    history = Tracker().history()
    assert len(history) == 0
    assert history.tracks() == {}
    assert history.events == ()


def test_creases_of_several_inputs_are_the_hyperplanes_of_every_step_and_cross_samples():
    x = torch.from_numpy(np.random.default_rng(0).uniform(-2, 2, (200, 2)))
    model, tracker = mlp(2, 6, 1), Tracker(x, every=5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    planes, passed, on = [], np.zeros(6, int), None
    for step in range(101):
        tracker(model)
        if step % 5 == 0:
            planes.append(to_hyperplanes(model))
            now = (model[0](x) > 0).numpy()
            passed += 0 if on is None else (now != on).sum(axis=0)
            on = now
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x)[:, 0], x[:, 0].abs() - x[:, 1]).backward()
        optimizer.step()
    found = tracker.creases()
    assert found.steps.tolist() == list(range(0, 101, 5))
    for name in ("xi", "gamma", "mu"):
        np.testing.assert_allclose(getattr(found, name), [getattr(at, name) for at in planes], atol=1e-14)
    np.testing.assert_array_equal(found.crossings, passed)
    assert passed.sum() > 0
    cosines = (found.xi * found.xi[0]).sum(axis=-1)
    np.testing.assert_allclose(np.cos(found.angles), cosines, atol=1e-12)
    assert found.angles.max() > 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Tracker(every=0), "every must be a positive integer, got 0"),
        (lambda: Tracker(max_frames=0.5), "max_frames must be a positive integer, got 0.5"),
        (lambda: Tracker(gate=-1), "gate must be a finite number at least 0, got -1"),
        (lambda: Tracker([np.nan]), "x must be finite, got nan"),
        (lambda: Tracker()(mlp(2, 3, 3, 1)), "model must have one level of bends"),
        (lambda: Tracker().creases(), "model must have several inputs and have been recorded"),
        (lambda: Tracker()(mlp(1, 3, 2)), "model must have one output, got 2"),
        (lambda: Tracker()(mlp(1, 3, 3, 2)), "model must have one input and one output, got 1 and 2"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_model_that_has_diverged_is_refused():
    model = mlp(1, 3, 1)
    with torch.no_grad():
        model[0].weight[0] = np.nan
    with pytest.raises(CreasesError):
        Tracker()(model)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_models_of_less_precision_are_tracked(dtype):
    model = mlp(1, 3, 1).to(dtype)
    tracker = Tracker()
    tracker(model)
    assert tracker.history().counts.tolist() == [3]
    assert next(model.parameters()).dtype == dtype


def test_steps_may_be_given_where_calls_are_not_steps():
    tracker = Tracker(every=2)
    for step in (0, 50, 100, 150, 170):
        tracker(mlp(1, 3, 1), step)
    assert tracker.history().steps.tolist() == [0, 100, 170]
