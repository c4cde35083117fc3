"""Batches are the networks they are made of."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from creases.errors import InputError
from creases.lab import Batch, train


def test_losses_are_torchs_and_modules_the_networks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    cases = {
        "cross_entropy": (4, rng.integers(0, 4, 20), nn.functional.cross_entropy),
        "binary_cross_entropy": (1, rng.integers(0, 2, 20), lambda z, y: nn.BCEWithLogitsLoss()(z[:, 0], y.double())),
        "squared_error": (2, rng.normal(size=(20, 2)), nn.functional.mse_loss),
    }
    for loss, (C, y, its) in cases.items():
        batch = Batch.initial(3, [3, 5, C], seed=6, leak=0.2, dtype=np.float64)
        expected = [its(batch.module(n)(torch.as_tensor(X)), torch.as_tensor(y)).item() for n in range(3)]
        assert_allclose(batch.losses(X, y, loss), expected, rtol=1e-12)
        own = batch.losses(np.stack([X] * 3), np.stack([y] * 3), loss=loss)
        assert_allclose(own, expected, rtol=1e-12)


def test_batches_of_modules_are_these_modules():
    batch = Batch.initial(3, [3, 5, 4], seed=6, leak=0.2, dtype=np.float64)
    again = Batch.from_modules([batch.module(n) for n in range(3)], dtype=np.float64)
    assert again.leak == 0.2
    for one, other in zip((*again.weights, *again.biases), (*batch.weights, *batch.biases), strict=True):
        assert_array_equal(one, other)


def test_joined_batches_come_one_after_another():
    first, second = (Batch.initial(count, [3, 5, 4], seed=count) for count in (2, 3))
    joined = Batch.join([first, second])
    assert joined.count == 5
    for k, part in enumerate((first, second)):
        own = joined[2 * k : 2 + 3 * k]
        for one, other in zip((*own.weights, *own.biases), (*part.weights, *part.biases), strict=True):
            assert_array_equal(one, other)
    with pytest.raises(InputError, match=r"batches must be .*got \(3, 5, 4\), 0.0, float32; \(3, 5, 4\), 0.1, float32"):
        Batch.join([first, Batch.initial(1, [3, 5, 4], seed=0, leak=0.1)])
    with pytest.raises(InputError, match=r"batches must be at least one.* got none"):
        Batch.join([])


def test_first_weights_have_the_spread_that_is_asked_for():
    uniform, he = (Batch.initial(20_000, [8, 4, 1], seed=0, init=how) for how in ("torch", "he"))
    for W, m in zip(uniform.weights, (8, 4), strict=True):
        assert abs(W).max() <= m**-0.5
        assert_allclose(W.std(), (3 * m) ** -0.5, rtol=0.02)
    for W, m in zip(he.weights, (8, 4), strict=True):
        assert_allclose(W.std(), (2 / m) ** 0.5, rtol=0.02)
    assert abs(he.biases[0]).max() <= 8**-0.5
    with pytest.raises(InputError, match="init must be 'torch' or 'he', got 'xavier'"):
        Batch.initial(1, [2, 1], seed=0, init="xavier")


def test_batches_that_make_no_networks_are_refused():
    with pytest.raises(InputError, match=r"weights\[1\] must have shape .* got \(2, 4, 6\)"):
        Batch((np.zeros((2, 5, 3)), np.zeros((2, 4, 6))), (np.zeros((2, 5)), np.zeros((2, 4))))
    with pytest.raises(InputError, match="all float32 or all float64"):
        Batch((np.zeros((2, 5, 3), int),), (np.zeros((2, 5), int),))
    with pytest.raises(
        InputError, match="all float32 or all float64, as biases, got float16 and float16; convert them"
    ):
        Batch.initial(2, [3, 4], seed=0, dtype=np.float16)
    with pytest.raises(
        InputError, match="weights must have an array for each layer, as biases have, got 0 weights and 0 biases"
    ):
        Batch((), ())
    with pytest.raises(InputError, match="models must have one shape"):
        Batch.from_modules([nn.Sequential(nn.Linear(2, k), nn.ReLU(), nn.Linear(k, 2)) for k in (2, 3)])
    with pytest.raises(InputError, match="models must be linear layers"):
        Batch.from_modules([nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))])
    with pytest.raises(InputError, match="count must be an integer, at least 0, got -1"):
        Batch.initial(-1, [2, 1], seed=0)
    for widths in ([2], [2, 0, 1]):
        with pytest.raises(InputError, match="widths must be at least two positive integers, inputs first, got"):
            Batch.initial(1, widths, seed=0)


def test_what_is_no_batch_is_refused_by_name():
    batch = Batch.initial(3, [2, 4, 1], seed=0)
    assert batch[1].count == 1
    assert np.array_equal(batch[1].weights[0][0], batch.weights[0][1])
    for models in ([], [torch.nn.Linear(2, 1)]):
        with pytest.raises(InputError, match=r"models must be at least one nn\.Sequential"):
            Batch.from_modules(models)
    with pytest.raises(InputError, match=r"X must have shape \(n, 2\) or \(3, n, 2\), got shape \(5, 3\)"):
        batch.outputs(np.zeros((5, 3)))
    with pytest.raises(
        InputError, match=r"batch must be a creases.lab.Batch, got Sequential; Batch\.from_modules\(\[model\]\)"
    ):
        train(torch.nn.Sequential(torch.nn.Linear(2, 1)), np.zeros((4, 2)), np.zeros(4), epochs=1, loss="squared_error")
