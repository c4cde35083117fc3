"""More units at a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from creases.errors import InputError
from creases.network.surgery import _optimizer as optimizers
from creases.network.surgery._carriers import carrier_values
from creases.network.surgery._certificate import Certificate, apply_and_measure, count_parameters
from creases.network.surgery._layers import input_tensors, output_tensors
from creases.network.surgery._link import Link
from creases.network.surgery._place import Place, get_layer
from creases.network.surgery._places import find_place
from creases.network.surgery._resize import Values, enlarged
from creases.network.surgery._sandbox import unwrap_module


def widen(
    model: nn.Module,
    where: Place | str,
    fan_in: Any,
    bias: Any = None,
    fan_out: Any = None,
    *,
    optimizer: Optimizer | None = None,
    statistics: tuple[Any, Any] | None = None,
    data: Tensor | None = None,
    input_shape: Sequence[int] | None = None,
) -> Certificate:
    """Add k units to a place of a model, behind those it has.

    The model's own modules are edited: they stay the objects they are, with their names, hooks, device, dtype,
    ``requires_grad`` and mode; their parameters are replaced by larger ones that hold the old numbers bit for bit (and
    their gradients, with zeros for new entries). Everything is checked before anything is changed.

    Parameters
    ----------
    where
        A place from :func:`places` or an earlier certificate, or its name.
    fan_in
        Weights of the new units, (k, *one unit's weights): (k, inputs), or (k, input channels, *kernel).
    bias
        (k,); zeros if not given. A producer without bias takes only zeros.
    fan_out
        The consumer's weights for the new units: (out, k) for Linear, (out, k, *kernel) for convolutions, and after
        Flatten (out, k, h w) or (out, k h w), unit by unit. With several consumers a list in the order of
        ``place.consumers``, or a dict by path. Zeros if not given, which leaves the function as it is.
    optimizer
        The one that trains the model: the larger parameters take the old ones' places in their groups; moments of old
        entries are kept bit for bit, those of new ones start at zero, step counters go on. Without it, make a new one.
    statistics
        Mean (k,) and variance (k,) of the new units before the batch norm, for its running statistics. If not given
        they are 0 and 1 - eps, so that in eval mode the batch norm leaves new units as they are. Its weight is 1, its
        bias 0; in train mode it standardises new units like all others.
    data
        Inputs (n, *shape) to measure the change of the output on, in eval mode.
    input_shape
        Shape of one input, to find a place by name in a model that does not start with a linear layer.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> done = widen(model, "0", [[1.0, -1.0]], [0.5], data=torch.ones(4, 2))
    >>> model[0], done.old_width, done.new_width, done.bound
    (Linear(in_features=2, out_features=4, bias=True), 3, 4, 0.0)
    """
    model = unwrap_module(model)
    place = find_place(model, where, input_shape, data)
    optimizers.check_optimizer(optimizer, model)
    values, k = _producer_values(model, place, fan_in, bias)
    outs = _consumer_values(model, place, fan_out, k)
    values |= carrier_values(model, place, k, _checked_statistics(model, place, statistics, k)) | outs
    plan = enlarged(model, place, k, values, optimizer)
    before = count_parameters(model)
    change = apply_and_measure(model, data, plan.apply)
    silent = not any(part.count_nonzero() for part in outs.values())
    return Certificate(
        action="widen",
        where=place.name,
        old_width=place.width,
        new_width=place.width + k,
        parameters_before=before,
        parameters_after=count_parameters(model),
        change=change,
        bound=0.0 if silent else None,
        place=place.widened(k),
    )


def _producer_values(model: nn.Module, place: Place, fan_in: Any, bias: Any) -> tuple[Values, int]:
    """New rows and biases of the producer, and their number."""
    layer = get_layer(model, place.name)
    weight = layer.weight
    assert isinstance(weight, Tensor)
    axis = output_tensors(layer).weight_axis
    unit = tuple(weight.movedim(axis, 0).shape[1:])
    rows = numbers("fan_in", fan_in, weight)
    if rows.ndim != 1 + len(unit) or tuple(rows.shape[1:]) != unit or not len(rows):
        expected = "(k, " + ", ".join(map(str, unit)) + ")"
        raise InputError(
            f"fan_in: expected shape {expected} with k at least 1 for {place.name!r}, got {tuple(rows.shape)}"
        )
    values: Values = {(place.name, "weight"): rows.movedim(0, axis)}
    k = len(rows)
    offsets = numbers("bias", torch.zeros(k) if bias is None else bias, weight)
    if tuple(offsets.shape) != (k,):
        raise InputError(f"bias: expected shape ({k},), one for each new unit, got {tuple(offsets.shape)}")
    if layer.bias is not None:
        values[place.name, "bias"] = offsets
    elif offsets.count_nonzero():
        raise InputError(f"bias: {place.name!r} has no bias, so new units cannot have one; give zeros or None")
    return values, k


def _consumer_values(model: nn.Module, place: Place, fan_out: Any, k: int) -> Values:
    """New columns of every consumer, unit by unit."""
    given = _by_path(place, fan_out)
    return {(link.path, "weight"): _columns(model, link, given.get(link.path), k) for link in place.consumers}


def _by_path(place: Place, fan_out: Any) -> dict[str, Any]:
    paths = [link.path for link in place.consumers]
    if fan_out is None:
        return {}
    if isinstance(fan_out, Mapping):
        if set(fan_out) != set(paths):
            raise InputError(f"fan_out: expected an entry for each consumer {paths}, got {sorted(map(str, fan_out))}")
        return dict(fan_out)
    if len(paths) == 1:
        return {paths[0]: fan_out}
    if not isinstance(fan_out, list | tuple) or len(fan_out) != len(paths):
        what = f"{len(fan_out)} entries" if isinstance(fan_out, list | tuple) else type(fan_out).__name__
        raise InputError(f"fan_out: expected a list or dict of {len(paths)}, one for each consumer {paths}, got {what}")
    return dict(zip(paths, fan_out, strict=True))


def _columns(model: nn.Module, link: Link, given: Any, k: int) -> Tensor:
    """New columns of one consumer along its weight's axis of inputs."""
    layer = get_layer(model, link.path)
    weight = layer.weight
    assert isinstance(weight, Tensor)
    axis = input_tensors(layer).weight_axis
    out, _, *kernel = weight.movedim(axis, 1).shape
    m = link.per_unit
    shapes = [(out, k * m, *kernel)] if m == 1 else [(out, k, m, *kernel), (out, k * m, *kernel)]
    columns = weight.new_zeros(shapes[0]) if given is None else numbers("fan_out", given, weight)
    if tuple(columns.shape) not in shapes:
        expected = " or ".join(map(str, shapes))
        raise InputError(f"fan_out: expected shape {expected} for {link.path!r}, got {tuple(columns.shape)}")
    return columns.reshape(shapes[-1]).movedim(1, axis)


def _checked_statistics(model: nn.Module, place: Place, given: Any, k: int) -> tuple[Tensor, Tensor] | None:
    if given is None:
        return None
    norms = [link for link in place.carriers if isinstance(get_layer(model, link.path), _BatchNorm)]
    if len(norms) != 1 or norms[0].per_unit != 1:
        raise InputError(
            f"statistics: are for places with one batch norm before any flattening; {place.name!r} is not one"
        )
    like = get_layer(model, place.name).weight
    assert isinstance(like, Tensor)
    try:
        mean, var = (numbers("statistics", part, like) for part in given)
    except (TypeError, ValueError) as problem:
        raise (
            problem
            if isinstance(problem, InputError)
            else InputError(f"statistics: expected (mean, variance), got {given!r}")
        ) from None
    if tuple(mean.shape) != (k,) or tuple(var.shape) != (k,) or bool((var < 0).any()):
        raise InputError(f"statistics: expected mean and variance (at least 0) of shape ({k},) each")
    return mean, var


def numbers(name: str, given: Any, like: Tensor) -> Tensor:
    """An argument as a finite tensor of a parameter's dtype and device, on its own."""
    try:
        tensor = torch.as_tensor(given).detach().to(like.device, like.dtype)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise InputError(f"{name}: expected an array of numbers, got {type(given).__name__} ({problem})") from None
    if not torch.isfinite(tensor).all():
        raise InputError(f"{name}: has NaN or infinite entries")
    return tensor
