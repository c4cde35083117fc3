"""Exact plane partitions, against polygons clipped in integers and against cases that floats cannot resolve."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance import check_plane
from creases._program._step import Step
from creases.errors import InputError
from creases.network._network import Network
from creases.network._read import read
from creases.network._reading.arrays import from_arrays
from creases.regions import PlanePartition, plane
from creases.regions._exact import program as exact_program
from reference import exact_regions, load_case, load_counts
from strategies import Case, cases

SQUARE = np.array([[-1.0, 1.0], [-1.0, 1.0]])
ONE = (np.zeros((1, 1)), np.zeros(1))


def shallow(rows: list[list[float]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """One hidden layer from rows (w_0, w_1, b)."""
    both = np.array(rows, dtype=np.float64)
    return [(both[:, :2], both[:, 2]), (np.ones((1, len(both))), np.zeros(1))]


def partition(layers: list[tuple[np.ndarray, np.ndarray]], leak: float = 0.0) -> PlanePartition:
    return plane(from_arrays(layers, leak=leak), SQUARE, exact=True)


def linear(value: int, weight: np.ndarray, bias: np.ndarray) -> Step:
    tensors = {"weight": torch.from_numpy(weight), "offset": torch.from_numpy(bias)}
    return Step("linear", (value,), (len(bias),), tensors=tensors, path=f"linear{value}")


def maxout(rng: np.random.Generator, n_in: int, units: int, k: int, *, whole: bool = False) -> Network:
    """Linear, reshape, maximum of k, linear, relu, linear, with a shortcut from the maxima to the end."""

    def draw(*shape: int) -> np.ndarray:
        return rng.integers(-2, 3, shape).astype(float) if whole else rng.standard_normal(shape)

    steps = [
        linear(0, draw(units * k, n_in), draw(units * k)),
        Step("reshape", (1,), (units, k), {"shape": [units, k]}),
        Step("choice", (2,), (units,), path="pool"),
        linear(3, draw(units, units), draw(units)),
        Step("relu", (4,), (units,), path="relu"),
        Step("add", (3, 5), (units,), {"signs": [1, -1]}),
        Step("relu", (6,), (units,), tensors={"leak": torch.tensor(0.25, dtype=torch.float64)}, path="leaky"),
        linear(7, draw(2, units), draw(2)),
    ]
    return Network(steps, (n_in,))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["d_dead", "d_dup", "d_neg", "d_parallel", "d_zero", "m2_16x2", "m2_32x3", "m2_64x3"])
def test_counts_are_the_confirmed_ones(name: str) -> None:
    found, told = partition(load_case(name)), load_counts()[name]
    assert found.count == told["regions"]
    assert len(found.vertices) == told.get("vertices", len(found.vertices))
    assert len(found.edges) == told.get("edges", len(found.edges))


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(2))
def test_an_exact_partition_conforms_and_has_the_patterns_and_vertices_of_exact_clipping(case: Case) -> None:
    found = plane(case.net, case.box, exact=True)
    check_plane(found, np.random.default_rng(0))
    truth = exact_regions(case.layers, case.box, leak=case.leak)
    assert sorted(map(tuple, found.sides())) == sorted(map(tuple, truth.sides))
    assert len(found.vertices) == truth.n_vertices
    rounded = {(float(x), float(y)) for polygon in truth.polygons for x, y in polygon}
    assert {(float(x), float(y)) for x, y in found.vertices} == rounded


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(3), st.integers(0, 2**32 - 1))
def test_slices_are_cut_exactly_too(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    origin, basis = rng.standard_normal(3), rng.standard_normal((3, 2))
    found = plane(case.net, SQUARE, origin, basis, exact=True)
    truth = exact_regions(case.layers, SQUARE.tolist(), leak=case.leak, origin=origin, basis=basis)
    assert sorted(map(tuple, found.sides())) == sorted(map(tuple, truth.sides))
    assert len(found.vertices) == truth.n_vertices


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("leak", [0.0, -1.0])
def test_quantised_networks_have_the_counts_of_exact_clipping(seed: int, leak: float) -> None:
    rng = np.random.default_rng(seed)
    widths = [2, 8, 8, 8, 1]
    layers = [
        (rng.integers(-2, 3, (m, n)).astype(float), rng.integers(-2, 3, m).astype(float)) for n, m in pairwise(widths)
    ]
    found, truth = partition(layers, leak), exact_regions(layers, SQUARE.tolist(), leak=leak)
    assert found.count == truth.count
    assert len(found.vertices) == truth.n_vertices


def test_single_precision_weights_are_taken_as_they_are() -> None:
    layers = load_case("m2_16x2")
    net = from_arrays(layers).to(torch.float32)
    single = [(W.astype(np.float32).astype(float), b.astype(np.float32).astype(float)) for W, b in layers]
    assert plane(net, SQUARE, exact=True).count == exact_regions(single, SQUARE.tolist()).count


def test_three_creases_exactly_through_one_point_make_six_regions() -> None:
    found = partition(shallow([[1, 0, 0], [0, 1, 0], [1, 1, 0]]))
    assert found.count == 6
    assert len(found.vertices) == 4 + 6 + 1 - 2  # the diagonal ends in two corners of the box


@pytest.mark.parametrize("miss", [1e-18, -1e-300, 5e-324])
def test_three_creases_that_miss_one_point_by_a_hair_make_a_seventh_region(miss: float) -> None:
    found = partition(shallow([[1, 0, 0], [0, 1, 0], [1, 1, miss]]))
    assert found.count == 7
    assert len(np.unique(found.sides(), axis=0)) == 7


def test_parallel_creases_a_hair_apart_leave_a_strip() -> None:
    thin = np.nextafter(0.1, 1)
    assert partition(shallow([[1, 1, -0.1], [1, 1, -thin]])).count == 3
    assert partition(shallow([[1, 1, -0.1], [1, 1, -0.1]])).count == 2


def test_a_row_scaled_with_rounding_is_another_crease_and_one_scaled_exactly_is_the_same() -> None:
    row = np.array([0.1, 0.7, 0.01])
    assert partition(shallow([list(row), list(4 * row)])).count == 2
    rounded = 3 * row  # 3 * 0.1 is no multiple of 0.1: the two lines cross or miss each other by a hair
    truth = exact_regions(shallow([list(row), list(rounded)]), SQUARE.tolist())
    assert partition(shallow([list(row), list(rounded)])).count == truth.count > 2


@pytest.mark.parametrize("bias", [0.0, 2.0**-70])
def test_a_second_layer_crease_through_a_crossing_of_the_first_is_told_from_a_miss(bias: float) -> None:
    # z = relu(x) + relu(-x) - relu(y) - relu(-y) + bias = |x| - |y| + bias: its creases meet in the origin, or miss it.
    first = (np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.zeros(4))
    second = (np.array([[1.0, 1, -1, -1]]), np.array([bias]))
    layers = [first, second, ONE]
    found, truth = partition(layers), exact_regions(layers, SQUARE.tolist())
    assert found.count == truth.count
    assert len(found.vertices) == truth.n_vertices
    assert (bias == 0) == any((found.vertices == 0).all(axis=1) & (np.bincount(found.edges.ravel()) == 8))


def test_vertices_are_rounded_once() -> None:
    found = partition(shallow([[3, 0, -1], [0, 7, 1]]))
    assert any((found.vertices == [1 / 3, -1 / 7]).all(axis=1))


def test_a_unit_that_cancels_exactly_makes_no_crease() -> None:
    # relu(x) - relu(-x) - x = 0, written with the input carried by a pair of units
    first = (np.array([[1.0, 0.5], [-1, -0.5]]), np.array([0.25, -0.25]))
    second = (np.array([[1.0, -1], [1, -1], [-1, 1]]), np.zeros(3))
    third = (np.array([[1.0, -1, 0], [1, 0, -1]]), np.zeros(2))
    found = partition([first, second, third, (np.ones((1, 2)), np.zeros(1))])
    assert found.count == exact_regions([first, second, third, ONE], SQUARE.tolist()).count
    assert (found.sides()[:, 5] == 0).all()


def test_overflow_of_the_floating_point_filter_is_caught_by_integers() -> None:
    big = 1e200
    first = (np.array([[big, 0], [0, big]]), np.array([0.0, -0.5 * big]))
    second = (np.array([[big, -big]]), np.zeros(1))
    assert partition([first, second, ONE]).count == exact_regions([first, second, ONE], SQUARE.tolist()).count


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("whole", [False, True])
def test_networks_with_choices_and_shortcuts_conform(k: int, whole: bool) -> None:
    rng = np.random.default_rng(k)
    net = maxout(rng, 2, 4, k, whole=whole)
    part = plane(net, SQUARE, exact=True)
    check_plane(part, rng)
    t = rng.uniform(-1, 1, (20000, 2))
    seen = {row.tobytes() for row in net.pattern(t)}
    assert part.count >= 5
    if not whole:
        assert seen <= {row.tobytes() for row in part.patterns}


def test_a_choice_of_two_has_the_regions_of_the_relu_it_is() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (6, 3)) / 4, rng.integers(-4, 5, (6, 3)) / 4
    both = np.stack([a, b], axis=1).reshape(12, 3)
    steps = [linear(0, both[:, :2].copy(), both[:, 2].copy()), Step("reshape", (1,), (6, 2), {"shape": [6, 2]})]
    choice = Network([*steps, Step("choice", (2,), (6,))], (2,))
    relu = shallow([list(row) for row in a - b])
    found = plane(choice, SQUARE, exact=True)
    assert sorted(map(tuple, 1 - found.sides())) == sorted(map(tuple, partition(relu).sides()))


def test_equal_candidates_are_one_and_the_first_is_chosen() -> None:
    weight = np.array([[1.0, 0], [1, 0], [0, 1]])
    steps = [
        linear(0, weight, np.zeros(3)),
        Step("reshape", (1,), (1, 3), {"shape": [1, 3]}),
        Step("choice", (2,), (1,)),
    ]
    found = plane(Network(steps, (2,)), SQUARE, exact=True)
    assert sorted(found.sides().ravel()) == [0, 2]


def test_convolutions_are_cut_exactly() -> None:
    rng = np.random.default_rng(0)
    weight = torch.from_numpy(rng.standard_normal((3, 2, 3, 3)))
    conv = {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
    steps = [
        Step("conv", (0,), (3, 4, 4), conv, {"weight": weight, "offset": torch.ones(3, 1, 1, dtype=torch.float64)}),
        Step("relu", (1,), (3, 4, 4)),
        Step("reshape", (2,), (48,), {"shape": [48]}),
        linear(3, rng.standard_normal((8, 48)), rng.standard_normal(8)),
        Step("relu", (4,), (8,)),
        linear(5, rng.standard_normal((2, 8)), rng.standard_normal(2)),
    ]
    net = Network(steps, (2, 4, 4))
    origin, basis = rng.standard_normal(32), rng.standard_normal((32, 2))
    part = plane(net, SQUARE, origin, basis, exact=True)
    check_plane(part, rng)
    assert part.count > 100


class Residual(torch.nn.Module):
    """Convolution, batch-norm, max-pool and a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = torch.nn.Conv2d(1, 2, 3, padding=1), torch.nn.BatchNorm2d(2)
        self.pool, self.second = torch.nn.MaxPool2d(2), torch.nn.Conv2d(2, 2, 3, padding=1)
        self.last = torch.nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(torch.relu(self.norm(self.first(x))))
        x = x + torch.relu(self.second(x))
        return self.last(torch.flatten(x, 1))


@pytest.mark.slow
def test_a_residual_network_with_max_pool_has_the_regions_of_the_float_method() -> None:
    torch.manual_seed(0)
    net = read(Residual().double().eval(), (1, 4, 4))
    rng = np.random.default_rng(0)
    origin, basis = rng.standard_normal(16), rng.standard_normal((16, 2))
    exact, floats = (plane(net, SQUARE, origin, basis, exact=flag) for flag in (True, False))
    check_plane(exact, rng)
    assert exact.count > 100
    assert (exact.count, len(exact.vertices), len(exact.edges)) == (
        floats.count,
        len(floats.vertices),
        len(floats.edges),
    )
    # Windows where no relu fires tie at zero all over a region: the first candidate is chosen, as the network does.
    assert np.array_equal(exact.patterns, net.pattern(exact.points(exact.centers())))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(2), st.integers(0, 2**32 - 1))
def test_the_error_bounds_of_the_filter_hold(case: Case, seed: int) -> None:
    lo, hi = np.array(case.box).T
    t = np.random.default_rng(seed).uniform(lo, hi, (3, 2))
    program = exact_program.ExactProgram(case.net, np.zeros(2), np.eye(2))
    for row, point in enumerate(t):
        h = [Fraction(float(x)) for x in point]
        for bend, (W, b) in enumerate(case.layers[:-1]):
            z = [
                sum((Fraction(float(w)) * x for w, x in zip(line, h, strict=True)), Fraction(float(bias)))
                for line, bias in zip(W, b, strict=True)
            ]
            value, bound = program.bounded(t, bend)
            for exact, found, error in zip(z, value[row], bound[row], strict=True):
                assert abs(Fraction(float(found)) - exact) <= Fraction(float(error))
            h = [v if v > 0 else Fraction(case.leak) * v for v in z]


def test_a_network_without_bends_is_one_region() -> None:
    found = partition([(np.array([[1.0, 2.0]]), np.zeros(1))])
    assert (found.count, len(found.vertices), len(found.edges)) == (1, 4, 4)
    assert found.sides().shape == (1, 0)


def test_a_step_too_large_for_a_matrix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_program, "MATRIX_ENTRIES", 8)
    with pytest.raises(
        InputError, match=r"net must have .* got 2 inputs and 16 outputs in step 'layers.0' \(linear\); use exact=False"
    ):
        partition(load_case("m2_16x2"))


def test_weights_that_are_not_finite_are_named() -> None:
    net = Network([linear(0, np.array([[np.inf, 1.0]]), np.zeros(1))], (2,))
    with pytest.raises(
        InputError, match=r"net must have finite weights .* NaN or infinity in step 'linear0' \(linear\)"
    ):
        plane(net, SQUARE, exact=True)


def test_progress_counts_regions_within_a_bend_and_can_end_the_work() -> None:
    net = read(load_case("m2_16x2"))
    counts: list[int] = []
    found = plane(net, SQUARE, exact=True, progress=lambda what, done, total: counts.append(done))
    assert counts == sorted(counts)
    assert len(counts) > len(net.bends)
    assert counts[-1] == found.count

    def stop(what: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plane(net, SQUARE, exact=True, progress=stop)
