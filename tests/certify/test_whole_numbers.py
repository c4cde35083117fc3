"""Columns of whole numbers and one-hot groups in holds and verify, against every allowed input in fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.certify import holds
from creases.certify.proofs import check_proof
from creases.certify.properties import Case, Property, parse_vnnlib, verify
from creases.errors import InputError

#: Columns 0 and 4 are whole numbers, 1 to 3 a group; x0 + 2 x4 <= 3.
BOX = [(-1.4, 2.6), (0.0, 1.0), (0.0, 1.0), (-0.5, 3.0), (-0.25, 2.0)]
INTEGER, GROUP, A, B = [0, 4], [1, 2, 3], [[1.0, 0.0, 0.0, 0.0, 2.0]], [3.0]


def layers_of(seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in ((5, 6), (6, 5), (5, 2))]


def exact(layers: list[tuple[np.ndarray, np.ndarray]], x: tuple[int, ...]) -> list[Fraction]:
    values = [Fraction(v) for v in x]
    for k, (W, c) in enumerate(layers):
        values = [
            sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(shift))
            for row, shift in zip(W.tolist(), c.tolist(), strict=True)
        ]
        values = values if k + 1 == len(layers) else [max(v, Fraction(0)) for v in values]
    return values


def allowed() -> list[tuple[int, ...]]:
    ones = [tuple(int(j == k) for j in range(3)) for k in range(3)]
    return [(a, *group, b) for a, group, b in product(range(-1, 3), ones, range(3)) if a + 2 * b <= 3]


@pytest.mark.parametrize("seed", range(8))
def test_limits_hold_or_not_as_every_allowed_input_says(seed: int) -> None:
    layers = layers_of(seed)
    net = creases.read(layers)
    most = max(exact(layers, x)[0] for x in allowed())
    for away in (-1e-6, 1e-6):
        limit = float(most) + away * (1 + abs(float(most)))
        options = {"A": A, "b": B, "integer": INTEGER, "one_hot": [GROUP]}
        verdict = holds(net, BOX, outputs=([[1.0, 0.0]], [limit]), **options)
        assert verdict.status == ("holds" if most <= Fraction(limit) else "violated")
        result = check_proof(verdict.proof, net)
        assert result
        assert not result.vacuous
        assert "inputs 0, 4 are whole numbers; one of inputs 1, 2, 3 is 1" in result.text
        if verdict.counterexample is not None:
            assert tuple(map(int, verdict.counterexample)) in allowed()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_class_is_never_decided_if_no_allowed_input_is(seed: int) -> None:
    layers = layers_of(seed + 100)
    net = creases.read(layers)
    reached = {int(y[1] > y[0]) for y in (exact(layers, x) for x in allowed())}
    for never in (0, 1):
        verdict = holds(net, BOX, A=A, b=B, integer=INTEGER, one_hot=[GROUP], never=never)
        assert verdict.status == ("violated" if never in reached else "holds")
        assert check_proof(verdict.proof, net)


@pytest.mark.parametrize("seed", range(8))
def test_cases_occur_or_not_as_every_allowed_input_says(seed: int) -> None:
    layers = layers_of(seed + 200)
    net = creases.read(layers)
    least = min(exact(layers, x)[0] + Fraction(1, 2) * x[0] for x in allowed())
    for away in (-1e-6, 1e-6):
        limit = float(least) + away * (1 + abs(float(least)))
        zeros = np.zeros((1, 5))
        mixed = np.array([[0.5, 0, 0, 0, 0]])
        cases = [
            Case(np.array(BOX), np.array(A), np.array(B), np.array([[1.0, 0.0]]), mixed, np.array([limit])),
            Case(np.array([(0.2, 0.7), *BOX[1:]]), zeros[:0], zeros[0, :0], np.zeros((1, 2)), zeros, np.ones(1)),
        ]  # no whole number is in the second
        verdict = verify(net, Property(5, 2, tuple(cases)), integer=INTEGER, one_hot=[GROUP], proof=True)
        assert verdict.status == ("violated" if least <= Fraction(limit) else "holds")
        assert check_proof(verdict.proof, net)


def test_a_column_between_whole_numbers_may_be_anything_else() -> None:
    net = creases.read([([[1.0]], [0.0]), ([[1.0]], [-0.75])])  # class 1 where x > 0.75
    assert holds(net, (-0.5, 0.9), never=1).status == "violated"
    verdict = holds(net, (-0.5, 0.9), never=1, integer=[0])
    assert verdict.status == "holds"
    assert verdict.proof is not None
    every = replace(verdict.proof, statement=replace(verdict.proof.statement, integer=()))
    assert not check_proof(every, net)


@pytest.mark.parametrize("bend", ["pool", "skip"])
def test_networks_without_matrices_are_proved_too(bend: str) -> None:
    class Skip(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.relu(x - 0.25)

    torch.manual_seed(3)
    inner = [nn.Unflatten(1, (1, 4)), nn.MaxPool1d(2), nn.Flatten()] if bend == "pool" else [Skip()]
    model = nn.Sequential(nn.Linear(3, 4), *inner, nn.Linear(2 if bend == "pool" else 4, 1)).double()
    net = creases.read(model, (3,))
    points = torch.eye(3, dtype=torch.float64)
    most = float(model(points).detach().max())
    for away, status in ((1e-6, "holds"), (-1e-6, "violated")):
        verdict = holds(net, (0, 1), one_hot=[[0, 1, 2]], outputs=([[1.0]], [most + away]))
        assert verdict.status == status
        assert check_proof(verdict.proof, net)


def test_a_proof_about_whole_numbers_is_none_of_the_property_itself() -> None:
    net = creases.read([([[1.0]], [0.0]), ([[1.0]], [0.0])])
    text = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 0.25))(assert (<= X_0 1.75))"
    prop = parse_vnnlib(text + "(assert (>= Y_0 1.25))")
    assert verify(net, prop).status == "violated"
    verdict = verify(net, prop, integer=[0], proof=True)
    assert verdict.status == "holds"
    assert verdict.proof is not None
    assert check_proof(verdict.proof, net)
    assert not prop.is_statement_of(verdict.proof)


def test_columns_and_boxes_that_allow_nothing_are_refused() -> None:
    net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])
    with pytest.raises(InputError, match="box must allow a whole number for column 0"):
        holds(net, (0.25, 0.75), never=1, integer=[0])
    with pytest.raises(InputError, match="box must allow exactly one 1 in each group of one_hot"):
        holds(net, (-1, 0.5), never=1, one_hot=[[0, 1]])
    with pytest.raises(InputError, match="one_hot must be groups of one column or more"):
        holds(net, (0, 1), never=1, one_hot=[[0, 1], [1]])
    with pytest.raises(InputError, match="integer"):
        holds(net, (0, 1), never=1, integer=[2])
    with pytest.raises(InputError, match="within 2\\^51"):
        holds(net, (0, 1e300), never=1, integer=[0])
    prop = parse_vnnlib(
        "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(assert (>= X_0 0))(assert (<= X_0 1))"
        "(assert (>= X_1 0))(assert (<= X_1 1))(assert (>= Y_0 1.25))"
    )
    with pytest.raises(InputError, match="engine must be left out with integer or one_hot"):
        verify(net, prop, integer=[0], engine="local", n_jobs=2)
