"""Face lattices: what does not depend on how the units that cut them are grouped."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

import numpy as np
import pytest

import creases
from reference import load_case

vertices = import_module("creases.regions._space.vertices")


def degenerate_network(inputs: int, seed: int) -> creases.Network:
    """Creases that pass through vertices, coincide, or meet in one point."""
    rng = np.random.default_rng(seed)
    W, V = rng.integers(-2, 3, (9, inputs)), rng.integers(-1, 2, (9, 9))
    layers = [(W, np.zeros(9)), (V, rng.integers(-1, 2, 9) / 2), (np.ones((1, 9)), np.zeros(1))]
    return creases.read([(weights.astype(float), offsets) for weights, offsets in layers])


NETWORKS = [creases.read(load_case("m4_12x2")), *(degenerate_network(n, seed) for n in (2, 3, 4) for seed in (0, 1))]


@pytest.mark.parametrize("net", NETWORKS, ids=lambda net: f"{net.n_in} inputs")
def test_units_cut_together_as_they_do_one_by_one(net: creases.Network, monkeypatch) -> None:
    found = []
    for stride in (1, 5, 64):
        monkeypatch.setattr(vertices, "STRIDE", stride)
        found.append(creases.space(net))
    for part in found[1:]:
        for field in fields(part):
            if isinstance(getattr(part, field.name), np.ndarray):
                np.testing.assert_array_equal(getattr(part, field.name), getattr(found[0], field.name), strict=True)


def test_no_more_units_cut_from_the_limit_on() -> None:
    rng = np.random.default_rng(0)
    lattice = vertices.box_lattice(np.array([[-1.0, 1.0]] * 3), 40)
    corners = lattice.data[: lattice.n_vertices]
    planes = corners @ rng.normal(size=(3, 40)) + rng.uniform(-0.5, 0.5, 40)
    lattice.set_data(np.concatenate([corners, planes], axis=1))
    done = lattice.cut(3, 0, 1, np.zeros(40), 0, 40, limit=100)
    assert done < 40
    assert lattice.count > 100
    before = vertices.box_lattice(np.array([[-1.0, 1.0]] * 3), 40)
    before.set_data(np.concatenate([corners, planes], axis=1))
    assert before.cut(3, 0, 1, np.zeros(40), 0, done - 1) == done - 1
    assert before.count <= 100
    assert lattice.cut(3, 0, 1, np.zeros(40), done, 40) == 40
