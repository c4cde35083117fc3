"""Breakpoints of deep networks against exact fractions, enumerated paths and known functions."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import nn

import creases
from creases import splines
from creases.errors import InputError
from reference import exact_intervals
from strategies import Case, cases


def one_output(case: Case) -> list[tuple[np.ndarray, np.ndarray]]:
    W, b = case.layers[-1]
    return [*case.layers[:-1], (W[:1], b[:1])]


def open_path(layers: list, leak: float, sides: list[np.ndarray], layer: int, unit: int) -> bool:
    """Whether some path from a unit to the output has weights that are not zero and units that are on."""
    later = [range(len(b)) for _, b in layers[layer + 1 : -1]]
    for units in product(*later):
        path = [unit, *units, 0]
        edges = all(layers[layer + 1 + k][0][j, i] != 0 for k, (i, j) in enumerate(pairwise(path)))
        if edges and all(leak != 0 or sides[layer + 1 + k][u] for k, u in enumerate(units)):
            return True
    return False


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(cases(1, max_width=5))
def test_breakpoints_units_and_open_paths_are_those_of_exact_fractions(case: Case) -> None:
    layers = one_output(case)
    ((lo, hi),) = case.box
    ends, sides = exact_intervals(layers, np.array([lo]), np.array([hi]), leak=case.leak)
    starts = np.cumsum([0, *(len(b) for _, b in layers[:-1])])
    expected = []
    for k, (before, after) in enumerate(pairwise(sides)):
        for u in np.flatnonzero(before != after):
            layer = int(np.searchsorted(starts, u, side="right")) - 1
            direction = 1 if after[u] else -1
            on = np.split(after if after[u] else before, starts[1:-1])
            active = open_path(layers, case.leak, on, layer, int(u) - starts[layer])
            expected.append((lo + (hi - lo) * float(ends[k + 1]), layer, u - starts[layer], direction, active))
    found = splines.deep_breakpoints(creases.read(layers, leak=case.leak))
    slack = 1e-9 * (hi - lo)
    inside = (found.x > lo + slack) & (found.x < hi - slack)
    expected = [row for row in expected if lo + slack < row[0] < hi - slack]
    rows = zip(*(a[inside] for a in (found.x, found.layer, found.unit, found.direction, found.active)), strict=True)
    assert sorted(row[1:] for row in rows) == sorted(row[1:] for row in expected)
    np.testing.assert_allclose(found.x[inside], sorted(row[0] for row in expected), atol=slack)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(cases(1))
def test_jumps_of_coinciding_units_add_up_to_the_change_of_slope(case: Case) -> None:
    net = creases.read(one_output(case), leak=case.leak)
    found = splines.deep_breakpoints(net)
    total = np.bincount(np.searchsorted(found.pieces.knots, found.x), found.jump, minlength=len(found.pieces.knots))
    scale = 1e-12 * (np.abs(found.pieces.slopes).max() + np.abs(found.jump).max(initial=0))
    np.testing.assert_allclose(total, found.pieces.jumps, atol=scale)
    assert not found.jump[~found.active & ~found.shared].any()


@pytest.mark.thorough
def test_three_hundred_networks_are_their_pieces_and_active_means_a_jump() -> None:
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(300):
        widths = [1, *rng.integers(1, 8, rng.integers(1, 5)), 1]
        layers = [(rng.normal(size=(b, a)) / np.sqrt(a), rng.normal(size=b) / 2) for a, b in pairwise(widths)]
        net = creases.read(layers, leak=rng.choice([0.0, 0.1]))
        found = splines.deep_breakpoints(net)
        x = np.concatenate([rng.normal(size=200) * 3, found.x])
        f = net(x[:, None])[:, 0]
        assert np.abs(found.pieces(x) - f).max() <= 2e-14 * np.abs(f).max()
        alone = ~found.shared
        np.testing.assert_array_equal(found.active[alone], found.jump[alone] != 0)
        seen += alone.sum()
    assert seen > 2000


def tent(depth: int) -> list[tuple[list, list]]:
    """The tent map on [0, 1], composed with itself."""
    first, inner = ([[1.0], [1.0]], [0.0, -0.5]), ([[2.0, -4.0], [2.0, -4.0]], [0.0, -0.5])
    return [first, *[inner] * (depth - 1), ([[2.0, -4.0]], [0.0])]


@pytest.mark.parametrize("depth", [1, 2, 5, 10])
def test_the_tent_map_has_two_to_the_depth_pieces(depth: int) -> None:
    found = splines.deep_breakpoints(tent(depth))
    inner = (found.pieces.knots > 0) & (found.pieces.knots < 1)
    np.testing.assert_array_equal(found.pieces.knots[inner], np.arange(1, 2**depth) / 2**depth)
    np.testing.assert_array_equal(np.abs(found.pieces.jumps[inner]), 2.0 ** (depth + 1))
    assert found.bent[inner].all()


def test_duplicates_that_cancel_are_both_active_and_bend_nothing() -> None:
    found = splines.deep_breakpoints([([[1.0], [1.0]], [-1.0, -1.0]), ([[3.0, -3.0]], [0.5])])
    assert found.active.all()
    assert found.shared.all()
    np.testing.assert_array_equal(found.jump, [3, -3])
    assert (found.count, found.pieces.count) == (1, 2)


def test_a_unit_behind_units_that_are_off_is_not_active() -> None:
    layers = [([[1.0]], [0.0]), ([[-1.0]], [-1.0]), ([[1.0]], [0.0])]  # relu(-relu(x) - 1) = 0
    found = splines.deep_breakpoints(layers)
    assert found.active.tolist() == [False]
    assert found.count == 1


def test_of_layers_that_break_at_one_place_both_are_active() -> None:
    found = splines.deep_breakpoints([([[1.0]], [0.0]), ([[2.0]], [0.0]), ([[1.0]], [0.0])])  # relu(2 relu(x))
    assert found.x.tolist() == [0, 0]
    assert found.active.tolist() == [True, True]
    assert found.jump.tolist() == [0, 2]
    assert found.count == 2


def test_whole_intervals_of_zero_are_reported_and_are_no_breakpoints() -> None:
    layers = [([[1.0], [-1.0], [0.0]], [-1.0, -1.0, 0.0]), ([[1.0, 1.0, 0.0]], [0.0]), ([[1.0]], [0.0])]
    found = splines.deep_breakpoints(layers)  # relu(relu(x - 1) + relu(-x - 1)): zero on [-1, 1]
    zeros = [tuple(float(a) for a in row) for row in zip(*found.zeros, strict=True)]
    assert zeros == [(0, 2, -np.inf, np.inf), (1, 0, -1, 1)]
    second = found.layer == 1
    assert found.x[second].tolist() == [-1, 1]
    assert found.direction[second].tolist() == [-1, 1]


def test_where_a_unit_only_touches_zero_it_has_no_breakpoint() -> None:
    found = splines.deep_breakpoints([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])  # |x|
    assert found.layer.tolist() == [0, 0]
    assert found.count == 2


def test_a_shallow_network_has_the_breakpoints_of_its_spline() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 30), nn.LeakyReLU(0.1), nn.Linear(30, 1))
    form, found = splines.to_spline(splines.from_module(model)), splines.deep_breakpoints(model)
    order = np.argsort(form.beta)
    np.testing.assert_allclose(found.x, form.beta[order], rtol=1e-13)
    np.testing.assert_allclose(found.jump, form.jumps[order], rtol=1e-13)
    np.testing.assert_array_equal(found.unit, order)
    np.testing.assert_array_equal(found.direction, form.s[order])
    assert found.active.all()
    assert found.count == 31


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.first, self.second, self.leave = (nn.Linear(*n) for n in ((1, 4), (4, 4), (4, 4), (4, 1)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.enter(x)
        h = h + torch.relu(self.first(h))
        h = h + torch.nn.functional.hardtanh(self.second(h))
        return self.leave(h)


def test_paths_around_bends_are_followed() -> None:
    torch.manual_seed(3)
    model = Residual().double()
    found = splines.deep_breakpoints(model)
    x = np.linspace(-20, 20, 2001)
    f = model(torch.from_numpy(x)[:, None])[:, 0].detach().numpy()
    np.testing.assert_allclose(found.pieces(x), f, atol=1e-13)
    total = np.bincount(np.searchsorted(found.pieces.knots, found.x), found.jump)
    np.testing.assert_allclose(total, found.pieces.jumps, atol=1e-13)
    assert found.active.all()


def test_an_affine_model_has_no_breakpoints() -> None:
    found = splines.deep_breakpoints(nn.Linear(1, 1))
    assert (len(found.x), found.count, len(found.zeros.unit)) == (0, 1, 0)


def test_slopes_that_leak_one_bend_nothing() -> None:
    model = nn.Sequential(nn.Linear(1, 2), nn.PReLU(2), nn.Linear(2, 1))
    with torch.no_grad():
        model[1].weight.copy_(torch.tensor([1.0, 0.5]))
    found = splines.deep_breakpoints(model)
    assert found.active[found.unit == 0].tolist() == [False]
    assert found.count == 2


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Linear(2, 1), "model must have one input and one output, got 2 and 1"),
        (nn.Sequential(nn.Linear(1, 4), nn.Unflatten(1, (1, 4)), nn.MaxPool1d(4), nn.Flatten()), "use creases.line"),
    ],
)
def test_other_models_are_refused_by_name(model: nn.Module, message: str) -> None:
    with pytest.raises(InputError, match=message):
        splines.deep_breakpoints(model)
