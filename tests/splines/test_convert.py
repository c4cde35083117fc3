"""Conversions between modules, splines and pieces, against exact fractions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from creases import splines
from creases.errors import InputError
from creases.splines import Shallow, Spline
from creases.splines._spline import Pieces
from spline_networks import exact, inputs, shallow_networks, terms

TOLERANCE = 1e-13  # relative to the terms of the network


def agrees(found: np.ndarray, f: Shallow, x: np.ndarray, more: float = 0.0) -> None:
    """Equal up to rounding of the network's terms and of a term that a conversion adds."""
    np.testing.assert_array_less(np.abs(found - exact(f, x)), TOLERANCE * (terms(f, x) + more) + 1e-290)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(shallow_networks())
def test_spline_and_pieces_are_the_network(f: Shallow) -> None:
    x = inputs(f)
    form = splines.to_spline(f)
    agrees(form(x), f, x)
    agrees(form.pieces()(x), f, x)
    agrees(form.pieces().spline()(x), f, x)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(shallow_networks(), st.sampled_from(["unit", "balanced"]), st.booleans(), st.booleans())
def test_networks_of_a_spline_are_the_function_in_every_gauge(f: Shallow, gauge: str, skip: bool, pieces: bool) -> None:
    form = splines.to_spline(f)
    source = form.pieces() if pieces else form
    found = splines.to_shallow(source, gauge, skip=skip)
    knots = form.width if source is form else len(source.knots)
    linear = source.o1 if source is form else source.spline().o1
    x, split = inputs(f), 0.0 if skip or not knots else abs(linear) * np.abs(form.beta).min()
    agrees(found(x), f, x, split)
    assert found.width == knots + (0 if skip or linear == 0 else 2 if knots == 0 else 1)
    assert skip or found.c1 == 0
    if gauge == "unit":
        np.testing.assert_array_equal(np.abs(found.w), 1)
    if gauge == "balanced":
        np.testing.assert_allclose(found.w**2 + found.b**2, found.v**2, rtol=1e-12, atol=1e-300)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(shallow_networks())
def test_a_module_gives_its_weights_back_to_the_bit(f: Shallow) -> None:
    back = splines.from_module(splines.to_module(f))
    if (f.leak == 1).all():  # no bend: affine
        assert back.width == 0
        x = inputs(f)
        agrees(back(x), f, x)
        return
    for name in ("w", "b", "v", "leak"):
        np.testing.assert_array_equal(getattr(back, name), getattr(f, name))
    assert (back.c0, back.c1) == (f.c0, f.c1)


def test_two_hundred_random_networks_survive_the_round_trip_to_2e_14() -> None:
    rng = np.random.default_rng(0)
    for width in range(200):
        f = Shallow(*rng.normal(size=(3, width)), *rng.normal(size=2))
        x = rng.normal(size=300) * 3
        back = splines.to_shallow(splines.to_spline(f).pieces(), skip=False)
        assert np.abs(back(x) - f(x)).max() <= 2e-14 * np.abs(f(x)).max()


def test_the_jump_is_the_difference_of_neighbouring_slopes() -> None:
    f = Shallow([2, -3, 0.5], [1, 1, 1], [-1, 4, 2], 0.3, -0.2, leak=0.25)
    form = splines.to_spline(f)
    np.testing.assert_allclose(form.jumps, 0.75 * np.abs(f.w) * f.v)
    order = np.argsort(form.beta)
    np.testing.assert_allclose(np.diff(form.pieces().slopes), form.jumps[order], rtol=1e-14)


def test_pieces_follow_the_recurrence_of_slopes_and_offsets() -> None:
    rng = np.random.default_rng(1)
    form = Spline(0.3, -0.7, rng.normal(size=9), rng.normal(size=9), rng.choice([-1, 1], 9))
    order = np.argsort(form.beta)
    m, g = [form.o1 + form.mu[form.s < 0].sum()], [form.o0 - (form.mu * form.beta)[form.s < 0].sum()]
    for i in order:
        m.append(m[-1] + form.jumps[i])
        g.append(g[-1] - form.jumps[i] * form.beta[i])
    pieces = form.pieces()
    np.testing.assert_allclose(pieces.slopes, m, atol=1e-14)
    np.testing.assert_allclose(pieces.offsets, g, atol=1e-14)


def test_equal_breakpoints_are_one_knot_and_opposite_ones_may_cancel() -> None:
    form = Spline(0, 0, [1, 1, 2, 1], [1, 2, 0, -3], [1, 1, -1, 1])
    np.testing.assert_array_equal(form.pieces().knots, [1, 2])
    np.testing.assert_array_equal(form.pieces().slopes, [0, 0, 0])


def test_an_affine_function_without_skip_takes_two_units() -> None:
    line = Pieces([], [2.0], [3.0])
    assert splines.to_shallow(line).width == 0
    two = splines.to_shallow(line, skip=False)
    assert two.width == 2
    np.testing.assert_array_equal(two([-5.0, 0.0, 7.0]), [-7.0, 3.0, 17.0])
    assert splines.to_shallow(Pieces([], [0.0], [3.0]), skip=False).width == 0


@pytest.mark.slow
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True), st.integers(0, 2**31))
def test_pieces_go_through_given_values_with_given_ends(knots: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = np.sort(np.array(knots, float)), rng.normal(size=len(knots))
    f = Pieces.through(x, y, -1.5, 2.5)
    np.testing.assert_allclose(f(x), y, atol=1e-13)
    np.testing.assert_allclose(f([x[0] - 2, x[-1] + 2]), [y[0] + 3, y[-1] + 5], atol=1e-12)
    between = np.linspace(x[0], x[-1], 50)
    np.testing.assert_allclose(f(between), np.interp(between, x, y), atol=1e-12)


class Odd(nn.Module):
    """A skip, two parallel bends and layers that are not in a row."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.out = nn.Linear(1, 3), nn.Linear(1, 2), nn.Linear(5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.cat([nn.functional.hardtanh(self.left(x)), self.right(x).abs()], dim=1)
        return 2 * self.out(h) - x + 0.5


def test_any_module_with_one_level_of_bends_is_read() -> None:
    torch.manual_seed(0)
    model = Odd().double()
    f = splines.from_module(model)
    assert f.width == 8  # two for each clamp
    x = torch.linspace(-4, 4, 101, dtype=torch.float64)
    np.testing.assert_allclose(f(x), model(x[:, None])[:, 0].detach(), atol=1e-14)


def test_wide_networks_are_read_in_little_memory_and_without_gradients() -> None:
    with torch.no_grad():
        model = nn.Sequential(nn.Linear(1, 100_000), nn.ReLU(), nn.Linear(100_000, 1))
        found = splines.from_module(model)
        np.testing.assert_array_equal(found.v, model[2].weight[0].double().numpy())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.bfloat16])
def test_weights_of_low_precision_are_read_as_they_are(dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 1)).to(dtype)
    np.testing.assert_array_equal(splines.from_module(model).w, model[0].weight[:, 0].double().detach())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), "model must have one input, got 2"),
        (lambda: nn.Sequential(nn.Linear(1, 3), nn.ReLU(), nn.Linear(3, 2)), "model must have one output, got 2"),
        (
            lambda: nn.Sequential(nn.Linear(1, 3), nn.ReLU(), nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)),
            "model must have one level of bends, got a bend after another one at 3.*splines.deep_breakpoints",
        ),
        (
            lambda: nn.Sequential(nn.Linear(1, 4), nn.Unflatten(1, (1, 4)), nn.MaxPool1d(4), nn.Flatten()),
            "model must have units that bend a single value, got a maximum of several at 2",
        ),
    ],
)
def test_other_models_are_refused_by_name(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        splines.from_module(make())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Shallow([1.0], [1.0, 2.0], [1.0]), r"b must have shape \(1,\), got \(2,\)"),
        (lambda: Shallow([np.nan], [1.0], [1.0]), "w must be finite, got nan"),
        (lambda: Shallow([1.0], [1.0], [1.0], c0="a"), "c0 must be a finite number, got 'a'"),
        (lambda: Spline(0, 0, [0.0], [1.0], [0.5]), r"s must be \+1 or -1, got 0.5"),
        (lambda: Spline([0, 1], 0, [0.0], [1.0], [1]), r"o0 must be a finite number, got \[0, 1\]"),
        (lambda: Pieces([1.0, 1.0], [0, 0, 0], [0, 0, 0]), "knots must be strictly increasing"),
        (lambda: Pieces.through([], [], 0, 0), "knots must be strictly increasing and have at least one entry"),
        (
            lambda: splines.to_spline(Shallow([1e200], [1.0], [1e200])),
            "shallow must have weights whose products fit into float64; scale the network down",
        ),
        (
            lambda: splines.to_shallow(Pieces([], [0.0], [0.0]), "flat"),
            "gauge must be 'unit' or 'balanced', got 'flat'",
        ),
        (lambda: splines.to_shallow(3), "spline must be a Spline or Pieces, got int"),
        (lambda: splines.to_module(Spline(0, 0, [], [], [])), "function must be Shallow or Hyperplanes, got Spline"),
    ],
)
def test_wrong_numbers_are_refused_by_name(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_nan_stays_nan_and_no_input_gives_no_value() -> None:
    f = Shallow([1.0], [0.0], [1.0])
    for form in (f, splines.to_spline(f), splines.to_spline(f).pieces()):
        assert np.isnan(form(np.nan))
        assert form(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_hyperplanes_of_several_inputs_survive_the_round_trip(d: int, leak: float) -> None:
    torch.manual_seed(d)
    model = nn.Sequential(nn.Linear(d, 7), nn.LeakyReLU(leak), nn.Linear(7, 1)).double()
    with torch.no_grad():
        model[0].weight[2] = 0.0
        model[0].weight[3] *= 1e-200
    planes = splines.to_hyperplanes(model)
    np.testing.assert_allclose(np.linalg.norm(planes.xi, axis=1), 1, rtol=1e-15)
    back = splines.to_module(planes)
    again = splines.to_hyperplanes(back)
    x = torch.randn(200, d, dtype=torch.float64) * 3
    f = model(x)[:, 0].detach().numpy()
    np.testing.assert_allclose(planes(x.numpy()), f, atol=1e-13)
    np.testing.assert_allclose(back(x)[:, 0].detach(), f, atol=1e-13)
    np.testing.assert_allclose(again.mu, planes.mu, rtol=1e-14)


def test_in_one_dimension_hyperplanes_are_the_spline_up_to_orientation() -> None:
    f = Shallow([2, -3], [1, 1], [-1, 4])
    form, planes = splines.to_spline(f), splines.to_hyperplanes(splines.to_module(f))
    np.testing.assert_allclose(planes.gamma, form.s * form.beta)
    np.testing.assert_allclose(planes.mu, form.jumps)
