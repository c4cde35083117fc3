"""Batched descent against autograd; the spline experiments at a small size, and their claims at a larger one."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from creases.errors import InputError
from creases.lab import Batch
from creases.reproduce.descent import descend
from creases.reproduce.splines_initialisation import (
    Spread,
    breakpoint_initialisation,
    breakpoints_against_depth,
    curvature_correlation,
    spiky_initialisation,
)


@pytest.mark.parametrize("leak", [0.0, 0.2, -1.0])
@pytest.mark.parametrize("widths", [[1, 5, 1], [1, 4, 3, 4, 1], [1, 1]])
def test_descent_is_torchs_own(widths: list[int], leak: float) -> None:
    batch = Batch.initial(3, widths, seed=0, leak=leak, dtype=np.float64)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 20))
    found = descend(batch, x, y, steps=25, lr=0.05)
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


def test_descent_leaves_the_first_weights_alone_and_takes_shared_data() -> None:
    batch = Batch.initial(2, [1, 4, 1], seed=0)
    before = batch.weights[0].copy()
    x = np.linspace(-1, 1, 7)
    shared = descend(batch, x, x**2, steps=3, lr=0.1)
    own = descend(batch, np.tile(x, (2, 1)), np.tile(x**2, (2, 1)), steps=3, lr=0.1)
    np.testing.assert_array_equal(batch.weights[0], before)
    np.testing.assert_array_equal(shared.weights[0], own.weights[0])
    assert shared.dtype == np.float32


def test_descent_refuses_several_inputs() -> None:
    with pytest.raises(InputError, match="batch: expected one input and one output"):
        descend(Batch.initial(1, [2, 3, 1], seed=0), [0.0], [0.0], steps=1, lr=0.1)


def test_experiments_give_plain_numbers_for_every_seed() -> None:
    few = {"seeds": 3, "steps": 20}
    table1 = breakpoint_initialisation(**few, width=6)
    assert table1.keys() == {"sine", "quadratic"}
    assert table1["sine"].keys() == {"torch", "uniform", "curvature"}
    table2 = breakpoints_against_depth(("sine",), **few, depths=(1, 2), units=8)
    assert table2[1]["sine"] == (8.0, 0.0, (8.0, 8.0, 8.0))
    correlation = curvature_correlation(("sine", "chirp"), **few, depths=(1,))
    assert all(-1 <= pair[1].initial <= 1 for row in correlation.values() for pair in row.items())
    spiky = spiky_initialisation(("arctan",), **few, width=6, lr=1e-3)
    assert spiky["arctan"]["ratio"].mean > 1
    for found in (table1, table2, correlation, spiky):
        json.dumps(found)


def test_experiments_repeat() -> None:
    first, second = (breakpoint_initialisation(("sine",), seeds=2, steps=10, width=4) for _ in range(2))
    assert first == second


def test_one_seed_has_no_spread() -> None:
    assert Spread.of([2.0]) == (2.0, 0.0, (2.0,))


@pytest.mark.slow
def test_breakpoints_over_the_data_lower_the_loss_on_a_sine() -> None:
    found = breakpoint_initialisation(("sine",), seeds=5, steps=4000)["sine"]
    assert found["uniform"].mean < 0.5 * found["torch"].mean
    assert max(found["uniform"].values) < min(found["torch"].values)


@pytest.mark.slow
def test_training_draws_breakpoints_to_curvature_and_depth_helps() -> None:
    found = curvature_correlation(("chirp",), seeds=10, steps=2000)["chirp"]
    assert found[1].final > found[1].initial + 0.3
    assert found[4].final > found[1].final + 0.3
