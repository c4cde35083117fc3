"""Gradient flow integrated with fixed steps: in the weights, or in (beta, m, d), where it closes.

Steps are fixed because breakpoints slide along data, where the flow has kinks that a step-size control would chase.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats
from creases._validation import check_count, check_number, check_samples
from creases.errors import InputError
from creases.splines._residuals import residuals
from creases.splines._spline import Shallow
from creases.splines.dynamics._velocities import closed_velocities, invariants, squared_weights, velocities

_HUGE = 1e50  # where a step was too long: products of such weights overflow


@dataclass(frozen=True, eq=False)
class Flow:
    """A gradient flow at T + 1 equal times, the start included."""

    time: Floats  #: (T + 1,)
    beta: Floats  #: (T + 1, H) breakpoints, NaN where w = 0
    mu: Floats  #: (T + 1, H) delta-slopes
    loss: Floats  #: (T + 1,) 1/2 sum e^2
    last: Shallow  #: the network at the end


def parameter_flow(net: Shallow, x: Any, y: Any, time: float, steps: int) -> Flow:
    """Gradient flow of the weights for a time, by ``steps`` Runge-Kutta steps (classical, order 4) of equal length."""
    x, y, step = _arguments(x, y, time, steps)

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
    """The same flow in each unit's (beta, m = w v), its invariant d held: the weights are never looked at again.

    Refused for a unit without weight, and where one loses it on the way: its breakpoint goes through infinity, which
    only the weights can follow (:func:`parameter_flow`).
    """
    x, y, step = _arguments(x, y, time, steps)
    if (net.w == 0).any():
        unit = int(np.argmax(net.w == 0))
        raise InputError(f"net: unit {unit} has w = 0 and no breakpoint; remove it, or integrate with parameter_flow")
    d, sign = invariants(net), np.sign(net.w)

    def network(state: Floats) -> Shallow:
        beta, m = state[:-2].reshape(2, -1)
        w = sign * np.sqrt(squared_weights(beta, m, d)[0])
        lost = ~np.isfinite(m / w)
        if lost.any():
            raise _leap(int(lost.argmax()))
        return Shallow(w, -beta * w, m / w, state[-2], state[-1], net.leak)

    def derivative(state: Floats) -> Floats:
        beta, m = state[:-2].reshape(2, -1)
        found = residuals(network(state), x, y)
        d_beta, d_m = closed_velocities(beta, m, d, found.r1, found.rx)
        return np.concatenate([d_beta, d_m, [-found.e.sum(), -(found.e @ found.x) if net.c1 != 0 else 0.0]])

    state = np.concatenate([-net.b / net.w, net.w * net.v, [net.c0, net.c1]])
    nets = [net]
    for t in range(steps):
        now, found = nets[-1], residuals(nets[-1], x, y)
        lost = np.abs(now.w) <= step * np.abs(now.v * found.rx)  # w may be through 0 by the end of the step
        if lost.any():
            raise _leap(int(lost.argmax()))
        state = _step(derivative, state, step, t * step)
        nets.append(network(state))
    return _record(nets, x, y, step)


def _step(derivative: Callable[[Floats], Floats], state: Floats, h: float, time: float) -> Floats:
    """One Runge-Kutta step of length h from a time."""

    def at(move: Floats) -> Floats:
        if not (np.abs(state + move) < _HUGE).all():
            raise InputError(f"steps: the flow overflows after time {time:.6g}; take more steps")
        return np.asarray(state + move)

    with np.errstate(over="ignore", invalid="ignore"):
        k1 = derivative(state)
        k2 = derivative(at(h / 2 * k1))
        k3 = derivative(at(h / 2 * k2))
        k4 = derivative(at(h * k3))
        return at(h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def _leap(unit: int) -> InputError:
    return InputError(
        f"steps: unit {unit} may lose its weight w, and with it its breakpoint, within a step; take more steps, or "
        "integrate with parameter_flow"
    )


def _arguments(x: Any, y: Any, time: float, steps: int) -> tuple[Floats, Floats, float]:
    x, y = check_samples(x, y)
    time = check_number(time, "time")
    if time < 0:
        raise InputError(f"time: expected 0 or more, got {time}")
    return x, y, time / check_count(steps, "steps")


def _record(nets: list[Shallow], x: Floats, y: Floats, step: float) -> Flow:
    w, b, v = (np.stack([getattr(net, name) for net in nets]) for name in ("w", "b", "v"))
    beta = np.divide(-b, w, out=np.full(w.shape, np.nan), where=w != 0)
    loss = np.array([residuals(net, x, y).loss for net in nets])
    return Flow(step * np.arange(len(nets), dtype=np.float64), beta, (1 - nets[0].leak) * w * v, loss, nets[-1])
