from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import creases
from creases.compare import coefficients, similarity
from creases.compare.measures import similarity_order
from creases.compare.measures._cka import cka_matrix
from creases.errors import InputError

X = torch.randn(60, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def net(seed: int, units: int = 6) -> creases.Network:
    torch.manual_seed(seed)
    return creases.read(nn.Sequential(nn.Linear(2, units), nn.ReLU(), nn.Linear(units, 3)).double())


def test_a_network_beside_itself_and_another() -> None:
    one, other = net(0), net(1, units=11)
    labels = one(X).argmax(1)
    found = similarity({"one": one, "again": one, "other": other}, X, y=labels, train=X + 0.1)
    assert found.agreement[0, 1] == found.cka[0, 1] == 1
    assert found.distance[0, 1] == 0
    assert found.accuracy is not None
    assert found.accuracy[0] == 1
    assert found.accuracy[2] == found.agreement[0, 2] < 1
    assert found.mapped is not None
    assert np.array_equal(np.diag(found.mapped), found.accuracy)
    assert found.cross_entropy[0, 2] > found.cross_entropy[0, 0] == found.cross_entropy[0, 1]


def test_coefficients_may_be_kept_in_a_folder(tmp_path: Path) -> None:
    nets = {"a/b": net(0), "c": net(1, units=11)}
    labels = net(0)(X).argmax(1)
    memory, disk = (similarity(nets, X, y=labels, train=X + 0.1, out=out) for out in (None, tmp_path))
    assert memory.to_dict() == disk.to_dict()
    assert len(list(tmp_path.glob("*/features.npy"))) == 4
    with pytest.raises(InputError, match="must hold coefficients of the same network"):
        similarity(nets | {"a/b": net(2)}, X, y=labels, train=X + 0.1, out=tmp_path)


def test_alike_networks_are_put_side_by_side() -> None:
    nets = {f"{kind}{i}": net(10 * kind) for i in range(2) for kind in (1, 2)}  # 1, 2, 1, 2
    order = similarity(nets, X).order()
    assert sorted(order) == [0, 1, 2, 3]
    assert abs(order.index(0) - order.index(2)) == 1
    assert abs(order.index(1) - order.index(3)) == 1


def test_the_order_of_distances_is_that_of_similarities() -> None:
    pairs = np.array([[1, 0.1, 0.9, 0.2], [0.1, 1, 0.2, 0.8], [0.9, 0.2, 1, 0.1], [0.2, 0.8, 0.1, 1]])
    order = similarity_order(pairs)
    assert order == similarity_order(1 - pairs, distance=True)
    assert abs(order.index(0) - order.index(2)) == abs(order.index(1) - order.index(3)) == 1


def test_few_networks_and_missing_values_keep_their_order() -> None:
    assert similarity_order([[1.0, 0.5], [0.5, 1.0]]) == [0, 1]
    assert similarity_order(np.full((3, 3), np.nan)) == [0, 1, 2]
    assert similarity_order([[1.0]]) == [0]
    with pytest.raises(InputError, match=r"values must be a matrix \(N, N\)"):
        similarity_order([[1.0, 0.5]])


def test_networks_of_one_output_decide_by_its_sign() -> None:
    a = creases.read([([[1.0, 0.0]], [0.0])])  # x0
    b = creases.read([([[0.0, 1.0]], [0.0])])  # x1
    labels = (X[:, 0] > 0).long()
    found = similarity({"a": a, "b": b}, X, y=labels, train=X)
    assert found.accuracy is not None
    assert found.accuracy[0] == 1
    assert found.accuracy[1] == found.agreement[0, 1] == float(((X[:, 1] > 0) == (X[:, 0] > 0)).double().mean()) < 1
    p, q = torch.sigmoid(X).T
    expected = -(p * q.log() + (1 - p) * (1 - q).log()).mean()
    assert found.cross_entropy[0, 1] == pytest.approx(float(expected), abs=1e-12)
    assert found.mapped is not None
    assert found.mapped[0, 1] == found.accuracy[1]  # one piece each: mapped exactly


def test_cka_is_the_mean_over_outputs_of_that_of_the_rows() -> None:
    nets = [net(0), net(1)]
    both = [coefficients(one, X) for one in nets]
    expected = np.mean([cka_matrix([C.rows(j) for C in both])[0, 1] for j in range(3)])
    assert similarity(dict(zip("ab", nets, strict=True)), X).cka[0, 1] == pytest.approx(expected, abs=1e-12)


def test_it_is_written_as_plain_json() -> None:
    found = similarity({"a": net(0), "b": net(1)}, X).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["mapped"] is None


def test_networks_and_samples_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="must be at least two, got 1"):
        similarity({"a": net(0)}, X)
    with pytest.raises(InputError, match=r"the same numbers of inputs and outputs, got a 2 and 3, b 5 and 3"):
        similarity({"a": net(0), "b": creases.read(nn.Linear(5, 3))}, X)
    with pytest.raises(InputError, match=r"y must be 60 whole class numbers"):
        similarity({"a": net(0), "b": net(1)}, X, y=np.zeros(60))
    with pytest.raises(InputError, match="train must come with y; maps are compared by accuracy, which needs classes"):
        similarity({"a": net(0), "b": net(1)}, X, train=X)
    with pytest.raises(InputError, match="X must have at least two samples"):
        similarity({"a": net(0), "b": net(1)}, X[:1])
