"""Cells against linear programs, enumeration and the network itself."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from torch import nn

import creases
from creases._program._pieces import split_sides
from creases.errors import InputError
from creases.network._network import Network
from creases.network._reading.arrays import from_arrays
from creases.regions import _halfspaces as halfspaces
from creases.regions._cell import Cell, cell
from creases.regions._polytope import _affine, _forward, _reverse, region_polytope
from creases.regions._resources import no_progress
from reference import lp_regions
from strategies import Case, cases


def random_net(*widths: int, seed: int = 0, leak: float = 0.0) -> Network:
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(b, a)) / np.sqrt(a), rng.normal(size=b) / 2) for a, b in pairwise(widths)]
    return from_arrays(layers, leak=leak)


def pooled() -> Network:
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(3, 4, 2), nn.LeakyReLU(0.1)]
    return creases.read(nn.Sequential(*layers, nn.Flatten(), nn.Linear(4, 3)).double().eval(), (1, 6, 6))


def facets_by_lp(found: Cell) -> list[int]:
    """Rows that bound the cell: those without which a linear program reaches further, the first of equal ones."""
    length = np.linalg.norm(found.Q, axis=1)
    rows = np.flatnonzero(length)
    N, s = found.Q[rows] / length[rows, None], (found.p[rows] - found.Q[rows] @ found.x) / length[rows]
    keep = np.ones(len(rows), bool)
    for i in reversed(range(len(rows))):
        loose = s + (np.arange(len(rows)) == i)
        answer = linprog(-N[i], A_ub=N[keep], b_ub=loose[keep], bounds=(-1e6, 1e6), method="highs")
        assert answer.status == 0
        keep[i] = -answer.fun > s[i] + 1e-8
    return [int(row) for row in rows[keep]]


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(1, 6, 6, 2), (2, 12, 12, 3), (3, 12, 12, 2), (5, 20, 10, 2), (8, 6, 4, 2)])
@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_facets_are_the_rows_that_a_linear_program_cannot_spare(widths: tuple[int, ...], leak: float) -> None:
    rng = np.random.default_rng(0)
    for seed in range(5):
        found = cell(random_net(*widths, seed=seed, leak=leak), rng.normal(size=widths[0]))
        assert found.facets.tolist() == facets_by_lp(found)


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(1, 6, 6, 2), (2, 12, 12, 3), (3, 12, 12, 2), (8, 6, 4, 2)])
def test_only_the_facets_unit_changes_across_it_and_back(widths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    for seed in range(3):
        net = random_net(*widths, seed=seed)
        here = cell(net, rng.normal(size=widths[0]))
        for row in here.facets:
            there = here.neighbor(row)
            np.testing.assert_array_equal(there.sides, net.sides(there.x))
            assert np.flatnonzero(there.sides != here.sides).tolist() == [here.units[row]]
            assert there.across[row] == here.sides[here.units[row]]
            np.testing.assert_array_equal(there.neighbor(row).sides, here.sides)
            border = there.x - (here.Q[row] @ there.x - here.p[row]) / (here.Q[row] @ here.Q[row]) * here.Q[row]
            np.testing.assert_allclose(here.J @ border + here.y, there.J @ border + there.y, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(cases(2, max_depth=2, max_width=4), st.integers(0, 2**31))
def test_cells_of_degenerate_networks_are_regions_and_so_are_their_neighbors(case: Case, seed: int) -> None:
    lo, hi = np.array(case.box).T
    net = from_arrays(case.layers, leak=case.leak)
    regions = {tuple(sides) for sides in lp_regions(case.layers, case.box, leak=case.leak)}
    x = lo + (hi - lo) * np.random.default_rng(seed).integers(0, 9, size=2) / 8  # often on a crease or a corner
    here = cell(net, x, box=case.box)
    assert tuple(here.sides) in regions
    assert here.contains(x).all()
    assert here.contains(here.center).all()
    assert here.radius > 0
    np.testing.assert_allclose(
        here.J @ x + here.y, net(x), rtol=1e-9, atol=1e-9 * (1 + np.abs(here.J) @ np.abs(x)).max()
    )
    for row in here.facets[here.units[here.facets] >= 0]:
        there = here.neighbor(row)
        assert tuple(there.sides) in regions or there.radius < 1e-8  # too thin for the linear programs
        assert tuple(there.sides) != tuple(here.sides)


def test_coincident_creases_are_crossed_together() -> None:
    net = from_arrays(
        [(np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.zeros(4)), (np.ones((1, 4)), [0.0])]
    )
    here = cell(net, [1.0, 1.0])
    assert here.units[here.facets].tolist() == [0, 3]
    there = here.neighbor(here.facets[0])
    assert there.sides.tolist() == [0, 0, 1, 1]


def test_a_unit_without_a_crease_here_may_change_side_across_another() -> None:
    # the second unit sees relu(x): zero all over x < 0, positive beyond
    net = from_arrays([([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0]], [0.0])])
    here = cell(net, [-1.0])
    assert here.sides.tolist() == [0, 0]
    assert here.neighbor(here.facets[0]).sides.tolist() == [1, 1]


def test_a_unit_that_is_zero_on_the_region_has_side_0_and_no_crease() -> None:
    W = np.array([[0.7, 0.2], [2.1, 0.6]])
    net = from_arrays([(W, [0.1, 0.3]), ([[0.3, -0.1], [0.3, -0.1]], np.zeros(2)), (np.ones((1, 2)), [0.0])])
    for x in np.random.default_rng(0).normal(size=(20, 2)):
        found = cell(net, x)
        assert found.sides[2:].tolist() == [0, 0]
        assert len(found.facets) == 1
        assert not found.Q[2:].any()


def test_where_many_creases_meet_the_cell_is_still_a_region() -> None:
    net = from_arrays([(np.random.default_rng(0).normal(size=(9, 3)), np.zeros(9)), (np.ones((1, 9)), [0.0])])
    found = cell(net, np.zeros(3))  # all sides are 0 there, and no open set has them
    assert np.isinf(found.radius)  # a cone
    np.testing.assert_array_equal(net.sides(found.center), found.sides)
    assert found.crease_distance == 0


def test_points_are_in_the_cell_when_they_have_its_pattern() -> None:
    net = random_net(2, 8, 8, 2)
    found = cell(net, [0.3, -0.2])
    points = np.random.default_rng(0).normal(size=(2000, 2))
    np.testing.assert_array_equal(found.contains(points), (net.pattern(points) == found.pattern).all(axis=1))


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_vertices_are_where_d_facets_meet(d: int) -> None:
    found = cell(random_net(d, 10, 6, 2, seed=d), np.full(d, 0.1), box=[(-1, 1)] * d)
    length = np.linalg.norm(found.Q, axis=1)
    rows = found.Q[length > 0] / length[length > 0, None]
    room = found.p[length > 0] / length[length > 0]
    expected = []
    for pick in map(list, combinations(range(len(rows)), d)):
        if abs(np.linalg.det(rows[pick])) > 1e-9:
            corner = np.linalg.solve(rows[pick], room[pick])
            if (rows @ corner <= room + 1e-9).all():
                expected.append(corner)
    key = np.unique(np.round(expected, 7), axis=0)
    np.testing.assert_allclose(np.unique(np.round(found.vertices, 7), axis=0), key, atol=2e-7)
    np.testing.assert_allclose(found.bounding_box, np.stack([key.min(axis=0), key.max(axis=0)], axis=1), atol=1e-6)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_chebyshev_ball_is_the_largest_inside(d: int) -> None:
    found = cell(random_net(d, 15, 10, 2), np.full(d, 0.05), box=[(-2, 2)] * d)
    length = np.linalg.norm(found.Q, axis=1)
    assert ((found.p - found.Q @ found.center)[length > 0] / length[length > 0]).min() == pytest.approx(found.radius)
    answer = linprog(
        np.append(np.zeros(d), -1.0), A_ub=np.column_stack([found.Q, length]), b_ub=found.p, bounds=(None, None)
    )
    assert found.radius == pytest.approx(-answer.fun, rel=1e-6)


def test_unbounded_regions_have_infinite_boxes_and_no_vertices() -> None:
    net = from_arrays([(np.eye(2), np.zeros(2)), (np.ones((1, 2)), [0.0])])
    found = cell(net, [1.0, 2.0])
    assert found.radius == np.inf
    assert found.bounding_box.tolist() == [[0.0, np.inf], [0.0, np.inf]]
    assert found.contains(found.center).all()
    with pytest.raises(InputError, match=r"box must bound the region .* got an unbounded region; pass one"):
        _ = found.vertices


def test_affine_networks_are_one_cell_without_creases() -> None:
    found = cell(random_net(3, 2), [1.0, 2.0, 3.0])
    assert found.Q.shape == (0, 3)
    assert found.facets.tolist() == []
    assert (found.radius, found.crease_distance, found.nearest_crease) == (np.inf, np.inf, None)
    np.testing.assert_array_equal(found.center, [1.0, 2.0, 3.0])
    assert np.isinf(found.bounding_box).all()
    assert found.boundary_distance == pytest.approx(
        abs(np.diff(found.J @ found.x + found.y)[0]) / np.linalg.norm(found.J[0] - found.J[1])
    )


def test_the_nearest_crease_is_at_its_distance_and_no_nearer() -> None:
    net = random_net(4, 20, 20, 2)
    x = np.full(4, 0.3)
    found = cell(net, x)
    near = found.nearest_crease
    assert near is not None
    normal = found.Q[near.row] / np.linalg.norm(found.Q[near.row])
    assert near.unit in np.flatnonzero(net.sides(x + 1.000001 * near.distance * normal) != found.sides)
    directions = np.random.default_rng(0).normal(size=(2000, 4))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    assert (net.pattern(x + 0.999999 * near.distance * directions) == found.pattern).all()


def nearest_on_boundary_in_the_plane(found: Cell, i: int, j: int) -> float:
    """Distance from x to the part of the line z_i = z_j in a polygon: clip the line, project on the segment."""
    normal, offset = found.J[i] - found.J[j], found.y[i] - found.y[j]
    if not normal.any():
        return np.inf
    start = found.x - (normal @ found.x + offset) / (normal @ normal) * normal
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    speed, room = found.Q @ along, found.p - found.Q @ start
    if (room[np.abs(speed) < 1e-12] < 0).any():
        return np.inf
    lo = (room[speed < -1e-12] / speed[speed < -1e-12]).max(initial=-np.inf)
    hi = (room[speed > 1e-12] / speed[speed > 1e-12]).min(initial=np.inf)
    return np.inf if lo > hi else float(np.linalg.norm(start + np.clip(0.0, lo, hi) * along - found.x))


def test_boundary_distance_in_the_plane_is_that_of_the_clipped_line() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(40):
        net = random_net(2, 6, 5, 3, seed=seed)
        found = cell(net, rng.normal(size=2))
        own = int(net(found.x).argmax())
        expected = min(nearest_on_boundary_in_the_plane(found, own, j) for j in range(3) if j != own)
        near = found.nearest_boundary
        if near is None:
            assert expected == np.inf or expected > 1e6
            assert found.boundary_distance is None
            continue
        hits += 1
        assert near.distance == pytest.approx(expected, rel=1e-8)
        z = found.J @ near.point + found.y
        assert z[near.classes[0]] == pytest.approx(z[near.classes[1]], abs=1e-9)
        assert z.max() == pytest.approx(z[own], abs=1e-9)
        assert (found.Q @ near.point <= found.p + 1e-9).all()
    assert hits > 5


def test_the_nearest_boundary_from_binding_rows_is_that_of_all_rows(monkeypatch) -> None:
    net, X = random_net(6, 60, 60, 4), np.random.default_rng(1).normal(size=(25, 6))
    all_rows = [cell(net, x).boundary_distance for x in X]
    monkeypatch.setattr(halfspaces, "MANY_ROWS", 0)
    monkeypatch.setattr(halfspaces, "ROWS_AT_ONCE", 2)
    binding = [cell(net, x).boundary_distance for x in X]
    assert [d is None for d in binding] == [d is None for d in all_rows]
    assert 3 < sum(d is not None for d in binding) < len(X)
    assert [d for d in binding if d] == pytest.approx([d for d in all_rows if d], rel=1e-8)


def test_an_image_region_has_its_nearest_crease_without_linear_algebra(monkeypatch) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 2, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(98, 3)).double()
    net = creases.read(model, (3, 16, 16))
    monkeypatch.setattr(np.linalg, "svd", None)  # fewer rows than inputs: only linear programs decompose them
    x = np.random.default_rng(0).uniform(size=768)
    nearest = cell(net, x).nearest_crease
    with torch.no_grad():
        z, weight = net.steps[0].apply([torch.from_numpy(x).reshape(1, 3, 16, 16)]), net.steps[0].tensors["weight"]
    distance = z.abs() / weight.flatten(1).norm(dim=1)[:, None, None]
    assert nearest is not None
    assert (nearest.distance, nearest.unit) == (pytest.approx(float(distance.min())), int(distance.argmin()))


def test_one_output_has_its_boundary_where_it_is_zero() -> None:
    net = from_arrays([(np.eye(2), np.zeros(2)), (np.ones((1, 2)), [-1.0])])  # relu(x0) + relu(x1) - 1
    inside, outside = cell(net, [0.1, 0.1]), cell(net, [3.0, 1.0])
    assert inside.nearest_boundary is not None
    assert outside.nearest_boundary is not None
    np.testing.assert_allclose(inside.nearest_boundary.point, [0.5, 0.5])
    np.testing.assert_allclose(outside.nearest_boundary.point, [1.0, 0.0], atol=1e-12)  # x1 >= 0 is in the way
    assert (inside.nearest_boundary.classes, outside.nearest_boundary.classes) == ((0, 1), (1, 0))
    assert cell(net, [-1.0, -1.0]).boundary_distance is None


@pytest.mark.slow
def test_pooling_and_convolution_cells_agree_with_the_network() -> None:
    net = pooled()
    rng = np.random.default_rng(0)
    x = rng.normal(size=net.n_in)
    found = cell(net, x)
    J, y = net.piece(x)
    np.testing.assert_allclose(found.J, J, atol=1e-12)
    np.testing.assert_allclose(found.y, y, atol=1e-12)
    assert found.facets.tolist() == facets_by_lp(found)
    for row in found.facets[::5]:
        there = found.neighbor(row)
        np.testing.assert_array_equal(there.sides, net.sides(there.x))
        assert there.sides[found.units[row]] == found.across[row]
    near = found.x + 0.5 * found.crease_distance * rng.normal(size=(200, net.n_in)) / 10
    np.testing.assert_array_equal(found.contains(near), (net.pattern(near) == found.pattern).all(axis=1))


@pytest.mark.parametrize("net", [random_net(5, 4, 3, 2, leak=0.1), random_net(40, 3, 2), pooled()], ids=str)
def test_forward_and_reverse_coefficients_agree(net: Network) -> None:
    x = np.random.default_rng(0).normal(size=net.n_in)
    sides = split_sides(net, net.sides(x))
    counts = [part.shape[1] for part in _affine(net, sides, torch.zeros(1, net.n_in, dtype=torch.float64))]
    forward, reverse = (find(net, sides, counts, 2**20, no_progress) for find in (_forward, _reverse))
    for a, b in zip(forward, reverse, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


def test_rows_are_the_units_pre_activations() -> None:
    net = random_net(3, 5, 4, 2)
    x = np.array([0.1, -0.4, 0.7])
    part = region_polytope(net, net.sides(x))
    W, b = (net.steps[0].tensors[key].numpy() for key in ("weight", "offset"))
    sign = np.where(net.sides(x)[:5] == 1, -1, 1)
    np.testing.assert_allclose(part.Q[:5], sign[:, None] * W)
    np.testing.assert_allclose(part.p[:5], -sign * b)
    assert part.units.tolist() == list(range(9))
    assert (part.Q @ x <= part.p).all()


def test_a_saved_cell_comes_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    found = cell(pooled(), np.random.default_rng(0).normal(size=36))
    back = Cell.load(found.save(tmp_path / "cell.npz"))
    for name in ("x", "sides", "pattern", "Q", "p", "units", "across", "J", "y", "facets"):
        np.testing.assert_array_equal(getattr(back, name), getattr(found, name))
    row = back.facets[0]
    np.testing.assert_array_equal(back.neighbor(row).sides, found.neighbor(row).sides)


def test_float32_networks_are_cut_in_float64() -> None:
    assert cell(random_net(3, 5, 2).to(torch.float32), [0.1, 0.2, 0.3]).Q.dtype == np.float64


def test_bad_arguments_are_named() -> None:
    net = random_net(5, 6, 2)
    x = np.zeros(5)
    with pytest.raises(InputError, match=r"x must have shape \(5,\)"):
        cell(net, np.zeros(4))
    with pytest.raises(InputError, match="x must be one point"):
        cell(net, np.zeros((2, 5)))
    with pytest.raises(InputError, match="x must be finite, got nan"):
        cell(net, np.full(5, np.nan))
    with pytest.raises(InputError, match=r"box must be \(lo, hi\), or 5 pairs"):
        cell(net, x, box=[(0, 1)])
    with pytest.raises(InputError, match="box must contain x"):
        cell(net, x, box=[(1, 2)] * 5)
    with pytest.raises(InputError, match="net must have at most 4 inputs to list vertices"):
        _ = cell(net, x, box=[(-1, 1)] * 5).vertices
    with pytest.raises(InputError, match="row must be one of the facets"):
        cell(net, x).neighbor(99)
    boxed = cell(net, x, box=[(-0.001, 0.001)] * 5)
    with pytest.raises(InputError, match=r"row must be a crease, got .*, a side of the box"):
        boxed.neighbor(int(boxed.facets[-1]))
    with pytest.raises(InputError, match=r"sides must have shape \(6,\)"):
        region_polytope(net, np.zeros(3, int))


@pytest.mark.slow
def test_neighbors_in_deep_networks_are_those_of_the_plane() -> None:
    """Creases of deep layers are nearly parallel to the facet: its middle must not run away along its normal."""
    rng = np.random.default_rng(0)
    widths = [2, *[8] * 20, 3]
    layers = [(rng.normal(size=(b, a)) * np.sqrt(2 / a), rng.normal(size=b)) for a, b in pairwise(widths)]
    net, box = creases.read(layers), [(-1, 1), (-1, 1)]
    found = creases.plane(net, box)
    for x in np.random.default_rng(0).uniform(-1, 1, (60, 2))[30:40]:
        own = cell(net, x, box=box)
        for row in own.facets[own.units[own.facets] >= 0]:
            beyond = own.neighbor(int(row))
            np.testing.assert_array_equal(found.patterns[found.locate(beyond.x[None])[0]], beyond.pattern)


def test_corners_of_a_region_a_trillion_times_as_long_as_wide() -> None:
    net = creases.read([([[1.0, 0.0]], [-25.0]), ([[1.0]], [0.0])])
    corners = cell(net, [1e7, 5e-5], box=[(-1e8, 1e8), (-1e-4, 1e-4)]).vertices
    expected = [[25, -1e-4], [1e8, -1e-4], [1e8, 1e-4], [25, 1e-4]]
    np.testing.assert_allclose(corners, expected, rtol=1e-9)


def test_an_explanation_adds_up_to_the_margin() -> None:
    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(6, 5)), rng.normal(size=6)), (rng.normal(size=(3, 6)), rng.normal(size=3))])
    for x in rng.normal(size=(5, 5)):
        why = cell(net, x).explain()
        z = net(x)
        assert (why.predicted, why.runner_up) == tuple(np.argsort(-z)[:2])
        assert why.margin == pytest.approx(z[why.predicted] - z[why.runner_up])
        assert why.input_times_gradient.sum() + why.offset == pytest.approx(why.margin)
        assert why.input_times_gradient == pytest.approx(why.coefficients * x)
        bias = net.steps[-1].offset.numpy()
        assert why.activation_times_gradient.sum() == pytest.approx(
            why.margin - bias[why.predicted] + bias[why.runner_up]
        )
        assert (np.diff(np.abs(why.input_times_gradient[why.ranked_inputs])) <= 0).all()
        assert set(why.ranked_units) == set(np.flatnonzero(why.activation_times_gradient))


def test_the_explanation_of_a_large_input_leaves_out_what_takes_too_long() -> None:
    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(4, 65)), np.ones(4)), (np.ones((1, 4)), np.zeros(1))])
    why = cell(net, rng.normal(size=65)).explain()
    assert why.radius is None
    assert why.bounding_box is None
    assert why.facet_units is None
    assert why.nearest_crease is not None
