"""Weights of a network with one level of bends, whatever layers they are spread over."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from creases._program import propagate
from creases._typing import Floats
from creases.errors import InputError
from creases.network import Network


class Coefficients(NamedTuple):
    """``f(x) = c0 + c . x + sum_i v_i phi_i(W_i . x + b_i)`` with d inputs and H units."""

    W: Floats  #: (H, d)
    b: Floats  #: (H,)
    v: Floats  #: (H,)
    c0: float
    c: Floats  #: (d,)
    leak: Floats  #: (H,)


def coefficients(net: Network) -> Coefficients:
    """Return the weights of a network with one output in which no bend follows another.

    Every value is an affine function of the inputs and of the units' outputs. Its coefficients in the inputs are
    propagated, (1 + d, *shape) with the constant first, along with a flag where it depends on a unit; the output's
    coefficients in the units are its gradient.
    """
    if net.n_out != 1:
        raise InputError("model", "have one output", str(net.n_out))
    net = net.to(torch.float64)
    d, H = net.n_in, net.n_units
    entering = torch.zeros(1 + d, H, dtype=torch.float64, device=net.device)  # column i: the input of unit i
    leak = torch.zeros(H, dtype=torch.float64, device=net.device)
    units: list[Tensor] = []

    def through(i: int, inputs: list[_Propagated]) -> _Propagated:
        step = net.steps[i]
        values, depends = (list(column) for column in zip(*inputs, strict=True))
        if not step.is_bend:
            out = step.linear(values)
            if step.offset is not None:
                out = torch.cat([out[:1] + step.offset, out[1:]])
            return out, step.linear_magnitude(depends)
        if step.op != "relu":
            raise InputError("model", "have units that bend a single value", f"a maximum of several at {step.path}")
        if depends[0].any():
            raise InputError(
                "model",
                "have one level of bends",
                f"a bend after another one at {step.path}",
                "use splines.deep_breakpoints for deep networks of one input",
            )
        bend = net.bends.index(i)
        units_of_bend = slice(int(net.unit_starts[bend]), int(net.unit_starts[bend + 1]))
        entering[:, units_of_bend] = values[0].detach().flatten(1)
        if step.leak is not None:
            leak[units_of_bend] = step.leak.expand(step.shape).flatten()
        units.append(torch.zeros(1, *step.shape, dtype=torch.float64, device=net.device, requires_grad=True))
        zeros = torch.zeros(d, *step.shape, dtype=torch.float64, device=net.device)
        return torch.cat([units[-1], zeros]), torch.ones_like(units[-1], requires_grad=False)

    with torch.enable_grad():
        start = torch.eye(1 + d, dtype=torch.float64, device=net.device)[:, 1:].reshape(1 + d, *net.input_shape)
        output = propagate(net, {0: (start, torch.zeros_like(start[:1]))}, through)[len(net.steps)][0].reshape(1 + d)
        v = torch.autograd.grad(output[0], units, materialize_grads=True) if output.requires_grad else ()
    outgoing = torch.cat([part.flatten() for part in v]) if v else torch.zeros(H, dtype=torch.float64)
    out = output.detach()
    arrays = [part.cpu().numpy() for part in (entering[1:].T, entering[0], outgoing, out[1:], leak)]
    return Coefficients(arrays[0], arrays[1], arrays[2], float(out[0]), arrays[3], arrays[4])


_Propagated = tuple[Tensor, Tensor]  # coefficients (1 + d, *shape); (1, *shape), nonzero where it depends on units
