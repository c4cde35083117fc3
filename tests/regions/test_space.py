"""Partitions in n dimensions: counts, tiling, pieces, neighbors, budgets, files."""

from __future__ import annotations

from itertools import pairwise
from math import comb

import numpy as np
import pytest
import torch
from torch import nn

import creases
from conformance import check_space
from creases._program._step import Step
from creases.errors import FileError, InputError
from creases.network._network import Network
from creases.network._reading.arrays import from_arrays
from creases.regions._space.partition import SpacePartition
from creases.regions._space.space import space
from reference import load_case, load_counts, lp_regions

COUNTS = load_counts()


def case(name: str) -> Network:
    return from_arrays(load_case(name))


def random_net(widths: list[int], seed: int, leak: float = 0.0) -> Network:
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(o, i)), rng.normal(size=o)) for i, o in pairwise(widths)]
    return from_arrays(layers, leak=leak)


def patterns_of(part: SpacePartition) -> set[bytes]:
    return {row.tobytes() for row in part.patterns}


def check(part: SpacePartition, points: int = 200) -> None:
    check_space(part, np.random.default_rng(0), points=points)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m3_16x2", "m4_12x2"])
def test_reference_f_vectors_are_reproduced(name):
    part = space(case(name))
    assert list(part.f_vector()) == COUNTS[name]["f_vector"]
    check(part)


@pytest.mark.parametrize("name", ["m2_16x2", "m2_32x3", "d_dead", "d_dup", "d_neg", "d_parallel", "d_zero"])
def test_reference_counts_of_the_plane_are_reproduced(name):
    part = space(case(name), box=[(-1, 1)] * 2)
    assert part.count == COUNTS[name]["regions"]
    if "vertices" in COUNTS[name]:
        assert part.f_vector() == tuple(COUNTS[name][key] for key in ("vertices", "edges", "regions"))
    check(part)


def test_locate_finds_a_neighboring_region_on_creases_vertices_and_the_side_of_the_box():
    net = case("m3_16x2")
    part = space(net)
    J, y = part.pieces()
    for x in (part.vertices, part.vertices[part.corners[part.starts[:-1]]], np.array([[1.0, -1, 1]])):
        found = part.locate(x)
        assert found.min() >= 0
        np.testing.assert_allclose(np.einsum("pmn,pn->pm", J[found], x) + y[found], net(x), atol=1e-10)
    assert part.locate([[1.01, 0, 0], [0, 0, -3]]).tolist() == [-1, -1]


@pytest.mark.parametrize("seed", range(6))
def test_small_networks_agree_with_brute_force_by_linear_programs(seed):
    widths = [[3, 3, 2, 1], [2, 3, 3, 2], [4, 4, 1], [3, 2, 2, 2, 1], [1, 4, 3, 1], [5, 4, 1]][seed]
    net = random_net(widths, seed, leak=0.1 * (seed % 2))
    layers = [
        (step.tensors["weight"].numpy(), step.tensors["offset"].numpy()) for step in net.steps if step.op == "linear"
    ]
    box = [(-1.5, 1.5)] * widths[0]
    part = space(net, box)
    found = {tuple(row) for row in part.sides().tolist()}
    assert found == {tuple(row) for row in lp_regions(layers, box, leak=0.1 * (seed % 2)).tolist()}
    check(part)


@pytest.mark.slow
@pytest.mark.parametrize("widths", [[3, 6, 5, 1], [2, 8, 6, 2], [4, 5, 4, 1], [1, 6, 3, 1], [7, 4, 1]])
def test_both_methods_find_the_same_regions_and_neighbors(widths):
    net = random_net(widths, 3)
    by_vertices = space(net, method="vertices")
    by_facets = space(net, method="lp")
    assert by_facets.complete
    assert patterns_of(by_facets) == patterns_of(by_vertices)

    def neighbors(part: SpacePartition) -> set[tuple[frozenset[bytes], int]]:
        ends = (frozenset(part.patterns[i].tobytes() for i in pair) for pair in part.pairs)
        return set(zip(ends, part.facet_units.tolist(), strict=True))

    assert neighbors(by_facets) == neighbors(by_vertices)
    assert (net.pattern(by_facets.inner) == by_facets.patterns).all()


def test_more_than_six_dimensions_are_left_to_linear_programs():
    part = space(random_net([7, 3, 1], 0))
    assert len(part.vertices) == 0
    x = np.random.default_rng(0).uniform(-1, 1, (100, 7))
    found = part.locate(x)
    J, y = part.pieces()
    np.testing.assert_allclose(np.einsum("pmn,pn->pm", J[found], x) + y[found], part.net(x), atol=1e-10)
    for ask in (part.volumes, part.boundary, part.f_vector):
        with pytest.raises(
            InputError, match=r"method must be 'vertices' for .*, got 'lp', whose regions have no vertices"
        ):
            ask()


def test_a_network_without_a_bend_is_one_region():
    part = space(from_arrays([(np.ones((2, 3)), np.zeros(2))]))
    assert part.f_vector() == (8, 12, 6, 1)
    assert part.patterns.shape == (1, 0)
    check(part)
    assert space(part.net, method="lp").count == 1


def test_coordinate_planes_cut_a_cube_into_octants():
    part = space(from_arrays([(np.eye(3), np.zeros(3)), (np.ones((1, 3)), np.zeros(1))]))
    assert part.f_vector() == (27, 54, 36, 8)
    np.testing.assert_allclose(part.volumes(), 1)


def test_creases_along_the_sides_and_through_the_corners_of_the_box_cut_nothing_twice():
    W = np.array([[1.0, 0, 0], [-1, 0, 0], [1, 1, 1], [1, -1, 0], [2, -2, 0], [1, 1, 0]])
    b = np.array([-1.0, -1, -3, 0, 0, 0])  # two sides of the box, a corner, a diagonal twice, the other diagonal
    part = space(from_arrays([(W, b), (np.ones((1, 6)), np.zeros(1))]))
    assert part.f_vector() == (10, 21, 16, 4)
    check(part)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 4])
def test_many_creases_through_one_point_make_an_arrangement_of_cones(n):
    W = np.random.default_rng(n).normal(size=(6, n))
    part = space(from_arrays([(W, np.zeros(6)), (np.ones((1, 6)), np.zeros(1))]))
    assert part.count == 2 * sum(comb(5, i) for i in range(n))  # Zaslavsky, central arrangements
    check(part)


def test_float32_networks_are_taken_as_the_float64_function_they_are():
    net = case("m3_16x2").to(torch.float32)
    part = space(net)
    assert part.net.dtype == torch.float32
    assert patterns_of(part) == patterns_of(space(net.to(torch.float64)))
    assert part.pieces().J.dtype == np.float64


class Small(nn.Module):
    """Convolution, max-pool and a residual sum on a 1 x 3 image."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 3, 2, padding=1)
        self.pool = nn.MaxPool1d(3, stride=1)
        self.mix = nn.Conv1d(3, 3, 1)
        self.out = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.pool(torch.relu(self.conv(x)))
        h = h + torch.relu(self.mix(h))
        return self.out(h.flatten(1))


def conv_net(seed: int = 0) -> Network:
    torch.manual_seed(seed)
    return creases.read(Small().double(), input_shape=(1, 3))


def test_a_residual_max_pool_network_has_one_region_for_every_pattern_that_samples_find():
    net = conv_net()
    part = space(net, [(-1, 1)] * 3)
    check(part, points=2000)
    x = np.random.default_rng(0).uniform(-1, 1, (20_000, 3))
    assert {row.tobytes() for row in net.pattern(x)} <= patterns_of(part)


def test_choices_among_many_are_not_cut_where_others_are_larger():
    """Maxima of affine functions: as many regions as candidates that are largest somewhere."""
    rng = np.random.default_rng(0)
    for n, K in ((1, 5), (2, 7), (3, 8)):
        W, c = rng.normal(size=(K, n)), 0.3 * rng.normal(size=K)
        steps = [
            Step("linear", (0,), (K,), tensors={"weight": torch.from_numpy(W), "offset": torch.from_numpy(c)}),
            Step("reshape", (1,), (1, K), {"shape": [1, K]}),
            Step("choice", (2,), (1,)),
        ]
        net = Network(steps, (n,))
        part = space(net, [(-1, 1)] * n)
        sample = np.unique((rng.uniform(-1, 1, (50_000, n)) @ W.T + c).argmax(1))
        assert set(sample) <= set(part.sides()[:, 0])
        assert part.count == len(np.unique(part.sides()[:, 0]))
        check(part)


def test_the_boundary_around_a_ball_is_the_octahedron():
    """spec/geometry: ``2 sum relu(x_i) + relu(C - sum x) - (C + 1)`` is zero on |x|_1 = 1: 2^n facets."""
    n, C = 3, 1.5
    W, b = np.vstack([np.eye(n), -np.ones((1, n))]), np.array([0.0] * n + [C])
    net = from_arrays([(W, b), (np.array([[2.0] * n + [1.0]]), np.array([-(C + 1)]))])
    part = space(net, [(-2, 2)] * n)
    boundary = part.boundary()
    faces = np.concatenate([boundary.face(s) for s in range(boundary.count)])
    assert boundary.count == 2**n
    np.testing.assert_allclose(np.abs(faces).sum(axis=1), 1, atol=1e-12)
    assert {tuple(sorted(pair)) for pair in boundary.classes.tolist()} == {(0, 1)}
    assert (boundary.regions[:, 0] == boundary.regions[:, 1]).all()


@pytest.mark.parametrize(("n", "outputs"), [(1, 2), (2, 3), (3, 4), (4, 2), (3, 1)])
def test_at_the_boundary_the_two_classes_tie_and_no_other_output_is_larger(n, outputs):
    net = random_net([n, 6, 4, outputs], 5)
    part = space(net, [(-4, 4)] * n)
    boundary = part.boundary()
    assert boundary.count
    middle = np.array([boundary.face(s).mean(axis=0) for s in range(boundary.count)])
    value = net(middle)
    if outputs == 1:
        np.testing.assert_allclose(value, 0, atol=1e-10)
        return
    rows = np.arange(len(middle))
    top = value.max(axis=1)
    for end in (0, 1):
        np.testing.assert_allclose(value[rows, boundary.classes[:, end]], top, atol=1e-10)
    assert (boundary.classes[:, 0] != boundary.classes[:, 1]).all()


@pytest.mark.slow
def test_segments_between_points_of_different_class_meet_the_boundary():
    net = random_net([2, 8, 2], 1)
    boundary = space(net).boundary()
    length = sum(np.linalg.norm(boundary.face(s)[1] - boundary.face(s)[0]) for s in range(boundary.count))
    flat = creases.plane(net, [(-1, 1)] * 2).boundary()
    assert length == pytest.approx(flat.length)


@pytest.mark.parametrize("limit", [3, 50, 400])
def test_blocks_join_to_the_same_complex(limit, monkeypatch):
    net = case("m3_16x2")
    whole = space(net)
    monkeypatch.setattr("creases.regions._space.vertices.BLOCK", limit)
    parts = space(net)
    assert parts.f_vector() == whole.f_vector()
    assert patterns_of(parts) == patterns_of(whole)
    assert len(parts.pairs) == len(whole.pairs)
    check(parts)


def test_blocks_of_max_pool_networks_join_to_the_same_regions(monkeypatch):
    net = conv_net(1)
    whole = space(net)
    monkeypatch.setattr("creases.regions._space.vertices.BLOCK", 8)
    parts = space(net)
    assert patterns_of(parts) == patterns_of(whole)
    assert parts.f_vector() == whole.f_vector()
    check(parts)


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["vertices", "lp"])
def test_several_processes_find_the_same_regions(method):
    net = case("m3_16x2") if method == "vertices" else random_net([3, 5, 4, 1], 0)
    alone, shared = (space(net, method=method, n_jobs=k) for k in (1, 2))
    assert shared.complete
    assert patterns_of(shared) == patterns_of(alone)
    assert len(shared.pairs) == len(alone.pairs)
    if method == "vertices":
        assert shared.f_vector() == alone.f_vector()


@pytest.mark.thorough
def test_budgets_are_honest_with_several_processes():
    net = case("m4_12x2")
    few = space(net, n_jobs=2, max_regions=20)
    assert (few.count, few.ended) == (20, "max_regions=20 reached")
    late = space(net, n_jobs=2, max_seconds=1e-9)
    assert (late.complete, late.ended) == (False, "max_seconds=1e-09 reached")
    assert patterns_of(few) | patterns_of(late) <= patterns_of(space(net))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vertices", "lp"])
def test_a_budget_of_regions_ends_with_as_many_and_says_so(method):
    net = case("m3_16x2")
    seen: list[int] = []
    part = space(net, method=method, max_regions=20, progress=lambda what, done, total: seen.append(done))
    assert part.count == 20
    assert not part.complete
    assert part.ended == "max_regions=20 reached"
    assert "incomplete: max_regions=20 reached" in repr(part)
    assert seen[-1] == 20
    assert patterns_of(part) <= patterns_of(space(net))
    x = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    found = part.locate(x)
    assert set(found) >= {-1}
    J, y = part.pieces()
    inside = found >= 0
    value = np.einsum("pmn,pn->pm", J[found[inside]], x[inside]) + y[found[inside]]
    np.testing.assert_allclose(value, net(x[inside]), atol=1e-10)


@pytest.mark.parametrize("method", ["vertices", "lp"])
def test_a_budget_of_time_ends_and_says_so(method):
    part = space(case("m4_12x2"), method=method, max_seconds=1e-9)
    assert not part.complete
    assert part.ended == "max_seconds=1e-09 reached"
    assert part.count < 1277
    assert len(part.locate(np.zeros((2, 4)))) == 2
    if method == "vertices":
        assert part.volumes().sum() < 16


def test_a_sufficient_budget_is_not_mentioned():
    part = space(case("m3_16x2"), max_regions=756, max_seconds=1000)
    assert part.complete
    assert part.count == 756


def test_save_and_load_give_the_same_partition(tmp_path):
    part = space(random_net([3, 5, 2], 0), [(-1, 2)] * 3)
    back = SpacePartition.load(part.save(tmp_path / "part.npz"))
    for name in part.__dataclass_fields__:
        if name != "net":
            assert np.array_equal(getattr(part, name), getattr(back, name)), name
    assert (back.complete, back.ended) == (True, "")
    np.testing.assert_array_equal(back.volumes(), part.volumes())
    np.testing.assert_array_equal(back.pieces().J, part.pieces().J)
    with pytest.raises(FileError, match="no such file"):
        SpacePartition.load(tmp_path / "other.npz")


def test_bad_arguments_are_named():
    net = random_net([3, 2, 1], 0)
    with pytest.raises(InputError, match=r"box must be \(lo, hi\), or 3 pairs of them, got shape \(2, 2\)"):
        space(net, [(-1, 1)] * 2)
    with pytest.raises(InputError, match=r"box must have lo < hi on every axis, got .* on axis 1"):
        space(net, [(-1, 1), (1, 1), (-1, 1)])
    with pytest.raises(InputError, match="method must be 'auto', 'vertices' or 'lp', got 'qhull'"):
        space(net, method="qhull")
    with pytest.raises(InputError, match="max_regions must be a positive integer, got 0"):
        space(net, max_regions=0)
    with pytest.raises(InputError, match="n_jobs must be a positive integer, got -1"):
        space(net, n_jobs=-1)
    with pytest.raises(InputError, match=r"model must be a torch\.nn\.Module, a file name"):
        space(3)
