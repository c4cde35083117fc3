"""Ranges are those of the partition by every way, contain every sample, and are reached where they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from agreement import seeded
from creases._program import Step
from creases.certify import output_bounds, output_range
from creases.certify._maximize import objectives
from creases.certify._ranges import OutputRange
from creases.errors import InputError
from strategies import Case, cases

MODEL = nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 4), nn.LeakyReLU(0.2), nn.Linear(4, 2)).double()
BOX = [(-1.0, 1.0), (-0.5, 2.0)]


@pytest.fixture(scope="module")
def net() -> creases.Network:
    return creases.read(seeded(MODEL))


@pytest.fixture
def by_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search over boxes, as for networks with choices, not over sides of units."""
    monkeypatch.setattr(objectives, "search_form", lambda net: None)


def partition_range(net: creases.Network, box: object, quantity: str, A: object = None, b: object = None) -> tuple:
    """The least and largest values at the corners of all regions; rows of a polytope are further units."""
    work = net
    if A is not None:
        end, rows = len(net.steps), torch.as_tensor(A, dtype=torch.float64)
        weights = {"weight": rows, "offset": -torch.as_tensor(b, dtype=torch.float64)}
        steps = [*net.steps, Step("linear", (0,), (len(rows),), {}, weights), Step("relu", (end + 1,), (len(rows),)),
                 Step("concat", (end, end + 2), (net.n_out + len(rows),), {"dim": 0})]  # fmt: skip
        work = creases.Network(steps, net.input_shape)
    partition = creases.space(work, np.array(box), method="vertices")
    inside = np.ones(partition.count, bool) if A is None else (partition.sides()[:, -len(A) :] == 0).all(axis=1)
    if quantity == "coefficients":
        values = partition.pieces().J[inside][:, : net.n_out]
    else:
        corners = partition.corners[np.repeat(inside, np.diff(partition.starts))]
        values = net(partition.vertices[np.unique(corners)])
        values = values[:, :, None] - values[:, None] if quantity == "differences" else values
    return values.min(axis=0), values.max(axis=0)


def check(net: creases.Network, found: OutputRange, X: np.ndarray) -> None:
    """Check the order of what is proved and reached, that it is reached, and that it contains samples (p, n)."""
    slack = 1e-9 * (1 + np.abs(found.high) + np.abs(found.low))
    assert (found.low <= found.minimum + slack).all()
    assert (found.minimum <= found.maximum + slack).all()
    assert (found.maximum <= found.high + slack).all()
    at = {"outputs": lambda x, i: net(x)[i[0]], "differences": lambda x, i: net(x)[i[0]] - net(x)[i[1]],
          "coefficients": lambda x, i: net.piece(x).J[i]}[found.quantity]  # fmt: skip
    for index in np.ndindex(found.low.shape):
        assert at(found.argmin[index], index) == pytest.approx(found.minimum[index], abs=1e-9)
        assert at(found.argmax[index], index) == pytest.approx(found.maximum[index], abs=1e-9)
    values = {"outputs": lambda: net(X), "differences": lambda: net(X)[:, :, None] - net(X)[:, None],
              "coefficients": lambda: net.piece(X).J}[found.quantity]()  # fmt: skip
    assert (values >= found.low - slack).all()
    assert (values <= found.high + slack).all()


@pytest.mark.parametrize("quantity", ["outputs", "differences", "coefficients"])
def test_the_search_finds_what_the_partition_has(net, quantity) -> None:
    X = np.random.default_rng(0).uniform(*np.transpose(BOX), size=(2000, 2))
    found = output_range(net, BOX, quantity=quantity, budget=60)
    check(net, found, X)
    assert found.exact.all()
    minimum, maximum = partition_range(net, BOX, quantity)
    np.testing.assert_allclose(found.minimum, minimum, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(found.maximum, maximum, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("quantity", ["outputs", "coefficients"])
def test_a_search_over_boxes_contains_what_the_partition_has(net, quantity, by_boxes) -> None:
    found = output_range(net, BOX, quantity=quantity, budget=1, tolerance=1e-3)
    minimum, maximum = partition_range(net, BOX, quantity)
    assert (found.low <= minimum + 1e-12).all()
    assert (found.high >= maximum - 1e-12).all()
    assert (found.minimum >= minimum - 1e-12).all()
    assert (found.maximum <= maximum + 1e-12).all()


@pytest.mark.parametrize("quantity", ["outputs", "differences", "coefficients"])
def test_a_polytope_is_that_part_of_the_box(net, quantity) -> None:
    A, b = [[1.0, 1.0], [-1.0, 2.0]], [0.5, 0.75]
    X = np.random.default_rng(0).uniform(*np.transpose(BOX), size=(5000, 2))
    X = X[(X @ np.transpose(A) <= b).all(axis=1)]
    found = output_range(net, BOX, A=A, b=b, quantity=quantity, budget=60)
    check(net, found, X)
    assert found.exact.all()
    for x in (*found.argmin.reshape(-1, 2), *found.argmax.reshape(-1, 2)):
        for row, limit in zip(A, b, strict=True):  # in exact arithmetic
            assert sum(Fraction(w) * Fraction(v) for w, v in zip(row, x.tolist(), strict=True)) <= Fraction(limit)
    minimum, maximum = partition_range(net, BOX, quantity, A, b)
    np.testing.assert_allclose(found.minimum, minimum, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.maximum, maximum, rtol=1e-8, atol=1e-9)


def test_regions_have_the_range_of_their_corners(net) -> None:
    partition = creases.space(net, BOX, method="vertices")
    whole = output_range(net, BOX)
    of_regions = output_range(net, partition)
    np.testing.assert_allclose(of_regions.maximum, whole.maximum, atol=1e-12)
    region = creases.cell(net, [0.3, 0.4], box=BOX)
    for quantity in ("outputs", "differences", "coefficients"):
        check(net, output_range(net, [region], quantity=quantity), np.array([[0.3, 0.4]]))
    values = region.vertices @ region.J.T + region.y
    np.testing.assert_allclose(output_range(net, [region]).high, values.max(axis=0), atol=1e-9)


def test_a_search_that_is_cut_short_says_so() -> None:
    model = nn.Sequential(nn.Linear(12, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1)).double()
    net = creases.read(seeded(model))
    calls: list[tuple[str, int, int | None]] = []
    found = output_range(net, (-2, 2), budget=0.2, progress=lambda *call: calls.append(call))
    check(net, found, np.random.default_rng(0).uniform(-2, 2, size=(2000, 12)))
    low, high = output_bounds(net, (-2, 2))
    assert (found.low >= low - 1e-9).all()
    assert (found.high <= high + 1e-9).all()
    assert not found.exact.all()
    assert "maximum between" in str(found)
    assert calls[-1] == ("bounding outputs", 1, 1)


def test_what_there_is_no_time_to_search_for_is_bounded(net) -> None:
    found = output_range(net, (-1, 1), quantity="coefficients", budget=1e-9)
    points = np.random.default_rng(0).uniform(-1, 1, (100, net.n_in))
    pieces = np.stack([np.asarray(net.piece(x).J) for x in points])
    assert (found.low <= pieces + 1e-12).all()
    assert (pieces <= found.high + 1e-12).all()
    assert found.proof is None
    assert "no time to search" in found.proof_note


def test_networks_without_bends_and_with_dead_units_are_ordinary() -> None:
    linear = output_range(creases.read([([[1.0, -2.0]], [0.5])]), (0, 1))
    assert (linear.minimum.tolist(), linear.maximum.tolist()) == ([-1.5], [1.5])
    dead = output_range(creases.read([([[0.0], [1.0]], [-1.0, -5.0]), ([[1.0, 1.0]], [2.0])]), (-1, 1))
    assert (dead.minimum.tolist(), dead.maximum.tolist()) == ([2.0], [2.0])


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 3).flatmap(lambda n: cases(n, max_depth=2, max_width=5)))
def test_degenerate_networks_have_the_range_of_their_partition(case: Case) -> None:
    net, box = case.net, np.array(case.box)
    found = output_range(net, box, budget=20)
    minimum, maximum = partition_range(net, box, "outputs")
    size = 1e-8 * (1e-9 + np.abs(minimum) + np.abs(maximum) + np.ptp(box))
    assert (found.low <= minimum + size).all()
    assert (found.high >= maximum - size).all()
    assert (np.abs(found.minimum - minimum) <= size).all()
    assert (np.abs(found.maximum - maximum) <= size).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda net: output_range(net, BOX, A=[[1.0, 0.0]]), "b must come with the other of A and b"),
        (lambda net: output_range(net, BOX, A=[[1.0]], b=[0.0]), r"A must have shape \(rows, 2\)"),
        (lambda net: output_range(net, BOX, A=[[1.0, 0.0]], b=[-5.0]), "A must leave some input of the box"),
        (lambda net: output_range(net, BOX, quantity="slopes"), "quantity must be 'outputs'"),
        (lambda net: output_range(net, BOX, budget=0), "budget must be a finite number above 0"),
        (lambda net: output_range(net, [creases.cell(net, [0.1, 0.2])]), "bounded regions"),
    ],
)
def test_what_has_no_range_is_refused(net, call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(net)


def test_sixteen_units_in_eight_dimensions_are_exact() -> None:
    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(16, 8)), rng.normal(size=16)), (rng.normal(size=(1, 16)), [0.0])])
    found = output_range(net, (-1, 1), budget=60)
    assert found.exact.all()
    check(net, found, rng.uniform(-1, 1, size=(5000, 8)))


def test_a_coefficient_at_a_crease_that_no_region_has_is_not_reached() -> None:
    # relu(x) - relu(-x) = x has coefficient 1 in both regions; at 0 both units are off, and the coefficient is 0.
    net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])])
    assert net.piece([0.0]).J.tolist() == [[0.0]]
    found = output_range(net, (-1, 1), quantity="coefficients")
    assert found.minimum.tolist() == found.maximum.tolist() == [[1.0]]
    assert found.exact.all()
