"""Weights of a network with one level of bends, whatever layers they are spread over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from creases._program import propagate
from creases._typing import Floats
from creases.errors import InputError
from creases.lab import Batch, train
from creases.network import Network, places, read
from creases.splines._spline import Shallow


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


# The two layers around the bend of a torch module with one hidden layer, and their weights as arrays.


class Layers(NamedTuple):
    """The layer from the input to the units, and the one from the units to the output."""

    enter: nn.Linear
    leave: nn.Linear


def hidden_layers(model: nn.Module) -> Layers:
    """Return the two linear layers of a model with one hidden layer; nothing else may change values around its bend."""
    if not isinstance(model, nn.Module):
        raise InputError("model", "be a torch.nn.Module", type(model).__name__)
    weights = coefficients(read(model))  # refuses deep networks and several outputs
    hidden = places(model)
    if len(hidden) == 1 and len(hidden[0].consumers) == 1 and len(weights.v):
        enter, leave = (model.get_submodule(path) for path in (hidden[0].name, hidden[0].consumers[0].path))
        if isinstance(enter, nn.Linear) and isinstance(leave, nn.Linear):
            if enter.bias is None:
                raise InputError(
                    "model",
                    "have a bias in its first layer",
                    f"none in {hidden[0].name!r}",
                    "all breakpoints would be at 0",
                )
            same = [(enter.weight, weights.W), (enter.bias, weights.b), (leave.weight[0], weights.v)]
            if all(
                parameter_array(ours).shape == read_.shape and (parameter_array(ours) == read_).all()
                for ours, read_ in same
            ):
                return Layers(enter, leave)
    raise InputError(
        "model",
        "have one hidden layer: nn.Linear, a ReLU or leaky ReLU, nn.Linear to the output, with nothing that changes "
        "values between them (batch norm, scaling, clamps)",
    )


def parameter_array(parameter: Tensor) -> Floats:
    """Return a copy of a parameter's values as a float64 array."""
    return parameter.detach().double().cpu().numpy().copy()


def write_parameter(parameter: Tensor, values: Floats) -> None:
    """Overwrite the values of a parameter in place."""
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.asarray(values)))


# Batches of networks of one input, and their training by gradient descent.


def unstack_network(batch: Batch, k: int) -> Shallow:
    """Return network k of a batch with one input, one hidden layer and one output."""
    if len(batch.weights) != 2 or batch.widths[0] != 1 or batch.widths[-1] != 1:
        raise InputError("batch", "have one input, one hidden layer and one output", f"widths {batch.widths}")
    (W, V), (b, c) = ([layer[k] for layer in stack] for stack in (batch.weights, batch.biases))
    return Shallow(W[:, 0], b, V[0], float(c[0]), leak=np.full(len(W), batch.leak))


def stack_networks(nets: Sequence[Shallow]) -> Batch:
    """Return networks of equal width and leak, without a skip, as a batch in float64.

    Examples
    --------
    >>> nets = [Shallow([1, -1], [0, 0], [1, 1]), Shallow([1, 1], [0, -1], [1, -2])]
    >>> stack_networks(nets).outputs([[-2.0], [2.0]])[:, :, 0]
    array([[2., 2.],
           [0., 0.]])
    """
    leaks = {leak for net in nets for leak in net.leak.tolist()}
    if len({net.width for net in nets}) != 1 or len(leaks) > 1 or any(net.c1 for net in nets):
        raise InputError("nets", "have the same width, the same leak for all units and no skip")
    weights = np.stack([net.w[:, None] for net in nets]), np.stack([net.v[None] for net in nets])
    biases = np.stack([net.b for net in nets]), np.array([[net.c0] for net in nets])
    return Batch(weights, biases, leaks.pop() if leaks else 0.0)


def squared_errors(batch: Batch, x: ArrayLike, y: ArrayLike) -> Floats:
    """Return the mean squared errors (B,) of networks on samples (n,); not finite where a network has diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        return batch.losses(np.asarray(x)[:, None], y, "squared_error")


def gradient_descent(batch: Batch, x: ArrayLike, y: ArrayLike, *, steps: int, lr: ArrayLike) -> Batch:
    """Train networks of one input and one output by full-batch gradient descent on the mean squared error.

    Samples are (n,), shared by all networks, or (B, n), different for each; the learning rate is a number or (B,).
    """
    return train(batch, np.asarray(x)[..., None], y, epochs=steps, loss="squared_error", optimizer="sgd", lr=lr).batch
