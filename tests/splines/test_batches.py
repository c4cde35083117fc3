"""Batches of networks of one input: to shallow networks and back, their errors, their descent."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from creases.errors import InputError
from creases.lab import Batch
from creases.splines import Shallow
from creases.splines._coefficients import gradient_descent, squared_errors, stack_networks, unstack_network


@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_every_network_of_a_batch_is_the_same_function_and_comes_back(leak):
    batch = Batch.initial(4, [1, 5, 1], seed=0, leak=leak, dtype=np.float64)
    x = np.linspace(-3, 3, 50)
    nets = [unstack_network(batch, k) for k in range(4)]
    np.testing.assert_allclose([net(x) for net in nets], batch.outputs(x[:, None])[:, :, 0], atol=1e-14)
    again = stack_networks(nets)
    assert again.leak == leak
    for mine, theirs in zip((*again.weights, *again.biases), (*batch.weights, *batch.biases), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_squared_errors_are_means_over_the_data():
    batch = stack_networks([Shallow([1], [0], [1]), Shallow([1], [0], [2])])  # relu(x), 2 relu(x)
    assert squared_errors(batch, [1.0, 2.0], [1.0, 0.0]).tolist() == [2.0, 8.5]


def test_what_is_not_shallow_or_not_alike_is_refused():
    for widths in ([1, 2, 2, 1], [2, 3, 1], [1, 3, 2]):
        with pytest.raises(InputError, match="batch must have one input, one hidden layer and one output, got widths"):
            unstack_network(Batch.initial(1, widths, seed=0), 0)
    one = Shallow([1], [0], [1])
    others = Shallow([1, 1], [0, 0], [1, 1]), Shallow([1], [0], [1], leak=0.1), Shallow([1], [0], [1], c1=1)
    for other in others:
        with pytest.raises(InputError, match="nets must have the same width, the same leak for all units and no skip"):
            stack_networks([one, other])
    with pytest.raises(InputError, match="nets must have the same width"):
        stack_networks([])


@pytest.mark.slow
@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("widths", [[1, 5, 1], [1, 4, 3, 4, 1], [1, 1]])
def test_descent_is_torchs_own(widths: list[int], leak: float) -> None:
    batch = Batch.initial(3, widths, seed=0, leak=leak, dtype=np.float64)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 20))
    found = gradient_descent(batch, x, y, steps=25, lr=0.05)
    for i in range(3):
        model = batch.module(i)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(25):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(torch.from_numpy(x[i])[:, None])[:, 0], torch.from_numpy(y[i]))
            loss.backward()
            optimizer.step()
        ours = found.module(i)
        for a, b in zip(ours.parameters(), model.parameters(), strict=True):
            np.testing.assert_allclose(a.detach(), b.detach(), atol=1e-13)


@pytest.mark.slow
def test_descent_leaves_the_first_weights_alone_and_takes_shared_data() -> None:
    batch = Batch.initial(2, [1, 4, 1], seed=0)
    before = batch.weights[0].copy()
    x = np.linspace(-1, 1, 7)
    shared = gradient_descent(batch, x, x**2, steps=3, lr=0.1)
    own = gradient_descent(batch, np.tile(x, (2, 1)), np.tile(x**2, (2, 1)), steps=3, lr=0.1)
    np.testing.assert_array_equal(batch.weights[0], before)
    np.testing.assert_array_equal(shared.weights[0], own.weights[0])
    assert shared.dtype == np.float32
