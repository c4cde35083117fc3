"""Initialisation of torch modules, and the density of breakpoints that a target's curvature asks for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import nn

from creases import splines
from creases.errors import InputError
from creases.splines._initialise import curvature_quantiles
from creases_reproduction.splines import theory

X = np.linspace(-3, 3, 60)


def small(width: int = 40, inputs: int = 1, bend: nn.Module | None = None, seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(inputs, width), bend or nn.ReLU(), nn.Linear(width, 1))


def breakpoints(model: nn.Module) -> np.ndarray:
    return splines.to_spline(splines.from_module(model)).beta


class Skipped(nn.Module):
    """Layers in no order, and a skip."""

    def __init__(self) -> None:
        super().__init__()
        self.leave, self.enter, self.skip = nn.Linear(500, 1), nn.Linear(1, 500), nn.Linear(1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.leave(torch.relu(self.enter(x))) + self.skip(x)


@pytest.mark.parametrize("bend", [nn.ReLU(), nn.LeakyReLU(0.1), nn.PReLU(2000)])
def test_uniform_breakpoints_are_uniform_over_the_data(bend: nn.Module) -> None:
    model = small(2000, bend=bend)
    before = [p.detach().clone() for p in model.parameters()]
    splines.initialise(model, X + 10, "uniform", seed=1)
    assert stats.kstest(breakpoints(model), stats.uniform(7, 6).cdf).pvalue > 0.01
    for old, (name, new) in zip(before, model.named_parameters(), strict=True):
        assert torch.equal(old, new) == (name != "0.bias")


def test_any_module_with_one_hidden_layer_will_do() -> None:
    model = Skipped()
    splines.initialise(model, torch.tensor(X)[:, None], "uniform")
    assert np.abs(breakpoints(model)).max() <= 3
    assert stats.kstest(breakpoints(model), stats.uniform(-3, 6).cdf).pvalue > 0.01


def test_creases_of_several_inputs_meet_the_data() -> None:
    x = np.random.default_rng(0).normal([10, 0, -5], 1, (50, 3))
    model = small(400, inputs=3)
    splines.initialise(model, x, "uniform")
    planes = splines.to_hyperplanes(model)
    along = x @ planes.xi.T
    place = (planes.gamma - along.min(axis=0)) / np.ptp(along, axis=0)
    assert stats.kstest(place, "uniform").pvalue > 0.01


def test_breakpoints_by_curvature_have_its_density() -> None:
    model = small(2000)
    splines.initialise(model, X, "curvature", y=X**3)  # |f''|^(2/5) ~ |x|^(2/5): the cdf is like |x|^(7/5)
    beta = breakpoints(model)
    expected = 0.5 + np.sign(beta) * np.abs(beta / 3) ** 1.4 / 2
    # Evenly spread over quantiles, so closer than chance; what remains is the smoothing of the curvature.
    assert stats.kstest(expected, "uniform").statistic < 0.02


def test_spiky_multiplies_the_outgoing_weights() -> None:
    model = small()
    form = splines.to_spline(splines.from_module(model))
    splines.initialise(model, X, "spiky", kappa=7.0)
    spiky = splines.to_spline(splines.from_module(model))
    np.testing.assert_allclose(spiky.mu, 7 * form.mu, rtol=1e-6)
    np.testing.assert_array_equal(spiky.beta, form.beta)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["torch", "he", "glorot"])
def test_schemes_draw_from_their_distributions(how: str) -> None:
    x = X * 2
    networks = []
    for seed in range(20):
        model = small(1000).double()
        splines.initialise(model, x, how, seed=seed)
        networks.append(splines.from_module(model))
    sw = {"torch": None, "he": 2**0.5, "glorot": (2 / 1001) ** 0.5}[how]
    law = theory.initial_distribution(how, 1000, sb=None if sw is None else sw * float(np.sqrt((x**2).mean())))
    check = theory.goodness_of_fit(networks, law)
    assert min(fit.pvalue for fit in check[1:]) > 0.005


def test_seeds_repeat_and_torchs_generator_is_left_alone() -> None:
    first, second, third = small(), small(), small()
    state = torch.random.get_rng_state()
    splines.initialise(first, X, seed=3)
    splines.initialise(second, X, seed=3)
    splines.initialise(third, X, seed=4)
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.equal(first[0].bias, second[0].bias)
    assert not torch.equal(first[0].bias, third[0].bias)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_units_without_weights_get_a_breakpoint_too(dtype: torch.dtype) -> None:
    model = small(5).to(dtype)
    with torch.no_grad():
        model[0].weight[1:4] = 0
    splines.initialise(model, X, "uniform")
    assert len(breakpoints(model)) == 5
    assert np.abs(breakpoints(model)).max() < 3.01
    assert model[0].weight.dtype == dtype


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    st.integers(5, 300),
    st.sampled_from(["normal", "cauchy", "rounded", "clustered", "spaced"]),
    st.sampled_from(["sin", "line", "abs", "noise", "constant", "step"]),
    st.sampled_from([1.0, 1e-9, 1e9]),
    st.integers(0, 2**31),
)
def test_curvature_of_any_data_gives_places_within_their_range(
    n: int, places: str, target: str, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=n)
    x = {
        "normal": normal,
        "cauchy": rng.standard_cauchy(n),
        "rounded": np.round(normal, 1),
        "clustered": np.where(rng.random(n) < 0.5, 0, 5) + 1e-9 * normal,
        "spaced": np.linspace(0, 1, n),
    }[places]
    y = {
        "sin": np.sin(x),
        "line": 3 * x - 1,
        "abs": np.abs(x),
        "noise": rng.normal(size=n),
        "constant": np.ones(n),
        "step": np.sign(x),
    }[target]
    q = np.sort(rng.random(9))
    try:
        found = curvature_quantiles(x * scale, y * scale, q)
    except InputError as error:
        assert "at least 5 different values for 'curvature'" in str(error)  # noqa: PT017
        return
    assert (np.diff(found) >= 0).all()
    assert x.min() * scale <= found[0]
    assert found[-1] <= x.max() * scale * (1 + 1e-12) + 1e-300
    if target in ("line", "constant"):
        np.testing.assert_allclose(found, (x.min() + np.ptp(x) * q) * scale, rtol=1e-9, atol=1e-9 * np.ptp(x) * scale)


def test_curvature_is_found_in_noise() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 400)
    found = curvature_quantiles(x, np.sin(2 * x) + rng.normal(0, 0.2, 400), np.linspace(0, 1, 1001))
    counts, edges = np.histogram(found, np.linspace(-3, 3, 25))
    middle = (edges[1:] + edges[:-1]) / 2
    assert np.corrcoef(counts, np.abs(np.sin(2 * middle)) ** 0.4)[0, 1] > 0.7


def without_bias() -> nn.Module:
    return nn.Sequential(nn.Linear(1, 4, bias=False), nn.ReLU(), nn.Linear(4, 1))


@pytest.mark.parametrize(
    ("model", "x", "options", "message"),
    [
        (
            small(),
            X,
            {"method": "flat"},
            "method must be 'uniform', 'curvature', 'spiky', 'torch', 'he' or 'glorot', got 'flat'",
        ),
        (small(), X, {"method": "curvature"}, r"y must be the targets \(n,\) for 'curvature', got None"),
        (small(), X, {"method": "curvature", "y": X[:5]}, r"y must have shape \(60,\), got \(5,\)"),
        (small(), X, {"method": "curvature", "y": X * np.nan}, "y must be finite, got nan"),
        (
            small(),
            X[:4],
            {"method": "curvature", "y": X[:4] ** 2},
            "x must have at least 5 different values for 'curvature', got 4",
        ),
        (
            small(4, 2),
            np.eye(2),
            {"method": "curvature", "y": [1, 2]},
            "model must have one input for 'curvature', got 2",
        ),
        (small(4, 2), X, {}, r"x must have shape \(n, 2\) with n >= 1, got \(60,\)"),
        (small(), [], {}, r"x must have shape \(n, 1\) or \(n,\) with n >= 1"),
        (small(), [1.0, np.nan], {}, "x must be finite; remove NaN and infinite entries"),
        (small(), [1.0, 1.0], {}, "x must have at least two different values, got one"),
        (small(), X, {"method": "spiky", "kappa": np.inf}, "kappa must be a finite number, got inf"),
        (
            without_bias(),
            X,
            {},
            "model must have a bias in its first layer, got none in '0'; all breakpoints would be at 0",
        ),
        (nn.Linear(1, 1), X, {}, "model must have one hidden layer"),
        (
            nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1)).eval(),
            X,
            {},
            "nothing that changes values between them",
        ),
        (
            nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)),
            X,
            {},
            "got a bend after another one",
        ),
        (nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 2)), X, {}, "model must have one output, got 2"),
        ("model", X, {}, "model must be a torch.nn.Module, got str"),
    ],
)
def test_what_cannot_be_initialised_is_refused_by_name(model, x, options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        splines.initialise(model, x, **options)


def test_breakpoints_do_not_depend_on_weights_drawn_by_the_same_seed() -> None:
    model = small(4000)
    splines.initialise(model, X, "torch", seed=3)
    splines.initialise(model, X, "uniform", seed=3)
    net = splines.from_module(model)
    beta = -net.b / net.w
    assert abs(np.corrcoef(beta, np.abs(net.w))[0, 1]) < 0.06
    assert abs((beta < 0).mean() - 0.5) < 0.03
