"""Batches of shallow networks of one input, to their networks and back."""

from __future__ import annotations

import numpy as np
import pytest

from creases.errors import InputError
from creases.lab import Batch
from creases.splines import Shallow
from creases.splines.batched import batch_of, shallow, squared_errors


@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_every_network_of_a_batch_is_the_same_function_and_comes_back(leak):
    batch = Batch.initial(4, [1, 5, 1], seed=0, leak=leak, dtype=np.float64)
    x = np.linspace(-3, 3, 50)
    nets = [shallow(batch, k) for k in range(4)]
    np.testing.assert_allclose([net(x) for net in nets], batch.outputs(x[:, None])[:, :, 0], atol=1e-14)
    again = batch_of(nets)
    assert again.leak == leak
    for mine, theirs in zip((*again.weights, *again.biases), (*batch.weights, *batch.biases), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_squared_errors_are_means_over_the_data():
    batch = batch_of([Shallow([1], [0], [1]), Shallow([1], [0], [2])])  # relu(x), 2 relu(x)
    assert squared_errors(batch, [1.0, 2.0], [1.0, 0.0]).tolist() == [2.0, 8.5]


def test_what_is_not_shallow_or_not_alike_is_refused():
    for widths in ([1, 2, 2, 1], [2, 3, 1], [1, 3, 2]):
        with pytest.raises(InputError, match="batch: expected one input, one hidden layer and one output"):
            shallow(Batch.initial(1, widths, seed=0), 0)
    one = Shallow([1], [0], [1])
    others = Shallow([1, 1], [0, 0], [1, 1]), Shallow([1], [0], [1], leak=0.1), Shallow([1], [0], [1], c1=1)
    for other in others:
        with pytest.raises(InputError, match="nets: expected networks of one width, with one leak for all units"):
            batch_of([one, other])
    with pytest.raises(InputError, match="nets: expected networks of one width"):
        batch_of([])
