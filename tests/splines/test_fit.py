from itertools import pairwise

import numpy as np
import pytest

from creases import splines
from creases.errors import InputError

X = np.linspace(-3, 3, 30)


@pytest.mark.thorough
@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (1e6, 1e8), (1.0, -50.0)])
def test_training_does_not_depend_on_units(scale, shift):
    runs = [splines.fit(a, np.sin(2 * X) * b, width=5, steps=300) for a, b in ((X, 1.0), (shift + scale * X, 7.0))]
    net, other = (run.net for run in runs)
    np.testing.assert_allclose(other(shift + scale * X), 7 * net(X), rtol=1e-5, atol=1e-5)
    assert runs[0].crossings == runs[1].crossings


@pytest.mark.slow
def test_the_history_has_the_units_of_the_data_and_the_real_steps():
    x = np.linspace(1900, 2000, 30)
    fit = splines.fit(x, np.sin(x / 9), width=5, steps=999, record=True)
    assert fit.history.steps[0] == 0
    assert fit.history.steps[-1] == 999
    assert all(a < b for a, b in pairwise(fit.history.steps))
    last = fit.history.frames[-1].breakpoints
    np.testing.assert_allclose(last.pieces(x), fit.net(x), atol=1e-9)


def test_errors_are_those_of_the_networks_and_of_the_best_fit():
    y = np.cos(X)
    fit = splines.fit(X[:, None], y[:, None], width=4, steps=100)
    for error, function in ((fit.initial_error, fit.initial), (fit.error, fit.net), (fit.best_error, fit.best)):
        assert error == pytest.approx(((function(X) - y) ** 2).mean())
    assert fit.gap == fit.error - fit.best_error > 0
    assert fit.history is None
    assert fit.best.pieces.count <= 5


@pytest.mark.slow
def test_samples_may_come_in_any_order():
    order = np.random.default_rng(0).permutation(len(X))
    a, b = (splines.fit(x, np.cos(x), width=4, steps=100) for x in (X, X[order]))
    assert a.error == pytest.approx(b.error)
    assert a.best_error == pytest.approx(b.best_error)


def test_progress_is_called_with_the_stage_and_the_steps():
    calls = []
    splines.fit(X, X**2, width=2, steps=10, progress=lambda *call: calls.append(call))
    assert calls[0] == ("training", 1, 10)
    assert calls[-2:] == [("training", 10, 10), ("finding the best fit", 0, None)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": np.zeros(30)}, "x must have at least two different values, got 1"),
        ({"y": np.zeros(3)}, "y must have one target per input, got 3 for 30 inputs"),
        ({"width": 0}, "width must be a positive integer, got 0"),
        ({"steps": -1}, "steps must be an integer, at least 0, got -1"),
        ({"lr": 0.0}, "lr must be a finite number above 0, got 0.0"),
        ({"init": "best"}, "init must be 'uniform', 'curvature', 'spiky', 'torch', 'he' or 'glorot', got 'best'"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        splines.fit(**{"x": X, "y": X**2, **arguments})
