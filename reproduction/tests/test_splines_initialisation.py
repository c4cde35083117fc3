"""Batched descent against autograd; the spline experiments at a small size, and their claims at a larger one."""

from __future__ import annotations

import json

import pytest

from creases_reproduction.splines.depth import breakpoints_against_depth, curvature_correlation
from creases_reproduction.splines.initialisation import breakpoint_initialisation, spiky_initialisation
from creases_reproduction.splines.spreads import Spread


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
    assert Spread.from_values([2.0]) == (2.0, 0.0, (2.0,))


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
