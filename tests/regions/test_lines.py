"""Many segments at once are each what ``line`` gives alone."""

import itertools
from importlib import import_module

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from creases.regions import lines

lines_module = import_module("creases.regions._line.lines")


def random_layers(rng, sizes):
    return [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in itertools.pairwise(sizes)]


@pytest.mark.parametrize("sizes", [(3, 5, 2), (3, 4, 4, 1), (3, 1, 1), (3, 2)])
def test_each_segment_has_the_breakpoints_and_values_of_its_line(sizes):
    rng = np.random.default_rng(1)
    net = creases.read(random_layers(rng, sizes))
    A, B = rng.normal(size=(2, 301, 3))  # more than a chunk, an odd number
    curves = lines(net, A, B)
    assert len(curves) == 301
    assert (np.diff(curves.t)[np.diff(curves.segment) == 0] > 0).all()
    for i in (0, 1, 255, 256, 300):
        knots = slice(curves.starts[i], curves.starts[i + 1])
        alone = creases.line(net, A[i], B[i])
        np.testing.assert_allclose(curves.t[knots], alone.ends, atol=1e-12)
        t = np.linspace(0, 1, 101)
        along = np.stack([np.interp(t, curves.t[knots], column) for column in curves.values[knots].T], axis=1)
        np.testing.assert_allclose(along, net(alone.points(t)), atol=1e-11)


def test_other_bends_dead_units_and_segments_of_length_zero():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.1), nn.Linear(4, 3), nn.ReLU6(), nn.Linear(3, 1))
    with torch.no_grad():
        model[0].weight[1] = 0.0
        model[0].weight[3], model[0].bias[3] = model[0].weight[2], model[0].bias[2]
        model[2].weight.mul_(8.0)
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(2, 40, 2)) * 3
    B[7] = A[7]
    A[8], B[8] = A[6], B[6]
    curves, net = lines(model, A, B), creases.read(model)
    assert curves.starts[8] - curves.starts[7] == 2
    for i in set(range(40)) - {7}:
        knots = slice(curves.starts[i], curves.starts[i + 1])
        alone = creases.line(net, A[i], B[i])
        np.testing.assert_allclose(curves.t[knots], alone.ends, atol=1e-10)


def test_no_segments_and_wrong_ends():
    net = creases.read([([[1.0]], [0.0]), ([[1.0]], [0.0])])
    curves = lines(net, np.zeros((0, 1)), np.zeros((0, 1)))
    assert len(curves) == 0
    assert curves.values.shape == (0, 1)
    with pytest.raises(InputError, match="B must have 1 row"):
        lines(net, [[0.0]], [[0.0], [1.0]])
    with pytest.raises(InputError, match="A must be finite"):
        lines(net, [[np.nan]], [[0.0]])


def test_between_segments_nothing_is_computed(monkeypatch):
    rng = np.random.default_rng(0)
    net = creases.read(random_layers(rng, (3, 8, 8, 1)))
    A = rng.normal(size=(20, 3))
    knots = []
    trace = lines_module.trace
    monkeypatch.setattr(lines_module, "trace", lambda *args: knots.append(trace(*args)) or knots[-1])
    assert len(lines(net, A, A + 1e-9).t) == len(knots[0][0]) == 40  # short segments, far from each other


def test_progress_tells_the_segments_and_can_end_the_work():
    rng = np.random.default_rng(0)
    net = creases.read(random_layers(rng, (3, 4, 1)))
    A, B = rng.normal(size=(2, 600, 3))
    calls = []
    lines(net, A, B, progress=lambda *call: calls.append(call))
    assert calls == [("following segments", done, 600) for done in (256, 512, 600)]

    def interrupt(what, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lines(net, A, B, progress=interrupt)
