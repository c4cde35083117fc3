from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch
from torch import nn

import creases
from conformance import check_plane
from creases import _compiled
from reference import load_case

UNIT = [(-1, 1), (-1, 1)]
perceptron = import_module("creases.regions._plane.perceptron")
plane_module = import_module("creases.regions._plane.plane")


def module(name: str) -> nn.Sequential:
    torch.manual_seed(3)
    middle = {
        "leaky": nn.LeakyReLU(0.2),
        "prelu": nn.PReLU(12),
        "abs": nn.LeakyReLU(-1.0),
        "no offset": nn.ReLU(),
        "ends in a bend": nn.ReLU(),
    }[name]
    layers = [nn.Linear(2, 70), nn.ReLU(), nn.Linear(70, 12, bias=name != "no offset"), middle]
    return nn.Sequential(*layers, *([] if name == "ends in a bend" else [nn.Linear(12, 3)]))


def network(name: str) -> creases.Network:
    return creases.read(load_case(name) if "_" in name else module(name), *([] if "_" in name else [(2,)]))


def bend_by_bend(net: creases.Network, monkeypatch: pytest.MonkeyPatch) -> creases.regions.PlanePartition:
    with monkeypatch.context() as patch:
        patch.setattr(plane_module, "subdivide_perceptron", lambda *arguments: None)
        return creases.plane(net, UNIT)


@pytest.mark.parametrize(
    "name", ["m2_16x2", "m2_32x3", "d_dup", "d_neg", "leaky", "prelu", "abs", "no offset", "ends in a bend"]
)
def test_one_call_for_all_layers_gives_the_partition_of_bend_by_bend(name: str, monkeypatch) -> None:
    net = network(name)
    start = plane_module.box_mesh(np.array(UNIT, float))
    assert perceptron.subdivide_perceptron(net, start, np.zeros(2), np.eye(2), 2**30) is not None
    found, reference = creases.plane(net, UNIT), bend_by_bend(net, monkeypatch)
    np.testing.assert_array_equal(found.patterns, reference.patterns, strict=True)
    for array in ("edges", "edge_units", "edge_regions", "corners", "corner_edges", "starts"):
        np.testing.assert_array_equal(getattr(found, array), getattr(reference, array), strict=True)
    np.testing.assert_allclose(found.vertices, reference.vertices, atol=1e-12)
    np.testing.assert_allclose(found.values, reference.values, atol=1e-12)
    check_plane(found, np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m2_16x2", "d_dup", "d_neg", "leaky", "ends in a bend"])
def test_plain_kernels_give_the_bits_of_compiled_ones(name: str, monkeypatch) -> None:
    net, partitions, boundaries = network(name), [], []
    for patience in (0.0, 1e12):
        monkeypatch.setattr(_compiled, "_patience", [patience])
        partitions.append(creases.plane(net, UNIT))
        boundaries.append(partitions[-1].boundary())
    assert _compiled._patience[0] < 1e12
    for array in ("patterns", "vertices", "values", "edges", "edge_units", "edge_regions", "corners", "starts"):
        np.testing.assert_array_equal(*(getattr(part, array) for part in partitions), strict=True)
    for array in ("vertices", "edges", "classes", "regions"):
        np.testing.assert_array_equal(*(getattr(boundary, array) for boundary in boundaries), strict=True)


def test_a_product_and_a_sum_of_an_onnx_file_are_one_layer(tmp_path) -> None:
    net = network("m2_16x2")
    net.save(tmp_path / "net.onnx")
    read = creases.read(tmp_path / "net.onnx")
    assert "add" in {step.op for step in read.steps}
    ours, theirs = (perceptron.perceptron_layers(each) for each in (net, read))
    for before, after in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(before, after)


def test_planes_through_many_inputs_are_found_in_one_call() -> None:
    rng = np.random.default_rng(0)
    layers = [(rng.normal(size=(12, 50)), rng.normal(size=12)), (rng.normal(size=(8, 12)), rng.normal(size=8))]
    net = creases.read([*layers, (rng.normal(size=(2, 8)), np.zeros(2))])
    origin, basis = rng.normal(size=50), rng.normal(size=(50, 2))
    found = creases.plane(net, (-2, 2), origin, basis)
    assert found.count > 20
    np.testing.assert_allclose(found.values, net(found.points(found.vertices)), atol=1e-11)
