"""Lines against exact fractions, dense sampling and the network itself."""

from __future__ import annotations

import itertools
from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import creases
from conformance import check_line
from creases.errors import FileError, InputError
from creases.network._network import Network
from creases.network._reading.arrays import from_arrays
from creases.regions import lines
from creases.regions._line.line import LinePartition, line
from reference import exact_intervals
from strategies import Case, cases


def random_net(*widths: int, seed: int = 0, leak: float = 0.0) -> Network:
    rng = np.random.default_rng(seed)
    pairs = itertools.pairwise(widths)
    return from_arrays([(rng.normal(size=(b, a)) / np.sqrt(a), rng.normal(size=b) / 2) for a, b in pairs], leak=leak)


class Pooled(nn.Module):
    """Convolutions, batch-norm, a residual sum, max-pool."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Linear(36, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.norm(self.first(x)))
        h = self.pool(torch.relu(h + self.second(h)))
        return self.last(h.flatten(1))


def pooled() -> Network:
    torch.manual_seed(0)
    model = Pooled().double().eval()
    with torch.no_grad():
        model.norm.running_mean.normal_()
        model.norm.running_var.uniform_(0.5, 2)
    return creases.read(model, (1, 6, 6))


def ends_of(net: Network, seed: int = 1, scale: float = 3.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(2, net.n_in)) * scale


def check_against_samples(net: Network, part: LinePartition, t: np.ndarray) -> None:
    """It conforms, and has the network's classes at parameters t, none of them very close to a breakpoint."""
    check_line(part, np.random.default_rng(0), points=len(t))
    f = net(part.points(t)).reshape(len(t), -1)
    found = part.classes()
    label = f.argmax(axis=1) if f.shape[1] > 1 else (f[:, 0] > 0).astype(int)
    np.testing.assert_array_equal(found.classes[np.searchsorted(found.ends[1:-1], t)], label)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(cases(), st.integers(0, 2**31))
def test_breakpoints_and_patterns_are_those_of_exact_fractions(case: Case, seed: int) -> None:
    lo, hi = np.array(case.box).T
    a, b = lo + (hi - lo) * np.random.default_rng(seed).integers(0, 9, size=(2, len(lo))) / 8
    if (a == b).all():
        b = hi + (hi - lo)
    net = from_arrays(case.layers, leak=case.leak)
    ends, sides = exact_intervals(case.layers, a, b, leak=case.leak)
    part = line(net, a, b)
    np.testing.assert_array_equal(net.unpack(part.patterns), sides)
    np.testing.assert_allclose(part.breakpoints, [float(end) for end in ends[1:-1]], atol=1e-9)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(cases())
def test_a_segment_has_the_breakpoints_of_its_whole_line(case: Case) -> None:
    lo, hi = np.array(case.box).T
    net = from_arrays(case.layers, leak=case.leak)
    segment, whole = line(net, lo, hi).breakpoints, line(net, lo, hi, infinite=True).breakpoints
    inside = [t[(t > 1e-9) & (t < 1 - 1e-9)] for t in (segment, whole)]
    np.testing.assert_allclose(inside[0], inside[1], atol=1e-9)


@pytest.mark.parametrize("infinite", [False, True])
@pytest.mark.parametrize("widths", [(2, 5, 4, 3), (1, 8, 8, 1), (6, 16, 16, 16, 4), (3, 2), (4, 64, 64, 10)])
@pytest.mark.parametrize("leak", [0.0, 0.2, -1.0])
def test_the_network_is_the_piece_of_the_interval(widths: tuple[int, ...], leak: float, infinite: bool) -> None:
    net = random_net(*widths, leak=leak)
    part = line(net, *ends_of(net), infinite=infinite)
    rng = np.random.default_rng(0)
    check_against_samples(net, part, rng.normal(size=500) * 10 if infinite else rng.random(500))


@pytest.mark.parametrize("infinite", [False, True])
def test_convolutions_pooling_and_residuals_are_exact(infinite: bool) -> None:
    net = pooled()
    part = line(net, *ends_of(net), infinite=infinite)
    rng = np.random.default_rng(0)
    check_against_samples(net, part, rng.normal(size=2000) * 3 if infinite else rng.random(2000))
    assert part.count > 50


def test_maximum_of_many_lines_is_their_envelope() -> None:
    class Largest(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lines = nn.Linear(1, 12)
            self.pool = nn.MaxPool1d(12)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.pool(self.lines(x)[:, None])[:, 0]

    torch.manual_seed(3)
    model = Largest().double()
    net = creases.read(model, (1,))
    part = line(net, [0.0], [1.0], infinite=True)
    slopes = part.pieces().J[:, 0, 0]
    assert (np.diff(slopes) > 0).all()  # convex
    weight = model.lines.weight.detach().numpy()[:, 0]
    assert slopes[0] == weight.min()
    assert slopes[-1] == weight.max()
    check_against_samples(net, part, np.random.default_rng(0).normal(size=2000) * 4)


def test_lines_that_meet_in_one_point_make_one_breakpoint() -> None:
    # max(-x, 0, x) by two relus and by a bend with a tie: at 0 all change at once
    net = from_arrays(
        [(np.array([[1.0], [-1.0], [3.0]]), np.zeros(3)), (np.ones((2, 3)), np.zeros(2)), (np.ones((1, 2)), [0])]
    )
    part = line(net, [-1.0], [1.0])
    assert part.breakpoints.tolist() == [0.5]
    assert part.units(0).tolist() == [0, 1, 2]


def test_outputs_tie_on_the_boundary_and_the_class_changes() -> None:
    net = random_net(8, 64, 64, 20, seed=5)
    part = line(net, *ends_of(net), infinite=True)
    cut = part.boundary()
    assert len(cut.t) == 2
    f = net(part.points(cut.t))
    rows = np.arange(len(f))
    np.testing.assert_allclose(f[rows, cut.classes[:, 0]], f[rows, cut.classes[:, 1]], atol=1e-9)
    np.testing.assert_allclose(f[rows, cut.classes[:, 0]], f.max(axis=1), atol=1e-9)
    np.testing.assert_array_equal(cut.regions, part.locate(cut.t - 1e-10))
    np.testing.assert_array_equal(cut.classes[1:, 0], cut.classes[:-1, 1])


def test_a_tie_all_along_is_decided_for_the_first() -> None:
    net = from_arrays([(np.ones((3, 1)), np.zeros(3))])
    assert line(net, [-1.0], [1.0]).classes().classes.tolist() == [0]
    assert len(line(net, [-1.0], [1.0], infinite=True).boundary().t) == 0


def test_one_output_decides_by_its_sign_and_zero_is_class_0() -> None:
    net = from_arrays([(np.array([[1.0]]), np.zeros(1)), (np.array([[1.0]]), np.zeros(1))])  # relu(x)
    found = line(net, [-1.0], [1.0]).classes()
    assert found.classes.tolist() == [0, 1]
    assert found.ends.tolist() == [0.0, 0.5, 1.0]


def test_a_unit_that_is_zero_all_along_makes_no_breakpoint() -> None:
    # the second layer's unit is 0.3 h - 0.1 (3 h), zero but for rounding, and a third layer looks at it
    W = np.array([[0.7], [2.1]])
    net = from_arrays([(W, [0.1, 0.3]), ([[0.3, -0.1]], [0.0]), ([[1.0]], [0.0]), ([[1.0]], [0.0])])
    part = line(net, [-1.0], [1.0])
    assert part.count == 2
    assert part.units(0).tolist() == [0, 1]


def test_affine_networks_have_one_region_and_no_breakpoint() -> None:
    net = random_net(3, 2)
    part = line(net, *ends_of(net), infinite=True)
    assert part.count == 1
    assert part.patterns.shape == (1, 0)
    assert part.ends.tolist() == [-np.inf, np.inf]


def test_stretches_that_fit_in_memory_give_the_same_line(monkeypatch: pytest.MonkeyPatch) -> None:
    net = pooled()
    a, b = ends_of(net)
    whole = [line(net, a, b, infinite=infinite) for infinite in (False, True)]
    monkeypatch.setattr("creases.regions._line.line.memory_limit", lambda: 1)  # the least: 64 knots at a time
    for one in whole:
        other = line(net, a, b, infinite=one.infinite)
        np.testing.assert_allclose(other.breakpoints, one.breakpoints, rtol=1e-12)
        np.testing.assert_array_equal(other.patterns, one.patterns)
        np.testing.assert_array_equal(other.unit_ids, one.unit_ids)


def test_float32_networks_are_cut_in_float64() -> None:
    net = random_net(3, 10, 10, 2)
    part = line(net.to(torch.float32), *ends_of(net))
    assert part.net.dtype == torch.float64


def test_locate_gives_minus_one_outside_the_segment() -> None:
    part = line(random_net(2, 6, 1), [0.0, 0.0], [1.0, 1.0])
    assert part.locate([-0.1, 0.0, 1.0, 1.1]).tolist() == [-1, 0, part.count - 1, -1]


def test_a_saved_line_comes_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    net = pooled()
    part = line(net, *ends_of(net), infinite=True)
    back = LinePartition.load(part.save(tmp_path / "line.npz"))
    assert back.infinite
    for name in ("a", "b", "breakpoints", "unit_ids", "unit_starts", "patterns", "values"):
        np.testing.assert_array_equal(getattr(back, name), getattr(part, name))
    np.testing.assert_array_equal(back.pieces().J, part.pieces().J)


def test_files_that_are_no_line_are_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FileError, match="no such file"):
        LinePartition.load(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("not an archive")
    with pytest.raises(FileError, match=r"not an \.npz file"):
        LinePartition.load(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", x=np.zeros(1))
    with pytest.raises(FileError, match="expected a saved LinePartition"):
        LinePartition.load(tmp_path / "other.npz")


def test_bad_points_are_named() -> None:
    net = random_net(2, 3, 1)
    with pytest.raises(InputError, match="b must differ from a, got the same point"):
        line(net, [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(InputError, match=r"a must have shape \(2,\)"):
        line(net, [1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(InputError, match="b must be finite, got nan at index 1"):
        line(net, [1.0, 2.0], [1.0, np.nan])
    with pytest.raises(InputError, match="a must be one point"):
        line(net, np.zeros((3, 2)), [1.0, 2.0])
    with pytest.raises(InputError, match="t must have shape \\(n,\\) and no NaN"):
        line(net, [0.0, 0.0], [1.0, 2.0]).locate(np.zeros((2, 2)))


@pytest.mark.parametrize("power", [20, 25, 30])
def test_values_far_out_on_a_whole_line_are_the_network_s(power: int) -> None:
    far = 2.0**power
    net = from_arrays([([[1.0]], [0.0]), ([[1.0]], [-far]), ([[1.0], [1.0]], [-0.5, -1]), ([[1.0, 1.0]], [0.0])])
    found = line(net, [0.0], [1.0], infinite=True)
    assert found.breakpoints.tolist() == [0, far, far + 0.5, far + 1]
    assert found.values.ravel().tolist() == [0, 0, 0, 0.5]


def test_an_output_that_cancels_has_no_boundary() -> None:
    """f = w . relu(Ax) - w . relu(Ax), summed in another order: zero but for rounding."""
    rng = np.random.default_rng(0)
    A, w = rng.normal(size=(20, 3)), rng.normal(size=20)
    net = from_arrays([(np.vstack([A, A[::-1]]), np.zeros(40)), (np.append(w, -w[::-1])[None], np.zeros(1))])
    found = line(net, -np.ones(3), np.array([1.0, 0.3, 0.7]))
    assert found.count > 5
    assert len(found.boundary().t) == 0


# Many segments at once are each what ``line`` gives alone.


lines_module = import_module("creases.regions._line.line")


def random_layers(rng, sizes):
    return [(rng.normal(size=(b, a)), rng.normal(size=b)) for a, b in itertools.pairwise(sizes)]


@pytest.mark.parametrize("sizes", [(3, 5, 2), (3, 4, 4, 1), (3, 1, 1), (3, 2)])
def test_each_segment_has_the_breakpoints_and_values_of_its_line(sizes):
    rng = np.random.default_rng(1)
    net = creases.read(random_layers(rng, sizes))
    A, B = rng.normal(size=(2, 301, 3))  # more than a chunk, an odd number
    curves = lines(net, A, B)
    assert len(curves) == 301
    assert (np.diff(curves.t)[np.diff(curves.segment) == 0] > 0).all()
    for i in (0, 1, 255, 256, 300):
        knots = slice(curves.starts[i], curves.starts[i + 1])
        alone = creases.line(net, A[i], B[i])
        np.testing.assert_allclose(curves.t[knots], alone.ends, atol=1e-12)
        t = np.linspace(0, 1, 101)
        along = np.stack([np.interp(t, curves.t[knots], column) for column in curves.values[knots].T], axis=1)
        np.testing.assert_allclose(along, net(alone.points(t)), atol=1e-11)


def test_other_bends_dead_units_and_segments_of_length_zero():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.1), nn.Linear(4, 3), nn.ReLU6(), nn.Linear(3, 1))
    with torch.no_grad():
        model[0].weight[1] = 0.0
        model[0].weight[3], model[0].bias[3] = model[0].weight[2], model[0].bias[2]
        model[2].weight.mul_(8.0)
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(2, 40, 2)) * 3
    B[7] = A[7]
    A[8], B[8] = A[6], B[6]
    curves, net = lines(model, A, B), creases.read(model)
    assert curves.starts[8] - curves.starts[7] == 2
    for i in set(range(40)) - {7}:
        knots = slice(curves.starts[i], curves.starts[i + 1])
        alone = creases.line(net, A[i], B[i])
        np.testing.assert_allclose(curves.t[knots], alone.ends, atol=1e-10)


def test_no_segments_and_wrong_ends():
    net = creases.read([([[1.0]], [0.0]), ([[1.0]], [0.0])])
    curves = lines(net, np.zeros((0, 1)), np.zeros((0, 1)))
    assert len(curves) == 0
    assert curves.values.shape == (0, 1)
    with pytest.raises(InputError, match="B must have 1 row"):
        lines(net, [[0.0]], [[0.0], [1.0]])
    with pytest.raises(InputError, match="A must be finite"):
        lines(net, [[np.nan]], [[0.0]])


def test_between_segments_nothing_is_computed(monkeypatch):
    rng = np.random.default_rng(0)
    net = creases.read(random_layers(rng, (3, 8, 8, 1)))
    A = rng.normal(size=(20, 3))
    knots = []
    trace = lines_module.trace
    monkeypatch.setattr(lines_module, "trace", lambda *args: knots.append(trace(*args)) or knots[-1])
    assert len(lines(net, A, A + 1e-9).t) == len(knots[0][0]) == 40  # short segments, far from each other


def test_progress_tells_the_segments_and_can_end_the_work():
    rng = np.random.default_rng(0)
    net = creases.read(random_layers(rng, (3, 4, 1)))
    A, B = rng.normal(size=(2, 600, 3))
    calls = []
    lines(net, A, B, progress=lambda *call: calls.append(call))
    assert calls == [("following segments", done, 600) for done in (256, 512, 600)]

    def interrupt(what, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lines(net, A, B, progress=interrupt)
