"""Gradient flow integrated with fixed steps: in the weights, or in (beta, m, d), where it is closed.

Steps are fixed because breakpoints slide along samples, where the flow has kinks that slow adaptive steps down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats
from creases._validation import check_count, check_number, check_samples
from creases.errors import InputError
from creases.splines import Shallow
from creases.splines.theory import velocities
from creases_reproduction.splines.theory.metric import closed_velocities, invariants, squared_weights

_HUGE = 1e50  # a step was too long: products of such weights overflow


@dataclass(frozen=True, eq=False)
class Flow:
    """A gradient flow at T + 1 equally spaced times, including the start."""

    time: Floats  #: (T + 1,)
    beta: Floats  #: (T + 1, H) breakpoints, NaN where w = 0
    mu: Floats  #: (T + 1, H) delta-slopes
    loss: Floats  #: (T + 1,) 1/2 sum e^2
    last: Shallow  #: the network at the end


def parameter_flow(net: Shallow, x: Any, y: Any, time: float, steps: int) -> Flow:
    """Integrate the gradient flow of the weights by classical Runge-Kutta steps of equal length.

    Parameters
    ----------
    net
        The network at the start.
    x, y
        Samples (N,).
    time
        How long to integrate.
    steps
        Number of steps, each of order 4.
    """
    x, y, step = _check_arguments(x, y, time, steps)

    def network(state: Floats) -> Shallow:
        w, b, v = state[:-2].reshape(3, -1)
        return Shallow(w, b, v, state[-2], state[-1], net.leak)

    def derivative(state: Floats) -> Floats:
        d = velocities(network(state), x, y)
        return np.concatenate([d.w, d.b, d.v, [d.c0, d.c1 if net.c1 != 0 else 0.0]])

    state = np.concatenate([net.w, net.b, net.v, [net.c0, net.c1]])
    nets = [network(state)]
    for t in range(steps):
        state = _step(derivative, state, step, t * step)
        nets.append(network(state))
    return _record(nets, x, y, step)


def closed_flow(net: Shallow, x: Any, y: Any, time: float, steps: int) -> Flow:
    """Integrate the same flow in each unit's (beta, m = w v), with its invariant d fixed, without using the weights.

    A unit whose weight w is 0, or becomes 0 on the way, is refused: its breakpoint moves through infinity, which only
    :func:`parameter_flow` can follow. Parameters are those of :func:`parameter_flow`.
    """
    x, y, step = _check_arguments(x, y, time, steps)
    if (net.w == 0).any():
        unit = int(np.argmax(net.w == 0))
        raise InputError(
            "net", "have a breakpoint for every unit", f"w = 0 for unit {unit}", "remove it or use parameter_flow"
        )
    d, sign = invariants(net), np.sign(net.w)

    def network(state: Floats) -> Shallow:
        beta, m = state[:-2].reshape(2, -1)
        w = sign * np.sqrt(squared_weights(beta, m, d)[0])
        lost = ~np.isfinite(m / w)
        if lost.any():
            raise _lost_weight(int(lost.argmax()))
        return Shallow(w, -beta * w, m / w, state[-2], state[-1], net.leak)

    def derivative(state: Floats) -> Floats:
        beta, m = state[:-2].reshape(2, -1)
        errors = velocities(network(state), x, y).sees
        d_beta, d_m = closed_velocities(beta, m, d, errors.r1, errors.rx)
        return np.concatenate([d_beta, d_m, [-errors.e.sum(), -(errors.e @ errors.x) if net.c1 != 0 else 0.0]])

    state = np.concatenate([-net.b / net.w, net.w * net.v, [net.c0, net.c1]])
    nets = [net]
    for t in range(steps):
        current, rx = nets[-1], velocities(nets[-1], x, y).sees.rx
        lost = np.abs(current.w) <= step * np.abs(current.v * rx)  # w may pass 0 within the step
        if lost.any():
            raise _lost_weight(int(lost.argmax()))
        state = _step(derivative, state, step, t * step)
        nets.append(network(state))
    return _record(nets, x, y, step)


def _step(derivative: Callable[[Floats], Floats], state: Floats, h: float, time: float) -> Floats:
    """Take one Runge-Kutta step of length h."""

    def shift(by: Floats) -> Floats:
        if not (np.abs(state + by) < _HUGE).all():
            raise InputError(
                "steps",
                "be large enough for the flow not to overflow",
                f"an overflow after time {time:.6g}",
                "increase it",
            )
        return np.asarray(state + by)

    with np.errstate(over="ignore", invalid="ignore"):
        k1 = derivative(state)
        k2 = derivative(shift(h / 2 * k1))
        k3 = derivative(shift(h / 2 * k2))
        k4 = derivative(shift(h * k3))
        return shift(h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def _lost_weight(unit: int) -> InputError:
    return InputError(
        "steps",
        "be large enough for no weight w to reach 0 within a step",
        f"unit {unit}, which may lose its breakpoint",
        "increase it or use parameter_flow",
    )


def _check_arguments(x: Any, y: Any, time: float, steps: int) -> tuple[Floats, Floats, float]:
    x, y = check_samples(x, y)
    return x, y, check_number(time, "time", least=0) / check_count(steps, "steps")


def _record(nets: list[Shallow], x: Floats, y: Floats, step: float) -> Flow:
    w, b, v = (np.stack([getattr(net, name) for net in nets]) for name in ("w", "b", "v"))
    beta = np.divide(-b, w, out=np.full(w.shape, np.nan), where=w != 0)
    loss = np.array([((net(x) - y) ** 2).sum() / 2 for net in nets])
    return Flow(step * np.arange(len(nets), dtype=np.float64), beta, (1 - nets[0].leak) * w * v, loss, nets[-1])
