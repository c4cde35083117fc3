"""Networks trained on a GPU end where they end on the CPU.

Without a GPU the kernel runs in Triton's interpreter, on the CPU, where triton is installed and TRITON_INTERPRET is 1.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

from creases.errors import InputError
from creases.lab import Batch, train
from creases.lab._training import cuda

GPU = torch.cuda.is_available()

#: Interpreted steps take long.
EPOCHS = 200 if GPU else 4

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # of the interpreter: a GPU's numbers overflow silently
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
]


@pytest.fixture
def kernel(monkeypatch):
    """A way to run the kernel, compiled or interpreted."""
    if find_spec("triton") is None:
        pytest.skip("triton is not installed")
    if not GPU and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("there is no GPU, and TRITON_INTERPRET is not 1")
    if not GPU:
        monkeypatch.setattr(cuda, "_usable", lambda device: torch.device("cpu"))


def problem(kind: str, n: int, d: int, C: int, B: int = 0):
    rng = np.random.default_rng(n)
    lead = (B,) if B else ()
    X = rng.normal(size=(*lead, n, d))
    if kind == "squared_error":
        return X, rng.normal(size=(*lead, n, C))
    return X, rng.integers(0, C if kind == "cross_entropy" else 2, (*lead, n))


def parts(batch: Batch) -> list[np.ndarray]:
    return [*batch.weights, *batch.biases]


CASES = {
    "boolean": ([4, 3, 1], 16, 0, {"loss": "binary_cross_entropy", "lr": 0.025}),
    "deep": ([4, 9, 7, 1], 16, 0, {"loss": "binary_cross_entropy"}),
    "classes": ([3, 5, 2, 4], 20, 3, {"loss": "cross_entropy", "lr": [0.01, 0.02, 0.03]}),
    "many samples": ([2, 3, 3], 70, 3, {"loss": "cross_entropy"}),
    "very many": ([2, 3, 2], 150, 0, {"loss": "cross_entropy", "epochs": 2}),
    "no hidden layer": ([2, 2], 1, 0, {"loss": "cross_entropy"}),
    "numbers": ([2, 6, 3], 5, 0, {"loss": "squared_error", "optimizer": "sgd", "lr": 0.05}),
    "momentum": ([2, 1, 1], 7, 3, {"loss": "squared_error", "optimizer": "sgd", "momentum": 0.9, "lr": 0.01}),
    "minibatches": ([2, 3, 2], 19, 0, {"loss": "cross_entropy", "batch_size": 6, "seed": [3, 1, 4], "epochs": 2}),
    "single samples": (
        [2, 3, 1],
        3,
        3,
        {"loss": "binary_cross_entropy", "batch_size": 1, "optimizer": "sgd", "epochs": 2},
    ),
    "until a loss": ([2, 4, 1], 8, 0, {"loss": "binary_cross_entropy", "until_loss": 0.69, "batch_size": 4}),
}


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("case", CASES)
def test_training_ends_where_the_cpu_leads(case):
    widths, n, own, options = CASES[case]
    X, y = problem(options["loss"], n, widths[0], widths[-1], own)
    batch = Batch.initial(3, widths, seed=1, leak=0.1, dtype=np.float64)
    options = {"epochs": EPOCHS} | options
    here, there = train(batch, X, y, **options), train(batch, X, y, **options, device="cuda")
    wanted = [*parts(here.batch), *parts(here.moments.first), *parts(here.moments.second), here.losses]
    got = [*parts(there.batch), *parts(there.moments.first), *parts(there.moments.second), there.losses]
    for one, other in zip(got, wanted, strict=True):
        assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    assert_array_equal(there.epochs, here.epochs)
    assert_array_equal(there.accuracy, here.accuracy)
    assert_array_equal(there.moments.steps, here.moments.steps)


@pytest.mark.usefixtures("kernel")
def test_a_network_in_float32_follows_torch():
    X, y = problem("binary_cross_entropy", 16, 4, 1)
    batch = Batch.initial(1, [4, 6, 6, 1], seed=5)
    done = train(batch, X, y, epochs=EPOCHS // 4, loss="binary_cross_entropy", lr=0.01, device="cuda")
    model = batch.module(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(EPOCHS // 4):
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(
            model(torch.tensor(X))[:, 0], torch.tensor(y).double()
        ).backward()
        optimizer.step()
    for layer, W in zip(model[::2], done.batch.weights, strict=True):
        assert_allclose(W[0], layer.weight.detach(), atol=1e-4)


@pytest.mark.usefixtures("kernel")
def test_a_network_ends_the_same_whichever_others_are_trained_with_it():
    X, y = problem("cross_entropy", 5, 2, 2)
    batch = Batch.initial(70, [2, 3, 2], seed=2)
    which = [3, 40, 69]
    options = {"epochs": EPOCHS, "lr": 0.1, "until_accuracy": 1.0, "device": "cuda"}
    whole, some = train(batch, X, y, **options), train(batch[which], X, y, **options)
    for one, other in zip(parts(some.batch), parts(whole.batch[which]), strict=True):
        assert_array_equal(one, other)
    assert_array_equal(some.epochs, whole.epochs[which])
    assert_array_equal(some.losses, whole.losses[which])


@pytest.mark.usefixtures("kernel")
def test_networks_that_do_not_fit_at_once_are_trained_one_after_the_other(monkeypatch):
    X, y = problem("binary_cross_entropy", 4, 2, 1)
    batch = Batch.initial(40, [2, 2, 1], seed=2)
    options = {"epochs": 2, "loss": "binary_cross_entropy", "device": "cuda"}
    whole = train(batch, X, y, **options)
    monkeypatch.setattr(cuda, "ROOM", 1)
    for one, other in zip(parts(train(batch, X, y, **options).batch), parts(whole.batch), strict=True):
        assert_array_equal(one, other)


@pytest.mark.usefixtures("kernel")
def test_a_network_that_is_done_is_not_touched_any_more():
    X, y = problem("binary_cross_entropy", 4, 2, 1)
    batch = Batch.initial(3, [2, 2, 1], seed=2)
    done = train(batch, X, y, epochs=3, loss="binary_cross_entropy", until_loss=1e9, device="cuda")
    assert_array_equal(done.epochs, 0)
    assert_allclose(done.losses, train(batch, X, y, epochs=0, loss="binary_cross_entropy").losses, rtol=1e-5)
    for one, other in zip(parts(done.batch), parts(batch), strict=True):
        assert_array_equal(one, other)


@pytest.mark.usefixtures("kernel")
def test_training_goes_on_from_moments_as_if_it_had_not_stopped():
    X, y = problem("binary_cross_entropy", 4, 2, 1)
    batch = Batch.initial(2, [2, 2, 1], seed=3, dtype=np.float64)
    options = {"loss": "binary_cross_entropy", "lr": 0.02, "device": "cuda"}
    once = train(batch, X, y, epochs=5, **options)
    half = train(batch, X, y, epochs=2, **options)
    twice = train(half.batch, X, y, epochs=3, moments=half.moments, **options)
    for one, other in zip(parts(once.batch), parts(twice.batch), strict=True):
        assert_array_equal(one, other)


@pytest.mark.usefixtures("kernel")
def test_a_network_that_diverges_has_no_sample_right():
    X, y = problem("cross_entropy", 6, 2, 3)
    batch = Batch.initial(2, [2, 3, 3], seed=3)
    for part in batch.weights:
        part[0] = np.nan
    done = train(batch, X, y, epochs=2, until_accuracy=1.0, device="cuda")
    assert np.isnan(done.losses[0])
    assert done.accuracy[0] == 0
    assert np.isfinite(done.losses[1])


@pytest.mark.usefixtures("kernel")
def test_small_losses_keep_their_digits():
    weights, biases = (np.full((1, 1, 1), 1, np.float32),), (np.zeros((1, 1), np.float32),)
    X = np.array([[1.0], [5.0], [12.0], [18.0]])
    done = train(Batch(weights, biases), X, np.ones(4, int), epochs=0, loss="binary_cross_entropy", device="cuda")
    assert_allclose(done.losses, np.log1p(np.exp(-X)).mean(), rtol=1e-6)
    last = train(Batch(weights, biases), X[3:], np.ones(1, int), epochs=0, loss="binary_cross_entropy", device="cuda")
    assert_allclose(last.losses, np.exp(-18.0), rtol=1e-5)


@pytest.mark.usefixtures("kernel")
@pytest.mark.skipif(not GPU, reason="thousands of trainings take a GPU")
def test_as_many_networks_learn_xor_as_on_the_cpu():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    batch = Batch.initial(4000, [2, 3, 1], seed=0)
    options = {"epochs": 1000, "loss": "binary_cross_entropy", "lr": 0.025, "until_accuracy": 1.0}
    here, there = train(batch, X, y, **options), train(batch, X, y, **options, device="cuda")
    assert abs((there.accuracy == 1).mean() - (here.accuracy == 1).mean()) < 0.01
    assert ((there.accuracy == 1) == (here.accuracy == 1)).mean() > 0.98  # not all: rounding parts some ways


@pytest.mark.skipif(GPU, reason="there is a CUDA device")
def test_a_missing_device_is_named():
    with pytest.raises(InputError, match=r"device must be one of the 0 CUDA devices .*, got 'cuda'; use device='cpu'"):
        train(Batch.initial(1, [2, 2], seed=0), [[0.0, 1.0]], [1], epochs=1, device="cuda")


def test_missing_triton_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(cuda, "find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"device must be 'cpu' without triton, which is part of torch's CUDA builds .*, got 'cuda'"
    ):
        train(Batch.initial(1, [2, 2], seed=0), [[0.0, 1.0]], [1], epochs=1, device="cuda")
