"""What changed between two networks, against grids, dense samples and mixed-integer programs."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from agreement import seeded
from creases.certify.differences import Joint, subtract_networks
from creases.certify.differences._joint import join_networks
from creases.compare import difference
from creases.compare.differences import difference_on_line, difference_on_plane
from creases.compare.differences._in_box import difference_in_box
from creases.errors import InputError
from strategies import Case, cases

BOX2 = [(-1.0, 1.0), (-1.0, 1.0)]


def mlp(seed: int, inputs: int = 2, outputs: int = 3, widths: tuple[int, ...] = (8, 6)) -> creases.Network:
    sizes = (inputs, *widths)
    layers = [part for n, m in pairwise(sizes) for part in (nn.Linear(n, m), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(sizes[-1], outputs)).double()
    return creases.read(seeded(model, seed), (inputs,))


def conv(seed: int) -> creases.Network:
    """16 inputs as an image, a convolution with max-pooling, 3 outputs."""
    model = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3))
    return creases.read(seeded(model.double(), seed), (1, 4, 4))


def moved(net: creases.Network, shift: np.ndarray) -> creases.Network:
    """The network with ``shift`` (m,) added to its outputs."""
    last = net.steps[-1]
    steps = [*net.steps[:-1], type(last)(last.op, last.inputs, last.shape, last.options,
             {**last.tensors, "offset": last.tensors["offset"] + torch.from_numpy(shift)}, last.path)]  # fmt: skip
    return creases.Network(steps, net.input_shape)


def grid(n: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    t = low + (np.arange(n) + 0.5) / n * (high - low)
    return np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)


def test_a_joined_network_has_the_outputs_of_both() -> None:
    a, b = conv(0), mlp(0, inputs=16)
    x = torch.randn(20, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    both = join_networks(a, b)
    torch.testing.assert_close(both(x), torch.cat([a(x), b(x)], dim=1), rtol=0, atol=1e-14)
    torch.testing.assert_close(subtract_networks(a, b)(x), a(x) - b(x), rtol=0, atol=1e-14)


def test_steps_that_networks_share_are_there_once() -> None:
    a = mlp(0)
    assert join_networks(a, a).n_units == a.n_units
    assert join_networks(a, moved(a, np.ones(3))).n_units == a.n_units
    assert join_networks(a, mlp(1)).n_units == 2 * a.n_units


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_the_last_two_units_of_a_joint_network_are_the_decisions(outputs: int) -> None:
    a, b, x = mlp(0, outputs=outputs), mlp(1, outputs=outputs), grid(20)
    joint = Joint.from_pair(a, b)
    for net, own in zip((a, b), joint.classes(joint.net.pattern(x)), strict=True):
        np.testing.assert_array_equal(own, net(x).argmax(1) if outputs > 1 else net(x)[:, 0] > 0)


@pytest.mark.slow
@pytest.mark.parametrize("net", [mlp(0), mlp(0, outputs=1), mlp(0, widths=()), conv(0)], ids=str)
def test_the_difference_of_a_network_with_itself_is_empty(net: creases.Network) -> None:
    x = torch.randn(30, net.n_in, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for points in (x[:2], x[:3]):
        found = difference(net, net, x, through=list(points), box=[(-1, 1)] * net.n_in)
        assert found.empty
        assert not len(found.samples.differ)
        assert not len(found.samples.most_changed())
        assert found.box.exact.all()
        assert not found.box.upper.any()
        assert "same function" in str(found)


def test_a_network_with_its_units_in_another_order_is_the_same_function() -> None:
    rng = np.random.default_rng(0)
    W1, b1, W2, b2 = (rng.normal(size=size) for size in ((9, 2), 9, (4, 9), 4))
    order = rng.permutation(9)
    a, b = creases.read([(W1, b1), (W2, b2)]), creases.read([(W1[order], b1[order]), (W2[:, order], b2)])
    assert difference(a, b, box=BOX2).empty
    assert difference(a, b, through=[[-1, -1], [1, 1]]).empty
    assert difference_on_plane(a, b, BOX2).empty


@pytest.mark.parametrize("seeds", [(0, 4), (2, 5), (8, 9)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_disagreement_on_a_plane_is_that_of_a_grid(seeds: tuple[int, int], outputs: int) -> None:
    a, b = (mlp(seed, outputs=outputs, widths=(12, 8)) for seed in seeds)
    a, b = moved(a, -a(np.zeros(2))), moved(b, -b(np.full(2, 0.1)))  # boundaries in the box
    found = difference_on_plane(a, b, BOX2)
    x = grid(200)
    region = found.partition.locate(x)
    va, vb = a(x), b(x)
    classes = [v.argmax(1) if outputs > 1 else (v[:, 0] > 0) for v in (va, vb)]
    np.testing.assert_array_equal(found.class_a[region], classes[0])
    np.testing.assert_array_equal(found.class_b[region], classes[1])
    assert 0 < found.share < 1
    assert found.share == pytest.approx((classes[0] != classes[1]).mean(), abs=0.01)
    np.testing.assert_allclose(found.confusion().sum(), 4)
    gap = np.abs(va - vb).max(axis=0)
    assert (found.largest >= gap).all()
    np.testing.assert_allclose(found.largest, gap, atol=0.05)
    reached = np.abs(a(found.where) - b(found.where))[np.arange(outputs), np.arange(outputs)]
    np.testing.assert_allclose(reached, found.largest, rtol=1e-12)
    assert sum(part.size for part in found.parts()) == pytest.approx(found.size)
    assert len(found.polygons()) == found.differ.sum()


def test_parts_are_connected_sets_of_one_pair_of_classes() -> None:
    # a: sign of |x| - 0.5, b: sign of |x| - 0.75; they differ in two strips.
    a = creases.read([([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-0.5])])
    b = creases.read([([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-0.75])])
    found = difference_on_plane(a, b, BOX2)
    assert [(part.classes, round(part.size, 12)) for part in found.parts()] == [((1, 0), 0.5)] * 2
    assert "25 % of it, in 2 parts" in str(found)


def test_one_changed_unit_is_found_where_it_bends() -> None:
    W, v = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0]])
    a = creases.read([(W, [0.0, 0.0]), (v, [0.0])])
    b = creases.read([(W, [0.0, -0.5]), (v, [0.0])])  # relu(x1 - 0.5) for relu(x1)
    x = np.array([[0.5, -0.5], [0.5, 0.2], [-0.5, 0.9]])
    found = difference(a, b, x, through=[[0.0, -1.0], [0.0, 1.0]], box=BOX2)
    # Slope and offset of the second unit: none where both are off, (0, 1, 0) where a alone is on, then (0, 0, 0.5).
    np.testing.assert_allclose(found.samples.change, [0.0, 1.0, 0.5])
    assert found.samples.most_changed().tolist() == [1, 2]
    np.testing.assert_allclose([found.line.largest[0], found.box.lower[0]], 0.5, rtol=1e-12)
    assert found.line.share == pytest.approx(0.25)  # a is positive from 0 on, b from 0.5
    assert found.box.exact.all()


def test_samples_tell_what_was_mended_and_what_was_broken() -> None:
    a, b = creases.read([([[1.0]], [0.0])]), creases.read([([[1.0]], [-1.0])])
    found = difference(a, b, [[-1.0], [0.5], [0.7], [2.0]], y=[0, 0, 1, 1]).samples
    assert (found.differ.tolist(), found.newly_correct().tolist(), found.newly_wrong().tolist()) == ([1, 2], [1], [2])
    assert found.confusion().tolist() == [[1, 0], [2, 1]]
    assert found.share == 0.5
    assert found.largest.tolist() == [1.0]
    assert "Accuracy: a 75.00 %, b 75.00 %" in str(found)


def test_change_of_pieces_is_that_of_autograd() -> None:
    a, b = mlp(0, inputs=5), conv_like(1)
    x = torch.randn(7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = difference(a, b, x).samples
    for i, point in enumerate(x):
        rows = []
        for net in (a, b):
            J = torch.autograd.functional.jacobian(lambda p, net=net: net(p[None])[0], point)
            rows.append(torch.cat([J, (net(point) - J @ point)[:, None]], dim=1))
        assert found.change[i] == pytest.approx(float((rows[0] - rows[1]).norm()), rel=1e-10)
        assert found.size[i] == pytest.approx(float(rows[0].norm()), rel=1e-10)


def conv_like(seed: int) -> creases.Network:
    """5 inputs, a convolution of one axis, a residual sum and 3 outputs."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.out = nn.Conv1d(1, 2, 3, padding=1), nn.Linear(10, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            z = torch.relu(self.conv(x[:, None]))
            return self.out((z + x[:, None]).flatten(1))

    return creases.read(seeded(Model().double(), seed), (5,))


@pytest.mark.parametrize("pair", [(conv(0), conv(1)), (conv(0), mlp(0, inputs=16))], ids=["conv", "conv and mlp"])
def test_architectures_may_differ_on_lines_and_planes(pair: tuple[creases.Network, creases.Network]) -> None:
    a, b = pair
    rng = np.random.default_rng(0)
    p, q, r = 2 * rng.normal(size=(3, 16))
    found = difference(a, b, through=[p, q, r]).plane
    t = rng.uniform(*found.partition.box.T, size=(2000, 2))
    x, region = found.partition.points(t), found.partition.locate(t)
    np.testing.assert_array_equal(found.class_a[region], a(x).argmax(1))
    np.testing.assert_array_equal(found.class_b[region], b(x).argmax(1))
    assert (found.largest >= np.abs(a(x) - b(x)).max(axis=0)).all()
    on_line = difference_on_line(a, b, p, q)
    s = np.linspace(0, 1, 1001)
    x = on_line.partition.points(s)
    disagree = a(x).argmax(1) != b(x).argmax(1)
    assert on_line.share == pytest.approx(disagree.mean(), abs=0.01)
    assert on_line.sizes.sum() == pytest.approx(np.linalg.norm(q - p))
    assert (on_line.largest >= np.abs(a(x) - b(x)).max(axis=0) - 1e-12).all()


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_the_largest_difference_in_a_box_is_exact_up_to_three_dimensions(inputs: int) -> None:
    a, b = mlp(0, inputs=inputs, widths=(7, 5)), mlp(1, inputs=inputs, widths=(6, 4))
    found = difference_in_box(a, b, [(-1, 2)] * inputs)
    assert found.exact.all()
    x = np.random.default_rng(0).uniform(-1, 2, size=(100_000, inputs))
    gap = np.abs(a(x) - b(x)).max(axis=0)
    assert (found.lower >= gap).all()
    np.testing.assert_allclose(found.lower, gap, rtol=0.15)
    assert found.regions.sizes.sum() == pytest.approx(3**inputs)
    share = (a(x).argmax(1) != b(x).argmax(1)).mean()
    assert found.regions.share == pytest.approx(share, abs=0.01)


def largest_by_milp(layers: list[tuple[np.ndarray, np.ndarray]], low: float, high: float) -> float:
    """Largest value of ``v relu(W x + b) + c`` over a box, as a mixed-integer program (big-M), by scipy."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    (W, b), (v, c) = layers
    h, d = W.shape
    middle, half = W.sum(axis=1) * (low + high) / 2 + b, np.abs(W).sum(axis=1) * (high - low) / 2
    least, most = middle - half, middle + half
    # Variables x (d), z (h) = relu, s (h) = side: z >= Wx + b, z <= Wx + b - least (1 - s), z <= most s.
    eye, none = np.eye(h), np.zeros((h, h))
    rows = [
        LinearConstraint(np.hstack([-W, eye, none]), b, np.inf),
        LinearConstraint(np.hstack([-W, eye, -np.diag(least)]), -np.inf, b - least),
        LinearConstraint(np.hstack([np.zeros((h, d)), eye, -np.diag(np.maximum(most, 0))]), -np.inf, 0),
    ]
    bounds = Bounds(np.r_[np.full(d, low), np.zeros(2 * h)], np.r_[np.full(d, high), np.maximum(most, 0), np.ones(h)])
    kinds = np.r_[np.zeros(d + h), np.ones(h)]
    done = milp(np.r_[np.zeros(d), -v[0], np.zeros(h)], integrality=kinds, bounds=bounds, constraints=rows)
    return float(-done.fun + c[0])


@pytest.mark.parametrize(("inputs", "seed"), [(2, 0), (3, 1), (5, 2)])
def test_the_largest_difference_in_a_box_is_that_of_a_mixed_integer_program(inputs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    nets = [[(rng.normal(size=(5, inputs)), rng.normal(size=5)), (rng.normal(size=(1, 5)), rng.normal(size=1))]
            for _ in range(2)]  # fmt: skip
    (W1, b1), (v1, c1) = nets[0]
    (W2, b2), (v2, c2) = nets[1]
    hidden = np.vstack([W1, W2]), np.append(b1, b2)
    gap = [largest_by_milp([hidden, (s * np.hstack([v1, -v2]), s * (c1 - c2))], -1, 1) for s in (1, -1)]
    found = difference_in_box(creases.read(nets[0]), creases.read(nets[1]), [(-1, 1)] * inputs)
    assert found.lower[0] <= max(gap) * (1 + 1e-7) <= found.upper[0] * (1 + 2e-7)
    assert found.lower[0] == pytest.approx(max(gap), rel=1e-6)
    assert found.exact[0]
    apart = difference_in_box(creases.read(nets[0]), creases.read(nets[1]), [(-1, 1)] * inputs, max_regions=1)
    assert apart.lower[0] == pytest.approx(max(gap), rel=1e-6)  # the search finds it too
    assert apart.upper[0] >= max(gap) * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [(mlp(0, 3), mlp(1, 3)), (mlp(2, 3), mlp(3, 3, widths=(10,)))], ids=["deep", "mixed"])
def test_what_is_found_and_what_is_proved_enclose_the_truth(pair: tuple[creases.Network, creases.Network]) -> None:
    for size in (0.001, 0.1, 1.0, 10.0):
        box = [(0.2 - size, 0.2 + size)] * 3
        exact, apart = difference_in_box(*pair, box), difference_in_box(*pair, box, max_regions=1)
        assert (apart.regions is None) == (exact.regions.partition.count > 1)
        assert (apart.lower <= exact.lower * (1 + 1e-9)).all()
        assert (apart.lower >= 0.9 * exact.lower).all()
        assert (apart.upper >= exact.lower * (1 - 1e-9)).all()
        reached = np.abs(pair[0](apart.where) - pair[1](apart.where))
        np.testing.assert_allclose(np.diag(reached), apart.lower, rtol=1e-12)


def test_what_is_proved_is_the_same_both_ways_round() -> None:
    a, b, box = mlp(0, inputs=6), mlp(1, inputs=6, widths=(9,)), [(-1, 1)] * 6
    np.testing.assert_allclose(difference_in_box(a, b, box).upper, difference_in_box(b, a, box).upper, rtol=1e-9)


def test_bounds_are_exact_where_no_unit_changes_side() -> None:
    a, b = mlp(0, inputs=6), mlp(1, inputs=6, widths=(9,))
    x = np.full(6, 0.3)
    radius = 0.5 * min(creases.cell(net, x).crease_distance for net in (a, b)) / np.sqrt(6)
    found = difference_in_box(a, b, [(0.3 - radius, 0.3 + radius)] * 6)
    assert found.regions is None
    assert found.exact.all()
    corners = np.array(list(product(*[(0.3 - radius, 0.3 + radius)] * 6)))
    np.testing.assert_allclose(found.lower, np.abs(a(corners) - b(corners)).max(axis=0), rtol=1e-9)
    assert "(exact)" in str(found)


def test_dead_and_duplicate_units_and_no_units_at_all_are_ordinary() -> None:
    W, v = np.array([[1.0, 0.5], [1.0, 0.5], [0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 1.0, 3.0, 2.0]])
    a = creases.read([(W, [0.0, 0.0, -1.0, -5.0]), (v, [0.0])])  # 2 relu(x0 + x1 / 2)
    b = creases.read([([[1.0, 0.5]], [0.0]), ([[2.0]], [0.0])])
    flat = creases.read([([[0.0, 0.0]], [0.0])])
    assert difference(a, b, box=BOX2, through=[[-1, -1], [1, 1], [1, -1]]).empty
    found = difference_in_box(a, flat, BOX2)
    assert found.lower[0] == pytest.approx(3.0)
    assert found.where[0] == pytest.approx([1, 1])
    identity, linear = creases.Network([], (2,)), creases.read([(np.eye(2), [0.0, 0.25])])
    assert difference(identity, linear, grid(3), box=BOX2).box.lower.tolist() == [0.0, 0.25]


def test_outputs_that_tie_everywhere_go_to_the_first_of_both() -> None:
    tied = creases.read([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0], [1.0, 1.0]], [0.0, 0.0])])
    found = difference_on_plane(tied, tied, BOX2)
    assert found.empty
    assert set(found.class_a) == {0}


def test_float32_and_float64_networks_can_be_compared() -> None:
    a = mlp(0)
    found = difference(a.to(torch.float32), a, grid(5), box=BOX2)
    assert 0 < found.box.lower.max() < 1e-6


def test_torch_modules_and_files_are_compared_as_networks(tmp_path) -> None:
    a, module = mlp(0), nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 3)).double()
    b = creases.read(module)
    expected = difference(a, b, grid(5), through=[[0, 0], [1, 1]])
    for first, second in ((a, module), (a.save(tmp_path / "a.safetensors"), module)):
        found = difference(first, second, grid(5), through=[[0, 0], [1, 1]])
        assert np.array_equal(found.samples.largest, expected.samples.largest)
        assert np.array_equal(found.line.sizes, expected.line.sizes)


def test_no_samples_have_no_difference() -> None:
    found = difference(mlp(0), mlp(1), np.zeros((0, 2))).samples
    assert np.isnan(found.share)
    assert found.where.tolist() == [-1] * 3
    assert found.confusion().tolist() == [[0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: difference(mlp(0), mlp(0, inputs=3), [[0.0, 0.0]]),
            r"b must have 2 inputs .* as the first network, got 3",
        ),
        (
            lambda: difference(mlp(0), mlp(0, outputs=2), [[0.0, 0.0]]),
            r"b must have 3 outputs, as the first network, got 2; compare hidden layers",
        ),
        (lambda: difference(mlp(0), mlp(1)), r"X must be given, or through or box"),
        (lambda: difference(mlp(0), mlp(1), box=BOX2, y=[1]), r"y must come with samples"),
        (lambda: difference(mlp(0), mlp(1), through=[[0, 0]]), r"through must be two points .* got 1"),
        (lambda: difference(mlp(0), mlp(1), [[0.0, np.nan]]), r"X must be finite, got NaN"),
        (lambda: difference(mlp(0), mlp(1), [0.0, 0.0]), r"X must be a batch"),
        (lambda: difference(mlp(0), mlp(1), grid(2), y=[1, 2]), r"y must be 4 whole class numbers"),
        (lambda: difference(mlp(0), mlp(1), grid(2)).samples.newly_correct(), r"y must be known; give difference"),
        (lambda: difference(mlp(0), mlp(1), box=[(-1, 1)]), r"box must be \(lo, hi\), or 2 pairs"),
        (
            lambda: difference_in_box(mlp(0, 4), mlp(1, 4), [(0, 1)] * 4, start=[[np.inf] * 4]),
            r"start must be finite, got NaN",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_advice(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.integers(1, 3).flatmap(lambda n: st.tuples(cases(n, max_depth=2), cases(n, max_depth=2))))
def test_degenerate_networks_are_compared_as_points_of_the_box_say(pair: tuple[Case, Case]) -> None:
    a, b = pair[0].net, pair[1].net
    assume(a.n_out == b.n_out)
    box = np.array(pair[0].box)
    assert difference(a, a, box=box).empty
    found = difference_in_box(a, b, box)
    x = np.random.default_rng(0).uniform(*box.T, size=(300, a.n_in))
    values = [a(x), b(x)]
    slack = 1e-9 * (np.abs(values).max() + found.lower)
    assert (found.lower >= np.abs(values[0] - values[1]).max(axis=0) - slack).all()
    assert found.regions.sizes.sum() == pytest.approx(np.prod(np.ptp(box, axis=1)))
    region = found.regions.partition.locate(x)
    for v, classes in zip(values, (found.regions.class_a, found.regions.class_b), strict=True):
        ranked = np.sort(v, axis=1) if a.n_out > 1 else np.column_stack([np.zeros(len(v)), np.abs(v)])
        clear = ranked[:, -1] - ranked[:, -2] > slack.max()  # else the outputs tie, but for rounding
        own = v.argmax(axis=1) if a.n_out > 1 else v[:, 0] > 0
        np.testing.assert_array_equal(classes[region[clear]], own[clear])
    apart = difference_in_box(a, b, box, max_regions=1)
    assert (apart.lower <= found.lower + slack).all()
    assert (apart.upper >= found.lower - slack).all()
