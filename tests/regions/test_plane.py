from __future__ import annotations

from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from conformance import check_plane
from creases.errors import FileError, InputError
from creases.regions import PlanePartition
from creases.regions._plane.complex import Complex
from creases.regions._plane.subdivision import DeviceComplex
from reference import exact_regions, load_case, load_counts
from strategies import Case, cases

UNIT = [(-1, 1), (-1, 1)]
plane_module = import_module("creases.regions._plane.plane")
PLANES = [name for name, case in load_counts().items() if case["widths"][0] == 2]


def on_device(net: creases.Network, box, monkeypatch) -> PlanePartition:
    """The partition by tensor operations, as on a GPU."""
    monkeypatch.setattr(
        Complex, "from_mesh", lambda mesh, memory=None: DeviceComplex.from_mesh(mesh, torch.device("cpu"))
    )
    found = creases.plane(net, box)
    monkeypatch.undo()
    return found


def patterns(partition: PlanePartition) -> set[bytes]:
    return {row.tobytes() for row in partition.patterns}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANES)
def test_counts_equal_the_reference(name: str) -> None:
    expected = load_counts()[name]
    found = creases.plane(creases.read(load_case(name)), UNIT)
    assert found.count == expected["regions"]
    if "vertices" in expected:
        assert (len(found.vertices), len(found.edges)) == (expected["vertices"], expected["edges"])
        assert np.diff(found.starts).max() == expected["max_sides"]


@pytest.mark.parametrize("name", ["m2_32x3", "d_dup", "d_neg"])
def test_narrowing_wide_bends_changes_nothing(name: str, monkeypatch) -> None:
    net = creases.read(load_case(name))
    whole = creases.plane(net, UNIT)
    monkeypatch.setattr("creases.regions._plane.subdivision.WIDE", 1)
    assert patterns(creases.plane(net, UNIT)) == patterns(whole)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "memory"), [("m2_32x3", 2**16), ("d_dup", 2**10), ("d_neg", 2**18)])
def test_bounded_memory_changes_nothing(name: str, memory: int, monkeypatch) -> None:
    net = creases.read(load_case(name))
    whole = creases.plane(net, UNIT)
    monkeypatch.setattr(plane_module, "MEMORY", memory)
    in_groups, name = [], "subdivide_by_changing_units"
    subdivide = getattr(plane_module, name)
    monkeypatch.setattr(plane_module, name, lambda *args: in_groups.append(1) or subdivide(*args))
    counts: list[int] = []
    found = creases.plane(net, UNIT, progress=lambda what, done, total: counts.append(done))
    assert patterns(found) == patterns(whole)
    assert counts[-1] == whole.count
    assert in_groups == [1] or memory > 2**10
    check_plane(found, np.random.default_rng(0))


def test_bounded_memory_changes_nothing_for_choices_and_connections(monkeypatch) -> None:
    points = 3 * np.random.default_rng(1).normal(size=(3, 16))
    whole = creases.plane_through(image_network(), *points, margin=1.0)
    monkeypatch.setattr(plane_module, "MEMORY", 2**14)
    assert patterns(creases.plane_through(image_network(), *points, margin=1.0)) == patterns(whole)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLANES)
def test_reference_cases_tile_and_neighbors_differ(name: str) -> None:
    check_plane(creases.plane(creases.read(load_case(name)), UNIT), np.random.default_rng(0), points=10_000)


def assert_regions_are_exact(found: PlanePartition, case: Case) -> None:
    """The regions of exact arithmetic, but for slivers thinner than float64 can tell."""
    exact = exact_regions(case.layers, case.box, leak=case.leak)
    size = np.diff(np.array(case.box), axis=1).ravel()
    thickness = {}
    for sides, area, polygon in zip(exact.sides, exact.areas, exact.polygons, strict=True):
        corners = np.array([[float(x) for x in corner] for corner in polygon]) / size
        thickness[sides.astype(np.int16).tobytes()] = float(area) / size.prod() / np.ptp(corners, axis=0).max()
    ours = {row.tobytes() for row in found.sides()}
    assert len(ours) == found.count
    assert ours <= set(thickness)
    assert all(thickness[sides] < 1e-11 for sides in set(thickness) - ours)


SLOWLY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}


@pytest.mark.slow
@settings(max_examples=300, **SLOWLY)
@given(cases(2))
def test_regions_of_any_network_tile_the_box_and_are_those_of_exact_arithmetic(case: Case) -> None:
    found = creases.plane(case.net, case.box)
    check_plane(found, np.random.default_rng(0))
    assert_regions_are_exact(found, case)


@pytest.mark.slow
@settings(max_examples=100, **SLOWLY)
@given(case=cases(2))
def test_tensor_operations_are_right_for_any_network(case: Case, monkeypatch) -> None:
    found = on_device(case.net, case.box, monkeypatch)
    check_plane(found, np.random.default_rng(0))
    assert_regions_are_exact(found, case)


@pytest.mark.slow
@settings(max_examples=40, **SLOWLY)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 5, 10]))
def test_slices_of_networks_of_more_inputs(seed: int, n_in: int) -> None:
    rng = np.random.default_rng(seed)
    widths = [n_in, 6, 5, 2]
    layers = [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in pairwise(widths)]
    origin, basis = rng.normal(size=n_in), rng.normal(size=(n_in, 2))
    found = creases.plane(creases.read(layers), UNIT, origin, basis)
    check_plane(found, rng)
    assert found.count == exact_regions(layers, UNIT, origin=origin, basis=basis).count


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_scaling_the_box_and_the_weights_together_changes_nothing(scale: float) -> None:
    layers = load_case("m2_16x2")
    scaled = [(layers[0][0] / scale, layers[0][1]), *layers[1:]]
    found = creases.plane(creases.read(scaled), [(-scale, scale)] * 2)
    assert patterns(found) == patterns(creases.plane(creases.read(layers), UNIT))


@pytest.mark.parametrize(("name", "regions", "reports"), [("m2_64x3", 4066, 3), ("m2_32x3", 788, 1)])
def test_progress_tells_the_regions_after_every_bend_of_large_planes(name: str, regions: int, reports: int) -> None:
    net = creases.read(load_case(name))
    counts: list[int] = []
    creases.plane(net, UNIT, progress=lambda what, done, total: counts.append(done))
    assert len(counts) == reports
    assert counts == sorted(counts)
    assert counts[-1] == regions


def test_progress_can_end_the_work_within_a_bend(monkeypatch) -> None:
    class Enough(Exception):
        pass

    def bound(what: str, regions: int, total: int | None) -> None:
        if regions > 100:
            raise Enough(regions)

    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(200, 2)), 0.3 * rng.normal(size=200)), (np.ones((1, 200)), [0.0])])
    monkeypatch.setattr(plane_module, "MEMORY", 2**16)
    with pytest.raises(Enough) as ended:
        creases.plane(net, UNIT, progress=bound)
    monkeypatch.undo()
    assert ended.value.args[0] < creases.plane(net, UNIT).count / 10


def test_a_network_without_bends_is_one_region() -> None:
    found = creases.plane(creases.read([([[1.0, 2.0]], [3.0])]), UNIT)
    assert (found.count, len(found.vertices), len(found.edges), found.patterns.shape) == (1, 4, 4, (1, 0))
    J, y = found.pieces()
    np.testing.assert_array_equal(J, [[[1, 2]]])
    np.testing.assert_array_equal(y, [[3]])
    assert found.locate([[0.5, 0.5], [2, 0]]).tolist() == [0, -1]


def test_single_precision_weights_are_partitioned_in_double_precision() -> None:
    net = creases.read(load_case("m2_16x2")).to(torch.float32)
    found = creases.plane(net, UNIT)
    assert found.vertices.dtype == np.float64
    assert found.count == 101
    assert (found.locate(found.centers()) == np.arange(101)).all()


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels),
        )  # fmt: skip

    def forward(self, x):
        return torch.relu(x + self.inner(x))


def image_network() -> creases.Network:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
        Residual(3), nn.MaxPool2d(3, 2, 1), nn.Flatten(), nn.Linear(3, 3),
    )  # fmt: skip
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            for values in (module.running_mean, module.weight.data, module.bias.data):
                values.normal_()
            module.running_var.uniform_(0.5, 2)
    return creases.read(model.eval(), input_shape=(1, 4, 4))


def grid_check(found: PlanePartition, side: int) -> None:
    """Every pattern on a dense grid is a region's, and the region is where the grid point lies."""
    axes = [np.linspace(lo, hi, side + 2)[1:-1] for lo, hi in found.box]
    t = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    assert set(map(bytes, found.net.pattern(found.points(t)))) <= patterns(found)
    region = found.locate(t)
    J, y = found.pieces()
    values = found.net(found.points(t))
    np.testing.assert_allclose(np.einsum("nmk,nk->nm", J[region], t) + y[region], values, atol=1e-10)


@pytest.mark.slow
def test_convolution_pooling_and_residuals_agree_with_a_dense_grid() -> None:
    rng = np.random.default_rng(1)
    found = creases.plane_through(image_network(), *3 * rng.normal(size=(3, 16)), margin=1.0)
    assert found.count > 200
    grid_check(found, 300)
    check_plane(found, rng)


class BendsFirst(nn.Module):
    """Residual blocks whose skip connection reads what enters a bend, not what leaves it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.start, self.end = nn.Linear(2, 8), nn.Linear(8, 2)
        self.inner = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        x = self.start(x)
        for inner in self.inner:
            x = x + inner(torch.relu(x))
        return self.end(x)


def test_a_connection_around_a_bend_keeps_what_enters_it(monkeypatch) -> None:
    net = creases.read(BendsFirst())
    found = creases.plane(net, UNIT)
    check_plane(found, np.random.default_rng(0))
    grid_check(found, 100)
    assert patterns(on_device(net, UNIT, monkeypatch)) == patterns(found)
    assert patterns(creases.plane(net, UNIT, exact=True)) == patterns(found)


def test_a_choice_on_a_device_is_the_same(monkeypatch) -> None:
    net = image_network()
    origin, basis = np.random.default_rng(1).normal(size=(3, 16))[0], np.random.default_rng(2).normal(size=(16, 2))
    kernel = creases.plane(net, UNIT, origin, basis)
    monkeypatch.setattr(Complex, "from_mesh", classmethod(_device_once(Complex.from_mesh.__func__)))
    assert patterns(creases.plane(net, UNIT, origin, basis)) == patterns(kernel)


def _device_once(original):
    """The first complex is made on the device; the kernel's own, for choices, as ever."""
    made = []

    def of(cls, mesh, memory=None):
        if made:
            return original(cls, mesh, memory)
        made.append(True)
        return DeviceComplex.from_mesh(mesh, torch.device("cpu"))

    return of


def test_a_maximum_has_one_region_per_largest_candidate() -> None:
    class Largest(nn.Module):
        def forward(self, x):
            a, b = x[:, :1], x[:, 1:]
            return torch.cat([a, b, 0.1 - 0 * a, -a - b], dim=1).amax(dim=1, keepdim=True)

    found = creases.plane(creases.read(Largest(), (2,)), UNIT)
    assert found.count == 4
    check_plane(found, np.random.default_rng(0))
    grid_check(found, 100)


def test_edges_of_overlapping_windows_name_a_unit_that_changes_there() -> None:
    """Losing candidates of one window tie where those of the next decide: the crease is the next one's."""

    class Windows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(1)
            self.start = nn.Linear(2, 5)

        def forward(self, x):
            return nn.functional.max_pool1d(self.start(x)[:, None], 3, 1, 1)[:, 0]

    found = creases.plane(creases.read(Windows(), (2,)), [(-4, 4), (-4, 4)])
    check_plane(found, np.random.default_rng(0))
    assert patterns(found) == patterns(creases.plane(found.net, found.box, exact=True))


def test_plane_through_three_points_holds_them() -> None:
    rng = np.random.default_rng(0)
    net = creases.read([(rng.normal(size=(8, 5)), rng.normal(size=8)), (rng.normal(size=(2, 8)), np.zeros(2))])
    a, b, c = rng.normal(size=(3, 5))
    found = creases.plane_through(net, a, b, c)
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(2), atol=1e-15)
    t = np.array([[0, 0], [np.linalg.norm(b - a), 0], found.basis.T @ (c - a)])
    np.testing.assert_allclose(found.points(t), [a, b, c], atol=1e-12)
    assert (found.locate(t) >= 0).all()


def test_a_saved_partition_comes_back_the_same(tmp_path) -> None:
    found = creases.plane(creases.read(load_case("d_dup")), UNIT)
    again = PlanePartition.load(found.save(tmp_path / "plane.npz"))
    for name in found.__dataclass_fields__:
        if name != "net":
            np.testing.assert_array_equal(getattr(again, name), getattr(found, name))
    np.testing.assert_array_equal(again.net(found.vertices), found.net(found.vertices))
    with pytest.raises(FileError, match="no such file"):
        PlanePartition.load(tmp_path / "missing.npz")


def test_regions_of_one_affine_function_can_be_taken_together() -> None:
    """relu(x) - relu(x) is 0 on both sides of its crease: two regions, one function."""
    found = creases.plane(creases.read([([[1, 0], [1, 0], [0, 1]], [0, 0, 0]), ([[1, -1, 1]], [0])]), UNIT)
    assert found.count == 4
    assert found.same_piece().max() + 1 == 2


def test_points_on_creases_are_located_beside_them() -> None:
    found = creases.plane(creases.read(load_case("m2_16x2")), UNIT)
    inner = (found.edge_regions >= 0).all(axis=1)
    middle = found.vertices[found.edges[inner]].mean(axis=1)
    region = found.locate(middle)
    assert ((region == found.edge_regions[inner, 0]) | (region == found.edge_regions[inner, 1])).all()
    assert (found.locate(found.vertices) >= 0).all()


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ([(-1, 1)], r"box must be \(lo, hi\), or 2 pairs of them, got shape \(1, 2\)"),
        ([(-1, 1), (2, 2)], r"box must have lo < hi on every axis, got \(2.0, 2.0\) on axis 1"),
        ([(1, -1), (0, 1)], "box must have lo < hi on every axis, got .* on axis 0"),
        ([(0, np.inf), (0, 1)], "box must have finite bounds"),
        ([("a", 1), (0, 1)], "box must be an array of numbers"),
    ],
)
def test_a_bad_box_is_refused(box, message: str) -> None:
    with pytest.raises(InputError, match=message):
        creases.plane(creases.read(load_case("m2_16x2")), box)


def test_bad_slices_are_refused() -> None:
    flat, deep = creases.read(load_case("m2_16x2")), creases.read(load_case("m3_16x2"))
    with pytest.raises(InputError, match=r"basis must be given for a network of 3 inputs.*plane_through"):
        creases.plane(deep)
    with pytest.raises(InputError, match=r"basis must have shape \(3, 2\)"):
        creases.plane(deep, UNIT, np.zeros(3), np.eye(3))
    with pytest.raises(InputError, match="basis must have two columns that span a plane, got parallel"):
        creases.plane(deep, UNIT, np.zeros(3), np.ones((3, 2)))
    with pytest.raises(InputError, match="basis must be finite"):
        creases.plane(deep, UNIT, np.zeros(3), np.full((3, 2), np.nan))
    with pytest.raises(InputError, match="origin must have shape"):
        creases.plane(flat, UNIT, np.zeros(3), np.eye(2))
    with pytest.raises(InputError, match=r"c must not be on the line through a and b.*use line"):
        creases.plane_through(deep, [0, 0, 0], [1, 1, 1], [2, 2, 2])
    with pytest.raises(InputError, match="b must differ from a, got the same point"):
        creases.plane_through(deep, [0, 0, 0], [0, 0, 0], [2, 2, 2])
    with pytest.raises(InputError, match="c must be finite"):
        creases.plane_through(deep, [0, 0, 0], [1, 0, 0], [np.nan, 2, 2])


def test_where_candidates_tie_on_a_whole_region_the_first_is_chosen() -> None:
    """max(relu(x), relu(y), 0 * x): where both relus are off all three are equal, and the network takes the first."""

    class Ties(nn.Module):
        def forward(self, x):
            return torch.stack([torch.relu(x[:, 0]), torch.relu(x[:, 1]), 0 * x[:, 0]], dim=1).amax(dim=1)

    found = creases.plane(creases.read(Ties(), (2,)), UNIT)
    np.testing.assert_array_equal(found.patterns, found.net.pattern(found.points(found.centers())))
