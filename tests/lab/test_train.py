"""Many networks trained as one end where torch.optim leads each of them alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from creases.errors import InputError
from creases.lab import Batch, TrainingResult, train
from creases.lab._training.kernel import order
from creases.lab._training.train import Moments

TORCH = {
    "cross_entropy": nn.functional.cross_entropy,
    "binary_cross_entropy": lambda z, y: nn.functional.binary_cross_entropy_with_logits(z[:, 0], y.to(z)),
    "squared_error": lambda z, y: nn.functional.mse_loss(z, y.to(z)),
}


def problem(loss: str = "cross_entropy", n: int = 50, d: int = 3, C: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, {
        "cross_entropy": rng.integers(0, C, n),
        "binary_cross_entropy": rng.integers(0, 2, n),
        "squared_error": rng.normal(size=(n, C)),
    }[loss]


def by_torch(model: nn.Module, optimizer: torch.optim.Optimizer, X, y, epochs: int, loss="cross_entropy", batches=None):
    """Parameters after training; ``batches(epoch)`` gives the samples of each step."""
    X, y = torch.as_tensor(X).to(next(model.parameters())), torch.as_tensor(y)
    for epoch in range(epochs):
        for chosen in [slice(None)] if batches is None else batches(epoch):
            optimizer.zero_grad()
            TORCH[loss](model(X[chosen]), y[chosen]).backward()
            optimizer.step()
    return [parameter.detach().numpy() for parameter in model.parameters()]


def of(batch: Batch, n: int) -> list[np.ndarray]:
    return [part[n] for pair in zip(batch.weights, batch.biases, strict=True) for part in pair]


def assert_same(one: TrainingResult, k: int, other: TrainingResult, n: int) -> None:
    """Network k of one training is network n of another, bit for bit."""
    for stack in ("batch", "first", "second"):
        mine, theirs = (done.batch if stack == "batch" else getattr(done.moments, stack) for done in (one, other))
        for a, b in zip(of(mine, k), of(theirs, n), strict=True):
            assert_array_equal(a, b)
    for name in ("epochs", "losses", "accuracy"):
        assert_array_equal(getattr(one, name)[k], getattr(other, name)[n])
    assert one.moments.steps[k] == other.moments.steps[n]


@pytest.mark.thorough
@pytest.mark.parametrize("loss", ["cross_entropy", "binary_cross_entropy", "squared_error"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd", "momentum"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_network_is_trained_as_torch_would_train_it_alone(loss, optimizer, dtype):
    C = 1 if loss == "binary_cross_entropy" else 4
    X, y = problem(loss, n=21)
    lr = np.array([0.01, 0.02, 0.005])
    batch = Batch.initial(3, [3, 6, 5, C], seed=1, leak=0.1, dtype=dtype)
    options = {"optimizer": "adam"} if optimizer == "adam" else {"optimizer": "sgd"}
    options |= {"momentum": 0.9} if optimizer == "momentum" else {}
    epochs, atol = (20, 2e-5) if dtype == np.float32 else (100, 1e-10)
    done = train(batch, X, y, epochs=epochs, loss=loss, lr=lr, **options)
    for n in range(3):
        model = batch.module(n).to(torch.float32 if dtype == np.float32 else torch.float64)
        its = {
            "adam": lambda p, rate: torch.optim.Adam(p, lr=rate),
            "sgd": lambda p, rate: torch.optim.SGD(p, lr=rate),
            "momentum": lambda p, rate: torch.optim.SGD(p, lr=rate, momentum=0.9),
        }[optimizer](model.parameters(), float(lr[n]))
        for got, wanted in zip(of(done.batch, n), by_torch(model, its, X, y, epochs, loss), strict=True):
            assert got.dtype == dtype
            assert_allclose(got, wanted, rtol=0, atol=atol)
    assert_allclose(done.losses, done.batch.losses(X, y, loss), rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("widths", [[3, 4], [3, 1, 1, 2, 4], [3, 40, 4], [3, 2, 2, 2, 2, 2, 4]])
def test_any_depth_and_width_is_trained(widths):
    X, y = problem()
    batch = Batch.initial(2, widths, seed=1, dtype=np.float64)
    trained = train(batch, X, y, epochs=60, lr=0.02).batch
    model = batch.module(1)
    expected = by_torch(model, torch.optim.Adam(model.parameters(), lr=0.02), X, y, 60)
    for got, wanted in zip(of(trained, 1), expected, strict=True):
        assert_allclose(got, wanted, rtol=0, atol=1e-8)


def test_minibatches_come_in_each_networks_own_order():
    X, y = problem("binary_cross_entropy", n=23)
    seeds = np.array([5, 6, 5])
    batch = Batch.initial(3, [3, 4, 1], seed=0, dtype=np.float64)
    done = train(batch, X, y, epochs=4, loss="binary_cross_entropy", lr=0.02, batch_size=10, seed=seeds)
    for n in range(3):
        model = batch.module(n)
        expected = by_torch(
            model,
            torch.optim.Adam(model.parameters(), lr=0.02),
            X,
            y,
            4,
            "binary_cross_entropy",
            lambda epoch, seed=int(seeds[n]): np.split(order(seed, epoch, 23), [10, 20]),
        )
        for got, wanted in zip(of(done.batch, n), expected, strict=True):
            assert_allclose(got, wanted, rtol=0, atol=1e-12)
    assert (done.moments.steps == 12).all()


def test_a_minibatch_of_all_samples_is_a_full_batch_but_for_rounding():
    X, y = problem("squared_error", n=9)
    batch = Batch.initial(3, [3, 4, 4], seed=0, dtype=np.float64)
    full, whole, more = (
        train(batch, X, y, epochs=30, loss="squared_error", batch_size=size).batch.weights[0]
        for size in (None, 9, 1000)
    )
    assert_allclose(full, whole, rtol=0, atol=1e-12)
    assert_array_equal(whole, more)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 23, 100, 1000])
def test_every_order_is_a_permutation_and_no_place_is_preferred(n):
    orders = np.array([order(seed, epoch, n) for seed in range(20) for epoch in range(20)])
    assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(n), (400, 1)))
    if 1 < n <= 5:
        shares = np.stack([(orders == k).mean(axis=0) for k in range(n)])
        assert abs(shares - 1 / n).max() < 0.12  # 5 standard errors
    if n >= 16:
        assert abs(np.corrcoef(orders[:, :16].T) - np.eye(16)).max() < 0.25


def test_networks_with_data_of_their_own_are_trained_on_those():
    batch = Batch.initial(3, [3, 4, 4], seed=1)
    data = [problem(seed=n) for n in range(3)]
    X, y = np.stack([one[0] for one in data]), np.stack([one[1] for one in data])
    for size in (None, 7):
        together = train(batch, X, y, epochs=30, lr=0.02, batch_size=size)
        for n in range(3):
            assert_same(train(batch[n : n + 1], X[n], y[n], epochs=30, lr=0.02, batch_size=size), 0, together, n)


@pytest.mark.parametrize("size", [None, 7])
@pytest.mark.parametrize("until", [{}, {"until_loss": 0.6}, {"until_accuracy": 0.7}])
def test_a_network_ends_the_same_whichever_others_are_trained_with_it(until, size):
    X, _ = problem("binary_cross_entropy", n=20)
    rng = np.random.default_rng(3)
    B = 75
    y, lr, seeds = rng.integers(0, 2, (B, 20)), rng.uniform(0.005, 0.05, B), rng.integers(0, 9, B)
    batch = Batch.initial(B, [3, 4, 1], seed=2)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        whole = train(batch, X, y, epochs=40, loss="binary_cross_entropy", lr=lr, seed=seeds, batch_size=size, **until)
        torch.set_num_threads(1)
        some = rng.permutation(B)[:19]
        part = train(
            batch[some],
            X,
            y[some],
            epochs=40,
            loss="binary_cross_entropy",
            lr=lr[some],
            seed=seeds[some],
            batch_size=size,
            **until,
        )
    finally:
        torch.set_num_threads(before)
    assert not until or 1 < len(set(whole.epochs)) <= 41
    for position, n in enumerate(some):
        assert_same(part, position, whole, n)


def test_large_data_that_are_not_kept_in_memory_train_the_same(monkeypatch):
    from creases.lab._training import train as training

    X, y = problem("squared_error", n=37)
    batch = Batch.initial(3, [3, 4, 4], seed=1)
    kept = train(batch, X, y, epochs=10, loss="squared_error", until_loss=0.9)
    monkeypatch.setattr(training, "MAX_RESIDENT_BYTES", 0)
    fetched = train(batch, np.stack([X] * 3), y, epochs=10, loss="squared_error", until_loss=0.9)
    shared = train(batch, X, y, epochs=10, loss="squared_error", until_loss=0.9)
    for n in range(3):
        assert_same(kept, n, fetched, n)
        assert_same(kept, n, shared, n)


def test_a_network_is_frozen_at_the_first_epoch_at_which_all_its_samples_are_right():
    X = np.array([[i >> k & 1 for k in range(3)] for i in range(8)], float)
    y = np.random.default_rng(0).integers(0, 2, (40, 8))
    batch = Batch.initial(40, [3, 5, 1], seed=0, init="he", leak=0.1, dtype=np.float64)
    done = train(batch, X, y, epochs=150, loss="binary_cross_entropy", lr=0.025, until_accuracy=1.0)
    solved = done.accuracy == 1
    assert 5 < solved.sum() < 40
    assert (done.epochs[~solved] == 150).all()
    for n in range(40):
        last = int(done.epochs[n])
        alone = train(batch[[n]], X, y[n], epochs=last, loss="binary_cross_entropy", lr=0.025)
        for one, other in zip(of(done.batch, n), of(alone.batch, 0), strict=True):
            assert_array_equal(one, other)
        assert alone.accuracy[0] == ((alone.batch.outputs(X)[0, :, 0] > 0) == y[n]).mean() == done.accuracy[n]
        if solved[n] and last:
            assert train(batch[[n]], X, y[n], epochs=last - 1, loss="binary_cross_entropy", lr=0.025).accuracy[0] < 1
    assert_array_equal(done.moments.steps, done.epochs)


@pytest.mark.parametrize(("share", "least"), [(0.8, 8), (0.85, 9), (0.95, 10)])
def test_a_network_is_frozen_once_a_share_of_its_samples_is_right_and_not_before(share, least):
    X, y = problem("binary_cross_entropy", n=10)
    done = train(
        Batch.initial(50, [3, 4, 1], seed=0),
        X,
        y,
        epochs=300,
        loss="binary_cross_entropy",
        lr=0.02,
        until_accuracy=share,
    )
    right, frozen = np.rint(10 * done.accuracy), (done.epochs > 0) & (done.epochs < 300)
    assert frozen.sum() > 10
    assert right[frozen].min() == least  # steps are small: hardly any network jumps beyond
    assert (right[done.epochs < 300] >= least).all()


def test_a_network_is_frozen_once_its_loss_is_small_enough():
    X, y = problem("squared_error", n=12, C=1)
    batch = Batch.initial(30, [3, 8, 1], seed=0, dtype=np.float64)
    done = train(batch, X, y, epochs=400, loss="squared_error", optimizer="sgd", lr=0.05, momentum=0.9, until_loss=0.2)
    frozen = done.epochs < 400
    assert frozen.any()
    assert_array_equal(frozen, done.losses < 0.2)
    assert np.isnan(done.accuracy).all()
    earlier = train(batch[[k := int(np.argmax(frozen))]], X, y, epochs=int(done.epochs[k]) - 1, loss="squared_error",
                    optimizer="sgd", lr=0.05, momentum=0.9)  # fmt: skip
    assert earlier.losses[0] >= 0.2


def test_training_goes_on_from_moments_as_if_it_had_not_stopped():
    X, y = problem()
    batch = Batch.initial(4, [3, 4, 4], seed=3)
    for options in ({}, {"optimizer": "sgd", "momentum": 0.5}):
        once = train(batch, X, y, epochs=30, lr=0.02, **options)
        half = train(batch, X, y, epochs=12, lr=0.02, **options)
        done = train(half.batch, X, y, epochs=18, lr=0.02, moments=half.moments, **options)
        assert (done.moments.steps == 30).all()
        for n in range(4):
            for one, other in zip(of(once.batch, n), of(done.batch, n), strict=True):
                assert_array_equal(one, other)


def test_a_grown_network_goes_on_with_the_moments_that_surgery_carries():
    import creases

    X, y = problem()
    batch = Batch.initial(1, [3, 4, 4], seed=4, dtype=np.float64)
    model = batch.module(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    by_torch(model, optimizer, X, y, 40)
    creases.widen(model, "0", [[0.3, -0.2, 0.1]], [0.1], 0.05 * np.ones((4, 1)), optimizer=optimizer)
    grown = Batch.from_modules([model], dtype=np.float64)

    def memory(key: str) -> Batch:
        parts = [optimizer.state[parameter][key].numpy()[None].copy() for parameter in model.parameters()]
        return Batch(tuple(parts[::2]), tuple(parts[1::2]))

    moments = Moments(memory("exp_avg"), memory("exp_avg_sq"), 40)
    trained = train(grown, X, y, epochs=100, lr=0.02, moments=moments).batch
    for got, wanted in zip(of(trained, 0), by_torch(model, optimizer, X, y, 100), strict=True):
        assert_allclose(got, wanted, rtol=0, atol=1e-8)


def test_huge_logits_do_not_overflow():
    X, y = problem()
    batch = Batch.initial(2, [3, 5, 4], seed=5)
    big = Batch(tuple(1e4 * W for W in batch.weights), batch.biases)
    done = train(big, X, y, epochs=5, lr=0.1)
    assert np.isfinite(done.losses).all()
    assert all(np.isfinite(part).all() for part in of(done.batch, 0))


@pytest.mark.parametrize("loss", ["cross_entropy", "binary_cross_entropy", "squared_error"])
def test_a_network_that_diverges_is_not_right_and_does_not_disturb_others(loss):
    C = 4 if loss == "cross_entropy" else 1
    X, _ = problem(n=10)
    y = np.zeros(10, int)  # a network of NaN outputs would pass for class 0
    batch = Batch.initial(4, [3, 5, C], seed=5)
    for part in (batch.weights[0], batch.biases[1]):
        part[1] = np.nan
        part[2] = 3e38
    done = train(batch, X, y, epochs=20, loss=loss, lr=0.01, until_accuracy=None if loss == "squared_error" else 1.0)
    assert not np.isfinite(done.losses[1:3]).any()
    assert not (done.accuracy[1:3] > 0).any()
    assert loss == "squared_error" or (done.epochs[1:3] == 20).all()
    rest = train(
        batch[[0, 3]], X, y, epochs=20, loss=loss, lr=0.01, until_accuracy=None if loss == "squared_error" else 1.0
    )
    assert np.isfinite(rest.losses).all()
    assert_same(done, 0, rest, 0)
    assert_same(done, 3, rest, 1)


@st.composite
def ugly(draw):
    loss = draw(st.sampled_from(["cross_entropy", "binary_cross_entropy", "squared_error"]))
    B, n, d = draw(st.integers(1, 20)), draw(st.integers(1, 19)), draw(st.integers(1, 3))
    C = 1 if loss == "binary_cross_entropy" else draw(st.integers(1, 3))
    widths = [d, *draw(st.lists(st.integers(1, 4), max_size=3)), C]
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    batch = Batch.initial(B, widths, seed=draw(st.integers(0, 9)), leak=draw(st.sampled_from([0.0, 0.1])),
                          dtype=np.float64)  # fmt: skip
    for kind in draw(st.lists(st.sampled_from(["dead", "zero"]), max_size=2)):
        k = draw(st.integers(0, B - 1))
        for W, b in zip(batch.weights, batch.biases, strict=True):
            W[k], b[k] = 0, -1 if kind == "dead" else 0
    X = rng.normal(size=(n, d)) * draw(st.sampled_from([0.0, 1e-12, 1.0, 1e3]))
    y = rng.integers(0, 2 if loss == "binary_cross_entropy" else C, n) if draw(st.booleans()) else np.zeros(n, int)
    y = np.repeat(y[:, None], C, axis=1) if loss == "squared_error" else y
    return batch, X, y, loss, draw(st.sampled_from([None, 1, 3, 50]))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ugly(), st.sampled_from(["adam", "sgd"]))
def test_ugly_networks_and_data_are_trained_as_by_torch(case, optimizer):
    batch, X, y, loss, size = case
    done = train(batch, X, y, epochs=3, loss=loss, optimizer=optimizer, lr=0.01, batch_size=size, seed=7)
    assert (done.epochs == 3).all()
    k, n = batch.count - 1, len(X)
    model = batch.module(k)
    its = (torch.optim.Adam if optimizer == "adam" else torch.optim.SGD)(model.parameters(), lr=0.01)
    cut = None if size is None else lambda epoch: np.split(order(7, epoch, n), range(size, n, size))
    expected = by_torch(model, its, X, y, 3, loss, cut)
    largest = max(abs(part).max() for part in expected)
    for got, wanted in zip(of(done.batch, k), expected, strict=True):
        # Adam divides by the size of a gradient: where that is nothing but rounding, so is the step
        assert_allclose(got, wanted, rtol=1e-7, atol=1e-9 * max(1, largest))
    losses = done.batch.losses(X, y, loss)
    assert_allclose(done.losses, np.where(np.isfinite(losses), losses, done.losses), rtol=1e-9, atol=1e-12)
    assert not np.isfinite(done.losses[~np.isfinite(losses)]).any()


def test_no_epochs_leave_networks_alone_and_judge_them():
    X, y = problem()
    batch = Batch.initial(20, [3, 4, 4], seed=0)
    done = train(batch, X, y, epochs=0)
    for n in range(20):
        for one, other in zip(of(done.batch, n), of(batch, n), strict=True):
            assert_array_equal(one, other)
    assert_allclose(done.losses, batch.losses(X, y), rtol=1e-6)
    assert_array_equal(done.accuracy, (batch.outputs(X).argmax(axis=2) == y).mean(axis=1))
    assert not done.epochs.any()
    assert not done.moments.steps.any()


def test_an_empty_batch_is_trained_at_once():
    X, y = problem()
    done = train(Batch.initial(0, [3, 4, 4], seed=0), X, y, epochs=5)
    assert done.batch.count == len(done.epochs) == len(done.losses) == len(done.accuracy) == 0
    assert done.batch.widths == (3, 4, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((5, 2))}, r"X must have shape \(n, 3\) or \(2, n, 3\), got shape \(5, 2\)"),
        ({"X": np.zeros((0, 3)), "y": np.zeros(0, int)}, r"X must have shape"),
        ({"X": np.full((5, 3), np.nan)}, "X must be finite in float32, got NaN"),
        ({"X": np.full((5, 3), 1e300)}, "X must be finite in float32, got NaN, infinite or too large entries"),
        ({"y": np.zeros(4, int)}, r"y must be class numbers of shape \(5,\) or \(2, 5\), got shape \(4,\)"),
        ({"y": np.full(5, 4)}, "y must be whole class numbers from 0 to 3"),
        ({"y": np.zeros(5)}, "y must be whole class numbers"),
        ({"y": ["a"] * 5}, "y must be class numbers, got entries of type <U1"),
        (
            {"y": np.zeros(5), "loss": "squared_error"},
            r"y must be numbers of shape \(5, 4\) or \(2, 5, 4\), got shape \(5,\)",
        ),
        ({"y": np.full((5, 4), np.nan), "loss": "squared_error"}, "y must be finite in float32, got NaN"),
        ({"loss": "hinge"}, "loss must be 'cross_entropy', 'binary_cross_entropy' or 'squared_error', got 'hinge'"),
        (
            {"loss": "binary_cross_entropy"},
            "loss must fit the networks, which have 4 outputs, got 'binary_cross_entropy'; that is for a single "
            "output; use loss='cross_entropy'",
        ),
        ({"optimizer": "lbfgs"}, "optimizer must be 'adam' or 'sgd', got 'lbfgs'"),
        ({"lr": 0.0}, "lr must be finite and above 0"),
        ({"lr": [0.1, np.nan]}, "lr must be finite and above 0"),
        ({"lr": [0.1, 0.1, 0.1]}, r"lr must be a number or have shape \(2,\), one for each network, got shape \(3,\)"),
        ({"epochs": -1}, "epochs must be an integer, at least 0, got -1"),
        ({"epochs": 1.5}, "epochs must be an integer"),
        ({"betas": (0.9, 1.0)}, r"betas must be two numbers in \[0, 1\)"),
        ({"eps": 0.0}, "eps must be a finite number above 0"),
        ({"momentum": 0.9}, "momentum must be 0 for Adam, .* got 0.9; use optimizer='sgd'"),
        ({"momentum": -1.0, "optimizer": "sgd"}, "momentum must be a finite number at least 0"),
        ({"batch_size": 0}, "batch_size must be a positive integer, got 0"),
        ({"seed": [1, 2, 3]}, r"seed must be an integer or integers \(2,\)"),
        ({"seed": 0.5}, "seed must be an integer"),
        ({"until_accuracy": "all"}, "until_accuracy must be a number above 0 and at most 1, got 'all'"),
        ({"until_accuracy": 2}, "until_accuracy must be a number above 0 and at most 1, got 2"),
        ({"until_loss": float("nan")}, "until_loss must be a number, got nan"),
        (
            {"until_accuracy": 1.0, "loss": "squared_error", "y": np.zeros((5, 4))},
            "until_accuracy must be None for loss='squared_error', which has no classes",
        ),
        (
            {"moments": Moments.zeros(Batch.initial(2, [3, 4], seed=0))},
            r"moments must be of 2 networks \(3, 5, 4\), as the batch, got 2 networks \(3, 4\)",
        ),
    ],
)
def test_bad_arguments_are_refused(change, message):
    batch = Batch.initial(2, [3, 5, 4], seed=0)
    arguments = {"X": np.zeros((5, 3)), "y": np.zeros(5, int), "epochs": 1, "lr": 0.1} | change
    with pytest.raises(InputError, match=message):
        train(batch, **arguments)


@pytest.mark.slow
def test_labels_of_one_output_are_zeros_and_ones():
    batch = Batch.initial(2, [3, 5, 1], seed=0)
    with pytest.raises(InputError, match="y must be zeros and ones, got int64 from 0 to 2"):
        train(batch, np.zeros((3, 3)), [0, 1, 2], epochs=1, loss="binary_cross_entropy")
    for y in ([True, False, True], [1.0, 0.0, 1.0]):
        assert np.isfinite(train(batch, np.zeros((3, 3)), y, epochs=1, loss="binary_cross_entropy").losses).all()


@pytest.mark.parametrize("leak", [-1.0, -0.1, np.nan])
def test_a_negative_leak_is_refused_since_sides_could_not_be_told(leak):
    batch = Batch.initial(2, [2, 3, 2], seed=0, leak=leak)
    with pytest.raises(InputError, match=r"batch\.leak must be finite and at least 0"):
        train(batch, np.zeros((4, 2)), np.zeros(4, int), epochs=1)
