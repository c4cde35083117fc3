"""Runs of affine steps are multiplied out without rounding, and bounded as one."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.certify import nearest
from creases.certify.proofs import check_proof, network_digest
from creases.certify.proofs._checker.parts import Dyadic
from creases.certify.proofs._checker.program import Affine, build_machine
from creases.certify.proofs._checker.runs import join_runs
from creases.certify.proofs._digest import make_proof
from creases.certify.proofs._format import ClaimProof, Domain, HoldsStatement, Leaf, OutputRows


def chain(seed: int, *widths: int) -> nn.Sequential:
    """Return linear layers with a relu after every second one."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for k, (n, m) in enumerate(pairwise(widths)):
        layers += [nn.Linear(n, m).double(), *([nn.ReLU()] if k % 2 else [])]
    return nn.Sequential(*layers)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_with_joined_steps_is_the_same_function_in_fractions(seed: int) -> None:
    net = creases.read(chain(seed, 3, 4, 4, 5, 3, 2), (3,))
    machine = build_machine(net)
    joined = join_runs(machine)
    assert sum(isinstance(step, Affine) for step in joined.steps) == 3 < len(net.steps) - 2
    for x in np.random.default_rng(seed).normal(size=(5, 3)):
        assert (joined.evaluate(x)[-1] == machine.evaluate(x)[-1]).all()


def test_clamps_are_joined_with_the_layers_around_them() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Hardtanh(0.0, 1.0), nn.Linear(3, 1)).double()
    machine = build_machine(creases.read(model, (2,)))
    x = np.array([0.3, -1.7])
    assert (join_runs(machine).evaluate(x)[-1] == machine.evaluate(x)[-1]).all()


def test_steps_that_follow_bends_stay_as_they_are() -> None:
    machine = build_machine(creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])]))
    assert join_runs(machine) is machine


def test_a_run_that_is_the_identity_is_bounded_as_the_identity() -> None:
    """(x + y) / 2 and (x - y) / 2 added give x: intervals of the two alone would give -2 to 2."""
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False), nn.ReLU()).double()
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[0.5, 0.5], [0.5, -0.5]]))
        model[1].weight.fill_(1.0)
    net = creases.read(model, (2,))
    statement = HoldsStatement("holds", Domain(((-1.0, 1.0),) * 2), outputs=OutputRows(((1.0,),), (1.0,)))
    assert check_proof(make_proof(statement, (ClaimProof(("row", 0), (Leaf("bounds"),)),), net=net), net)


def test_sums_and_products_of_dyadic_numbers_are_exact() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 3)) * 1e-9, rng.normal(size=(3, 2)) * 1e9
    total = (Dyadic.of(A) @ Dyadic.of(B) + Dyadic.of(np.ones((2, 2)))).fractions()
    for i in range(2):
        for j in range(2):
            terms = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(A[i], B[:, j], strict=True)]
            assert total[i, j] == 1 + sum(terms)


def test_the_nearest_floats_are_within_their_bounds() -> None:
    for bits, power in product((1, 53, 54, 120, 899, 901), (-1200, -950, -600, -53, 0, 60)):
        whole = random.Random(bits - power).getrandbits(bits) | 1 << bits - 1
        number = Dyadic(np.array([whole, -whole, 0], dtype=object), power)
        floats, errors = number.nearest()
        away = [abs(Fraction(f) - value) for f, value in zip(floats.tolist(), number.fractions(), strict=True)]
        assert all(gap <= Fraction(error) for gap, error in zip(away, errors.tolist(), strict=True))
        assert abs(bits + power) > 900 or floats[0] == float(number.fractions()[0])


def test_products_beyond_the_range_of_floats_are_not_joined() -> None:
    with pytest.raises(OverflowError):
        (Dyadic.of(np.array([1e-200])) * Dyadic.of(np.array([1e-200]))).in_range()


def _copies(seed: int, bend: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Return a network, and one with products and offsets as layers of their own."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), bend, nn.Linear(4, 2)).double()

    class Shift(nn.Module):
        def __init__(self, offset: torch.Tensor) -> None:
            super().__init__()
            self.offset = offset

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.offset

    parts: list[nn.Module] = []
    for layer in (model[0], model[2]):
        plain = nn.Linear(layer.in_features, layer.out_features, bias=False).double()
        plain.weight = layer.weight
        parts += [plain, Shift(layer.bias.detach())]
    return model, nn.Sequential(*parts[:2], bend, *parts[2:])


@pytest.mark.parametrize("bend", [nn.ReLU(), nn.LeakyReLU(0.1), nn.Hardtanh(), nn.ReLU6()], ids=lambda each: str(each))
def test_the_digest_is_that_of_the_function_not_of_the_steps(bend: nn.Module, tmp_path: Path) -> None:
    model, other = _copies(0, bend)
    net, copy = creases.read(model, (3,)), creases.read(other, (3,))
    net.save(tmp_path / "net.onnx")
    assert network_digest(net) == network_digest(copy) == network_digest(tmp_path / "net.onnx")
    with torch.no_grad():
        model[0].bias[0] = np.nextafter(float(model[0].bias[0]), 9.0)
    assert network_digest(creases.read(model, (3,))) != network_digest(net)


def test_a_proof_is_verified_for_an_exported_copy_and_refused_for_a_changed_one(tmp_path: Path) -> None:
    model, _ = _copies(1, nn.ReLU())
    net = creases.read(model, (3,))
    change = nearest(net, [0.3, -0.2, 0.1], box=(-9, 9))
    assert change.proof is not None
    net.save(tmp_path / "net.onnx")
    copy = creases.read(tmp_path / "net.onnx")
    assert len(copy.steps) != len(net.steps)
    assert check_proof(change.proof, copy)
    with torch.no_grad():
        model[2].weight[0, 0] *= 1 + 2.0**-50
    assert not check_proof(change.proof, creases.read(model, (3,)))
