import numpy as np
import pytest

from creases.errors import InputError
from creases.splines import Shallow
from creases_reproduction.splines.theory.flow import closed_flow, parameter_flow
from creases_reproduction.splines.theory.metric import invariants


def case(seed, leak=0.0, c1=0.0, H=6, N=12):
    rng = np.random.default_rng(seed)
    w, b, v = rng.normal(size=(3, H)) * [[1.0], [1.0], [0.5]]
    x = np.sort(rng.uniform(-2, 2, N))
    return Shallow(w, b, v, 0.1, c1, leak), x, np.sin(2 * x)


@pytest.mark.slow
@pytest.mark.parametrize(("leak", "c1"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.3)])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (2, 3))])
def test_the_closed_flow_is_the_flow_of_the_weights(seed, leak, c1):
    net, x, y = case(seed, leak, c1)
    weights, closed = (flow(net, x, y, 0.5, 500) for flow in (parameter_flow, closed_flow))
    np.testing.assert_allclose(np.arctan(closed.beta), np.arctan(weights.beta), atol=4e-4)  # a step at each kink
    np.testing.assert_allclose(closed.mu, weights.mu, atol=4e-4 * np.abs(weights.mu).max())
    np.testing.assert_allclose(closed.loss, weights.loss, rtol=1e-3)
    assert weights.loss[-1] < 0.9 * weights.loss[0]


def test_between_data_both_flows_agree_to_the_order_of_the_method():
    net = Shallow([1.0, -1.2], [0.3, 0.4], [0.8, -0.5])
    x, y = np.array([-2.0, -1.5, 1.2, 2.0]), np.array([0.3, -0.2, 0.9, 1.8])
    errors = []
    for steps in (20, 40):
        weights, closed = (flow(net, x, y, 0.2, steps) for flow in (parameter_flow, closed_flow))
        errors.append(np.abs(weights.beta[-1] - closed.beta[-1]).max())
    assert errors[0] < 1e-5
    assert errors[1] < errors[0] / 10  # 16 for a method of order 4


def test_the_flow_of_the_weights_keeps_the_invariants():
    net, x, y = case(2)
    np.testing.assert_allclose(invariants(parameter_flow(net, x, y, 0.5, 500).last), invariants(net), atol=1e-9)


def test_the_loss_never_rises():
    net, x, y = case(2)
    assert (np.diff(parameter_flow(net, x, y, 1.0, 1000).loss) <= 1e-9).all()


def test_the_last_network_of_the_closed_flow_is_the_weights_own():
    net, x, y = case(3)
    weights, closed = (flow(net, x, y, 0.1, 200).last for flow in (parameter_flow, closed_flow))
    for name in ("w", "b", "v"):
        np.testing.assert_allclose(getattr(closed, name), getattr(weights, name), atol=1e-5)


def test_a_flow_of_no_time_stays():
    net, x, y = case(0)
    flow = parameter_flow(net, x, y, 0.0, 1)
    np.testing.assert_array_equal(flow.beta[0], flow.beta[1])
    assert flow.time.tolist() == [0, 0]


def test_a_unit_without_weight_is_refused_by_the_closed_flow_and_carried_by_the_other():
    net = Shallow([0.0, 1.0], [1.0, 0.5], [1.0, 1.0])
    with pytest.raises(
        InputError, match=r"net must have a breakpoint for every unit, got w = 0 for unit 0; .* parameter_flow"
    ):
        closed_flow(net, [0.0, 1.0], [1.0, 0.0], 0.1, 10)
    flow = parameter_flow(net, [0.0, 1.0], [1.0, 0.0], 0.1, 10)
    assert np.isnan(flow.beta[0, 0])
    assert np.isfinite(flow.beta[1:]).all()  # its weight grew


def test_a_weight_that_goes_through_zero_is_followed_by_its_weights_only():
    net, x, y = Shallow([0.1], [1.0], [1.0]), np.array([1.0, 2.0]), np.array([0.5, -1.0])
    flow = parameter_flow(net, x, y, 0.5, 500)
    assert flow.beta[0, 0] < 0 < flow.beta[-1, 0]
    with pytest.raises(
        InputError,
        match=r"steps must be large enough for no weight w to reach 0 within a step, got unit 0.* parameter_flow",
    ):
        closed_flow(net, x, y, 0.5, 500)


def test_steps_that_are_too_long_are_named():
    with pytest.raises(
        InputError, match="steps must be large enough for the flow not to overflow, got an overflow after time"
    ):
        parameter_flow(Shallow([1.0], [1.0], [1.0], c1=1.0), [10.0, 20.0], [0.0, 0.0], 1000.0, 1000)


@pytest.mark.parametrize(
    ("time", "steps", "message"),
    [(-1.0, 1, "time must be a finite number at least 0"), (1.0, 0, "steps must be a positive integer")],
)
def test_wrong_times_are_named(time, steps, message):
    net, x, y = case(0)
    with pytest.raises(InputError, match=message):
        parameter_flow(net, x, y, time, steps)
