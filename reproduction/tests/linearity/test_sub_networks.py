"""Exhaustive and unit-by-unit pruning of networks that have learned parity (section 3.4.4)."""

from itertools import product

import numpy as np
import pytest
import torch

from creases import lab
from creases.errors import InputError
from creases.prune import exhaustive, iterative
from creases.prune._sub_networks import without_each

OPTIONS = {"loss": "binary_cross_entropy", "lr": 0.025, "until_accuracy": 1.0}


def parity(widths, seed=0, count=20):
    """Return networks that have learned the parity of their inputs, with all points."""
    points = np.array(list(product([-1, 1], repeat=widths[0])))
    classes = (points == 1).sum(1) % 2
    start = lab.Batch.initial(count, widths, seed=seed, init="he", dtype=np.float64)
    done = lab.train(start, points, classes, epochs=2000, **OPTIONS)
    return done.batch[done.accuracy == 1], points, classes


def test_the_only_unit_of_a_layer_that_is_always_on_goes_exactly_and_others_one_after_another():
    batch = lab.Batch.initial(1, [3, 4, 1, 5, 2], seed=0, dtype=np.float64)
    batch.biases[1][:] = 100.0
    X = np.random.default_rng(0).uniform(-1, 1, (50, 3))
    assert without_each(batch, 1).widths == (3, 4, 5, 2)
    np.testing.assert_allclose(without_each(batch, 1).outputs(X), batch.outputs(X), rtol=1e-12)
    for unit in range(4):
        model = batch.module(0)
        with torch.no_grad():
            model[2].weight[:, unit] = 0.0
            expected = model(torch.from_numpy(X)).numpy()
        np.testing.assert_allclose(without_each(batch, 0)[unit].outputs(X)[0], expected, rtol=1e-12)


def test_unit_by_unit_networks_stay_right_until_none_can_lose_a_unit_and_repeat_by_their_seed():
    batch, X, y = parity([3, 6, 6, 1], count=4)
    ends = iterative(batch[:2], X, y, restarts=2, epochs=60, seed=5)
    assert [end.steps for end in iterative(batch[0], X, y, restarts=2, epochs=60, seed=5)] == [
        end.steps for end in ends[:2]
    ]
    for end in ends:
        assert ((end.network.outputs(X)[0, :, 0] > 0) == y).all()
        assert [sum(step.widths) for step in end.steps] == [12 - i for i in range(1, len(end.steps) + 1)]
        for layer in range(len(end.network.widths) - 2):
            done = lab.train(without_each(end.network, layer), X, y, epochs=60, **OPTIONS)
            assert (done.accuracy < 1).all()


def test_units_are_drawn_by_the_inverse_of_the_loss_without_them():
    weights = np.array([[[1.0], [1.0]]]), np.array([[[1.0, 10.0]]])
    batch = lab.Batch(weights, (np.zeros((1, 2)), np.array([[-0.5]])))
    first = [end.steps[0] for end in iterative(batch, [[-1.0], [1.0]], [0, 1], restarts=300, epochs=0)]
    losses = {step.unit: step.loss for step in first}
    assert losses[1] == pytest.approx(2 * losses[0], rel=1e-3)
    assert 170 < sum(step.unit == 0 for step in first) < 230  # two thirds


def test_ctrl_c_keeps_what_was_found():
    def stop(what, done, total):
        if what.endswith((" 1", " 9 units")):
            raise KeyboardInterrupt

    batch, X, y = parity([3, 6, 6, 1], count=4)
    (end,) = iterative(batch[0], X, y, progress=stop)
    assert (end.ended, len(end.steps)) == ("interrupted", 3)
    smallest = exhaustive(lab.Batch.initial(1, [3, 4, 1], seed=0), X, y, epochs=5, progress=stop)
    assert (smallest.tried, smallest.networks, smallest.complete) == ({1: 4}, None, False)


def test_wrong_arguments_are_refused_by_name():
    untrained, X, y = lab.Batch.initial(1, [3, 4, 1], seed=0), *parity([3, 1], count=1)[1:]
    with pytest.raises(InputError, match=r"model must classify all samples correctly, got .* for network 0; train it"):
        iterative(untrained, X, y)
    with pytest.raises(InputError, match="model must be one network with one hidden layer"):
        exhaustive(lab.Batch.initial(1, [3, 4, 4, 1], seed=0), X, y)
    with pytest.raises(InputError, match="max_units must be from 1 to 4, got 5"):
        exhaustive(untrained, X, y, max_units=5)
