"""The weights of a network in which no bend comes behind another, whatever layers they are spread over."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from creases.errors import InputError
from creases.network.carry import carry
from creases.network.network import Network
from creases.splines.spline import Floats


class Coefficients(NamedTuple):
    """``f(x) = c0 + c . x + sum_i v_i phi_i(W_i . x + b_i)`` with d inputs and H units."""

    W: Floats  #: (H, d)
    b: Floats  #: (H,)
    v: Floats  #: (H,)
    c0: float
    c: Floats  #: (d,)
    leak: Floats  #: (H,)


def coefficients(net: Network) -> Coefficients:
    """Every value is an affine function of the inputs and of the units' outputs: carry its coefficients through.

    A value is carried as (1 + d + H, *shape): the constant, the coefficient of each input and of each unit's output.
    """
    if net.n_out != 1:
        raise InputError(f"model: expected one output, got {net.n_out}; a spline is a function with one value")
    net = net.to(torch.float64)
    d, H = net.n_in, net.n_units
    inputs, units = 1 + d, 1 + d + H
    entering = torch.zeros(units, H, dtype=torch.float64, device=net.device)  # column i: what enters unit i
    leak = torch.zeros(H, dtype=torch.float64, device=net.device)

    def through(i: int, values: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if not step.is_bend:
            out = step.linear(values)
            if step.offset is not None:
                out = torch.cat([out[:1] + step.offset, out[1:]])
            return out
        if step.op != "relu":
            raise InputError(f"model: {step.path} takes a maximum of several values; a spline's units bend one value")
        if values[0][inputs:].any():
            raise InputError(
                f"model: {step.path} comes behind another bend, so the network is deep; "
                "splines.deep_breakpoints reads those of one input"
            )
        bend = net.bends.index(i)
        place = slice(int(net.unit_starts[bend]), int(net.unit_starts[bend + 1]))
        entering[:, place] = values[0].flatten(1)
        if step.leak is not None:
            leak[place] = step.leak.expand(step.shape).flatten()
        out = torch.zeros(units, place.stop - place.start, dtype=torch.float64, device=net.device)
        out[inputs + place.start : inputs + place.stop] = torch.eye(out.shape[1], dtype=torch.float64)
        return out.reshape(units, *step.shape)

    start = torch.zeros(units, d, dtype=torch.float64, device=net.device)
    start[1:inputs] = torch.eye(d, dtype=torch.float64)
    with torch.no_grad():
        out = carry(net, {0: start.reshape(units, *net.input_shape)}, through)[len(net.steps)].reshape(units)
    W, b = entering[1:inputs].T, entering[0]
    arrays = [part.cpu().numpy() for part in (W, b, out[inputs:], out[1:inputs], leak)]
    return Coefficients(arrays[0], arrays[1], arrays[2], float(out[0]), arrays[3], arrays[4])
