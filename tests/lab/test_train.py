"""Many networks trained as one end where torch's Adam leads each of them alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from torch import nn

from creases.errors import InputError
from creases.lab import Batch, Moments, train


def problem(n: int = 50, d: int = 3, C: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, C, n)


def by_torch(model: nn.Module, optimizer: torch.optim.Optimizer, X, y, steps: int) -> list[np.ndarray]:
    X, y = torch.as_tensor(X), torch.as_tensor(y)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), y).backward()
        optimizer.step()
    return [parameter.detach().numpy() for parameter in model.parameters()]


def of(batch: Batch, n: int) -> list[np.ndarray]:
    return [part[n] for pair in zip(batch.weights, batch.biases, strict=True) for part in pair]


@pytest.mark.parametrize(
    ("widths", "leak"), [([3, 4], 0.0), ([3, 5, 4], 0.0), ([3, 6, 5, 4], 0.1), ([3, 1, 1, 2, 4], 0.0)]
)
def test_each_network_is_trained_as_torch_adam_would_train_it_alone(widths, leak):
    X, y = problem()
    batch = Batch.initial(3, widths, seed=1, leak=leak, dtype=np.float64)
    trained = train(batch, X, y, epochs=200, lr=0.02).batch
    for n in range(3):
        model = batch.module(n)
        expected = by_torch(model, torch.optim.Adam(model.parameters(), lr=0.02), X, y, 200)
        for got, wanted in zip(of(trained, n), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8)


def test_networks_with_data_of_their_own_are_trained_on_those():
    batch = Batch.initial(3, [3, 4, 4], seed=1, dtype=np.float64)
    data = [problem(seed=n) for n in range(3)]
    X, y = np.stack([one[0] for one in data]), np.stack([one[1] for one in data])
    together = train(batch, X, y, epochs=50, lr=0.02).batch
    for n in range(3):
        alone = train(batch[n : n + 1], X[n], y[n], epochs=50, lr=0.02).batch
        for one, other in zip(of(together, n), of(alone, 0), strict=True):
            assert_array_equal(one, other)
    assert_array_equal(together.losses(X, y)[1:2], together[[1]].losses(X[1], y[1]))


def test_a_network_ends_the_same_whichever_others_are_trained_with_it():
    X, y = problem()
    batch = Batch.initial(300, [3, 4, 4], seed=2)
    whole = train(batch, X, y, epochs=20, lr=0.02).batch
    part = train(batch[[7, 131, 299]], X, y, epochs=20, lr=0.02).batch
    for position, n in enumerate((7, 131, 299)):
        for one, other in zip(of(whole, n), of(part, position), strict=True):
            assert_array_equal(one, other)


def test_training_goes_on_from_moments_as_if_it_had_not_stopped():
    X, y = problem()
    batch = Batch.initial(4, [3, 4, 4], seed=3, dtype=np.float64)
    once = train(batch, X, y, epochs=30, lr=0.02).batch
    half = train(batch, X, y, epochs=12, lr=0.02)
    done = train(half.batch, X, y, epochs=18, lr=0.02, moments=half.moments)
    twice = done.batch
    assert (done.moments.steps == 30).all()
    for n in range(4):
        for one, other in zip(of(once, n), of(twice, n), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_a_grown_network_goes_on_with_the_moments_that_surgery_carries():
    import creases

    X, y = problem()
    batch = Batch.initial(1, [3, 4, 4], seed=4, dtype=np.float64)
    model = batch.module(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    by_torch(model, optimizer, X, y, 40)
    creases.widen(model, "0", [[0.3, -0.2, 0.1]], [0.1], 0.05 * np.ones((4, 1)), optimizer=optimizer)
    grown = Batch.of([model], dtype=np.float64)

    def memory(key: str) -> Batch:
        parts = [optimizer.state[parameter][key].numpy()[None].copy() for parameter in model.parameters()]
        return Batch(tuple(parts[::2]), tuple(parts[1::2]))

    moments = Moments(memory("exp_avg"), memory("exp_avg_sq"), 40)
    trained = train(grown, X, y, epochs=100, lr=0.02, moments=moments).batch
    for got, wanted in zip(of(trained, 0), by_torch(model, optimizer, X, y, 100), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8)


def test_float32_follows_torch_for_a_while():
    X, y = problem()
    batch = Batch.initial(2, [3, 5, 4], seed=5)
    trained = train(batch, X, y, epochs=20, lr=0.01).batch
    model = batch.module(1)
    expected = by_torch(model, torch.optim.Adam(model.parameters(), lr=0.01), X, y, 20)
    for got, wanted in zip(of(trained, 1), expected, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-4)


def test_huge_logits_do_not_overflow():
    X, y = problem()
    batch = Batch.initial(2, [3, 5, 4], seed=5)
    big = Batch(tuple(1e4 * W for W in batch.weights), batch.biases)
    trained = train(big, X, y, epochs=5, lr=0.1).batch
    assert all(np.isfinite(part).all() for part in of(trained, 0))


def test_losses_are_torchs_cross_entropy_and_modules_the_networks():
    X, y = problem()
    batch = Batch.initial(3, [3, 5, 4], seed=6, leak=0.2, dtype=np.float64)
    for n in range(3):
        expected = nn.functional.cross_entropy(batch.module(n)(torch.as_tensor(X)), torch.as_tensor(y))
        assert np.isclose(batch.losses(X, y)[n], float(expected.detach()), rtol=1e-12)
    again = Batch.of([batch.module(n) for n in range(3)], dtype=np.float64)
    assert again.leak == 0.2
    for n in range(3):
        for one, other in zip(of(again, n), of(batch, n), strict=True):
            assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((5, 2))}, r"X: expected inputs \(n, 3\) or \(2, n, 3\), got shape \(5, 2\)"),
        ({"X": np.zeros((0, 3)), "y": np.zeros(0, int)}, r"X: expected inputs"),
        ({"X": np.full((5, 3), np.nan)}, "X: has NaN"),
        ({"y": np.zeros(4, int)}, r"y: expected classes \(5,\) or \(2, 5\), got shape \(4,\)"),
        ({"y": np.full(5, 4)}, "y: expected whole class numbers from 0 to 3"),
        ({"y": np.zeros(5)}, "y: expected whole class numbers"),
        ({"lr": 0.0}, "lr: expected finite numbers above 0"),
        ({"epochs": -1}, "epochs: expected"),
        ({"moments": Moments.none(Batch.initial(2, [3, 4], seed=0))}, r"moments: are of 2 networks \(3, 4\)"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    batch = Batch.initial(2, [3, 5, 4], seed=0)
    arguments = {"X": np.zeros((5, 3)), "y": np.zeros(5, int), "epochs": 1, "lr": 0.1} | change
    with pytest.raises(InputError, match=message):
        train(batch, **arguments)


def test_layers_that_do_not_fit_together_are_refused():
    with pytest.raises(InputError, match=r"weights, biases: .* layer 1 has \(2, 4, 6\)"):
        Batch((np.zeros((2, 5, 3)), np.zeros((2, 4, 6))), (np.zeros((2, 5)), np.zeros((2, 4))))
    with pytest.raises(InputError, match="all float32 or all float64"):
        Batch((np.zeros((2, 5, 3), int),), (np.zeros((2, 5), int),))
    with pytest.raises(InputError, match="models: expected one shape"):
        Batch.of([nn.Sequential(nn.Linear(2, k), nn.ReLU(), nn.Linear(k, 2)) for k in (2, 3)])
    with pytest.raises(InputError, match="models: expected linear layers"):
        Batch.of([nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))])
