"""Proofs that the searches write are accepted, and where one is missing the answer says why."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import creases
from creases.certify import holds, monotone, nearest, output_range
from creases.certify.proofs import check_proof, network_digest

torch = pytest.importorskip("torch")


def default_network(seed: int) -> Any:
    torch.manual_seed(seed)
    sizes = (2, 8, 8, 2)
    layers = [torch.nn.Linear(n, m) for n, m in pairwise(sizes)]
    return torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2]).double()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "norm"), [(0, "l2"), (0, "l1"), (2, "l2"), (4, "linf"), (5, "linf")])
def test_nearest_changes_keep_their_proofs(seed: int, norm: Any) -> None:
    model = default_network(seed)
    for x in ((0.3, 0.2), (-0.5, 0.8)):
        change = nearest(model, x, norm=norm, budget=10)
        assert change.proof is not None, change.proof_note
        assert change.proof_note == ""
        assert check_proof(change.proof, model)


def test_a_nearest_change_without_a_proof_says_why() -> None:
    model = Maxima(0, inputs=5).double()
    change = nearest(creases.read(model, input_shape=(5,)), np.linspace(-1, 1, 5), budget=10)
    assert change.proof is None  # with two inputs a tree of boxes shows it, in the time that there is
    assert "choices" in change.proof_note


class Maxima(torch.nn.Module):
    """Linear, the largest of three, linear."""

    def __init__(self, seed: int, inputs: int = 2) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.last = torch.nn.Linear(inputs, 9), torch.nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        return self.last(self.first(x).reshape(-1, 3, 3).amax(-1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.thorough) for k in (1, 3, 4))])
def test_ranges_of_maxima_keep_their_proofs(seed: int) -> None:
    net = creases.read(Maxima(seed).double(), input_shape=(2,))
    for quantity in ("outputs", "differences", "coefficients"):
        found: Any = output_range(net, (-1, 1), quantity=quantity, budget=2)
        assert found.proof is not None
        answer = check_proof(found.proof, net)
        assert answer, answer.text
    for verdict in (holds(net, (-1, 1), never=0, budget=2), monotone(net, 0, (-1, 1), budget=2)):
        assert verdict.status == "unknown" or check_proof(verdict.proof, net)


def minima(size: int, count: int, seed: int) -> Any:
    """A lattice: the largest of the smallest of linear functions, each minimum of two by ReLUs, affine steps apart."""
    rng = np.random.default_rng(seed)
    layers: list[Any] = [(rng.normal(size=(size * count, 2)), rng.normal(size=size * count))]
    least = np.array([[0.5, 0.5], [-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5]])
    back = np.array([[1.0, -1.0, -1.0, -1.0]])
    steps = []
    while size > 1:
        size //= 2
        steps += [np.kron(np.eye(size * count), least), np.kron(np.eye(size * count), back)]
    steps.append(rng.normal(size=(1, count)))
    return layers, steps


@pytest.mark.thorough
def test_two_readers_of_a_lattice_network_agree_which_network_it_is(tmp_path: Path) -> None:
    (first,), steps = minima(16, 16, 0)
    modules: list[Any] = [torch.nn.Linear(2, len(first[1]))]
    with torch.no_grad():
        modules[0].weight.copy_(torch.tensor(first[0]))
        modules[0].bias.copy_(torch.tensor(first[1]))
    for k, matrix in enumerate(steps):
        layer = torch.nn.Linear(matrix.shape[1], len(matrix), bias=False)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(matrix))
        modules += [layer, torch.nn.ReLU()] if k % 2 == 0 and k + 1 < len(steps) else [layer]
    net = creases.read(torch.nn.Sequential(*modules), input_shape=(2,))
    net.save(tmp_path / "net.onnx")
    assert network_digest(tmp_path / "net.onnx") == network_digest(creases.read(tmp_path / "net.onnx"))
    proof = output_range(creases.read(tmp_path / "net.onnx"), (-0.01, 0.01), budget=1).proof
    assert proof is not None
    assert check_proof(proof, tmp_path / "net.onnx")


@pytest.mark.slow
def test_two_readers_agree_on_products_too_large_to_multiply_out(tmp_path: Path) -> None:
    layers = [torch.nn.Linear(n, m) for n, m in ((2, 400), (400, 400), (400, 400), (400, 1))]
    model = torch.nn.Sequential(layers[0], torch.nn.ReLU(), *layers[1:])
    creases.read(model, input_shape=(2,)).save(tmp_path / "net.onnx")
    assert network_digest(tmp_path / "net.onnx") == network_digest(creases.read(tmp_path / "net.onnx"))
