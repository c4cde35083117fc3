"""Attributions against numerical integration, closed forms and completeness."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from creases.errors import InputError
from creases.explain import attributions
from creases.network import read
from strategies import cases


def integrate_numerically(model, x, start, weights, steps):
    """Integrated gradients as captum samples them: the midpoint rule with many steps, by torch's own gradients."""
    t = (torch.arange(steps, dtype=torch.float64) + 0.5) / steps
    points = (start + t[:, None] * (x - start)).requires_grad_()
    (gradient,) = torch.autograd.grad((model(points) @ weights).sum(), points)
    return ((x - start) * gradient.mean(dim=0)).numpy()


@pytest.fixture(scope="module")
def mlp():
    """A perceptron with a leaky bend, a clamp and a dead unit."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(
        torch.nn.Linear(5, 12), torch.nn.LeakyReLU(0.1), torch.nn.Linear(12, 8), torch.nn.ReLU6(), torch.nn.Linear(8, 3)
    ).double()
    with torch.no_grad():
        model[0].weight[4], model[0].bias[4] = 0.0, -1.0
    return model


def test_sampled_integrated_gradients_converge_to_the_exact_ones(mlp):
    x, start = torch.randn(2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 3
    weights = torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64)
    result = attributions(mlp, x, baseline=start, output=(0, 1))
    assert result.n_regions > 3
    errors = [
        np.abs(integrate_numerically(mlp, x, start, weights, n) - result.values).max() for n in (50, 1_000, 100_000)
    ]
    assert errors[2] < 1e-4 < errors[0]
    assert abs(result.completeness_error) < 1e-13


@pytest.mark.parametrize(("x", "start"), [(3.0, -1.0), (-2.0, 5.0), (1.0, 4.0), (0.0, -2.0), (0.0, 0.0)])
def test_the_absolute_value_has_its_closed_form(x, start):
    net = read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    assert attributions(net, [x], baseline=[start]).values == pytest.approx([abs(x) - abs(start)], abs=1e-15)


def test_a_sum_of_absolute_values_is_attributed_input_by_input():
    net = read([(np.vstack([np.eye(3), -np.eye(3)]), np.zeros(6)), (np.array([[1.0, 2, 3, 1, 2, 3]]), np.ones(1))])
    x, start = np.array([1.0, -2, 3]), np.array([-3.0, 1, -1])
    assert attributions(net, x, baseline=start).values == pytest.approx([1, 2, 3] * (np.abs(x) - np.abs(start)))


@settings(max_examples=40, deadline=None)
@given(cases(), st.integers(0, 2**32 - 1))
def test_attributions_add_up_on_degenerate_networks(case, seed):
    net, rng = case.net, np.random.default_rng(seed)
    lo, hi = np.array(case.box).T
    x, start = rng.uniform(lo, hi, (2, net.n_in))
    if seed % 3 == 0:
        x[0] = start[0]  # an input that does not change gets nothing
    if seed % 4 == 0:
        start = lo  # often along a crease
    result = attributions(net, x, baseline=start, output=seed % net.n_out)
    inner = np.linspace(0, 1, 9)[:, None]
    size = max(1e-300, np.abs(net(start + inner * (x - start))).max(), np.abs(result.values).max())
    for weight, bias in case.layers:  # terms that cancel in the output round like their size
        size = max(size, np.abs(bias).max(), np.abs(weight).max() * max(np.abs(case.box).max(), 1e-300))
    assert abs(result.completeness_error) <= 1e-9 * size
    assert (result.values[x == start] == 0).all()


def test_several_baselines_give_the_mean(mlp):
    rng = np.random.default_rng(0)
    x, starts = rng.normal(size=5), rng.normal(size=(3, 5))
    single = [attributions(mlp, x, baseline=start, output=2).values for start in starts]
    result = attributions(mlp, x, baseline=starts, output=[0, 0, 1])
    assert result.values == pytest.approx(np.mean(single, axis=0))
    assert abs(result.completeness_error) < 1e-13


def test_convolutions_and_pooling_are_attributed_pixel_by_pixel():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(12, 2)
    ).double()
    net = read(model, input_shape=(1, 6, 6))
    x = torch.rand(1, 6, 6, dtype=torch.float64)
    result = attributions(net, x)
    assert result.names[7] == "x[0, 1, 1]"
    assert abs(result.completeness_error) < 1e-13
    weights = torch.from_numpy(result.weights)
    shaped = lambda points: model(points.reshape(-1, 1, 6, 6))  # noqa: E731
    sampled = integrate_numerically(shaped, x.flatten(), torch.zeros(36, dtype=torch.float64), weights, 20_000)
    assert result.values == pytest.approx(sampled, abs=1e-3)


def test_a_network_without_bends_gives_coefficient_times_difference():
    result = attributions(read([([[2.0, -3.0]], [1.0])]), [1.0, 1.0], names=["a", "b"])
    assert result.values.tolist() == [2.0, -3.0]
    assert [result.names[j] for j in result.ranked] == ["b", "a"]
    frame = result.to_frame()
    assert frame.index.tolist() == ["b", "a"]
    assert frame.attribution.tolist() == [-3.0, 2.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": np.ones((2, 5))}, "x must be a single input"),
        ({"x": [1, 2, 3, 4, np.nan]}, "x must be finite"),
        ({"output": 3}, "output must be an integer from 0 to 2"),
        ({"names": ["a"]}, "names must have one entry for each of the 5 inputs"),
        ({"baseline": np.zeros((0, 5))}, "baseline must have at least one input"),
    ],
)
def test_wrong_arguments_are_named(mlp, options, message):
    with pytest.raises(InputError, match=message):
        attributions(mlp, **({"x": np.ones(5)} | options))
