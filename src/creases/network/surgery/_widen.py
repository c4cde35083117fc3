"""Adding units to a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from creases.errors import InputError
from creases.network.surgery import _edits as optimizers
from creases.network.surgery._edits import unwrap_module
from creases.network.surgery._place import (
    Certificate,
    Link,
    Place,
    Values,
    certify_edit,
    get_layer,
    input_tensors,
    output_tensors,
    plan_addition,
)
from creases.network.surgery._places import find_place


def widen(
    model: nn.Module,
    place: Place | str,
    fan_in: Any,
    bias: Any = None,
    fan_out: Any = None,
    *,
    optimizer: Optimizer | None = None,
    carriers: Mapping[str, Any] | None = None,
    X: Tensor | None = None,
    input_shape: Sequence[int] | None = None,
) -> Certificate:
    """Add k units to a place of a model, after the existing ones.

    The model is edited in place: its modules remain the same objects, with their names, hooks, device, dtype,
    ``requires_grad`` and mode. Their parameters are replaced by larger ones that contain the old values bit for bit
    (and the gradients, with zeros for new entries). All arguments are checked before anything changes.

    Parameters
    ----------
    place
        A place from :func:`places` or an earlier certificate, or its name.
    fan_in
        Incoming weights of the new units: (k, inputs), or (k, input channels, *kernel).
    bias
        Biases (k,), zeros by default. For a producer without bias they must be zero.
    fan_out
        Outgoing weights of the new units: (out, k) for Linear, (out, k, *kernel) for convolutions, and after Flatten
        (out, k, h w) or (out, k h w), unit by unit. For several consumers a list in the order of ``place.consumers``,
        or a dict by path. Zeros by default, which do not change the function.
    optimizer
        The model's optimizer: the larger parameters replace the old ones in its groups. Moments of old entries stay the
        same bit for bit, step counters continue. Those of new entries start at zero, but Adam's second moments at
        (1 - beta1)^2 times their mean, so that the first steps are not too large. If you do not pass it, create a
        new optimizer after the edit.
    carriers
        Entries (k,) of batch norms and PReLUs for the new units, by the tensor's name, such as ``"1.running_mean"``. By
        default a batch norm gets weight 1, bias 0, running mean 0 and variance 1 - eps: in eval mode it is the identity
        on new units, in train mode it standardizes them like all others.
    X
        Inputs (n, *shape) at which to measure the change of the output, in eval mode.
    input_shape
        Shape of one input; needed to find a place by name in a model that does not start with a linear layer.

    Returns
    -------
    Certificate
        What changed; its ``bound`` is 0 if all outgoing weights are zero, else None.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> done = widen(model, "0", [[1.0, -1.0]], [0.5], X=torch.ones(4, 2))
    >>> model[0], done.old_width, done.new_width, done.bound
    (Linear(in_features=2, out_features=4, bias=True), 3, 4, 0.0)
    """
    model = unwrap_module(model)
    place = find_place(model, place, input_shape, X)
    optimizers.check_optimizer(optimizer, model)
    values, k = _producer_values(model, place, fan_in, bias)
    by_path = _split_by_consumer(place, fan_out)
    columns = {(link.path, "weight"): _columns(model, link, by_path.get(link.path), k) for link in place.consumers}
    values |= _carrier_entries(model, place, carriers or {}, k) | columns
    plan = plan_addition(model, place, k, values, optimizer)
    silent = not any(part.count_nonzero() for part in columns.values())
    return certify_edit(
        model,
        X,
        plan.apply,
        action="widen",
        place_name=place.name,
        old_width=place.width,
        new_width=place.width + k,
        bound=0.0 if silent else None,
        place=place.resize(k),
    )


def _producer_values(model: nn.Module, place: Place, fan_in: Any, bias: Any) -> tuple[Values, int]:
    """Return the new rows and biases of the producer, and their number."""
    layer = get_layer(model, place.name)
    weight = layer.weight
    assert isinstance(weight, Tensor)
    axis = output_tensors(layer).weight_axis
    unit = tuple(weight.movedim(axis, 0).shape[1:])
    rows = _check_tensor("fan_in", fan_in, weight)
    k = len(rows) if rows.ndim else 0
    if not k or tuple(rows.shape[1:]) != unit:
        expected = f"have shape (k, {', '.join(map(str, unit))}) with k at least 1 for {place.name!r}"
        raise InputError("fan_in", expected, f"{tuple(rows.shape)}")
    values: Values = {(place.name, "weight"): rows.movedim(0, axis)}
    offsets = _check_tensor("bias", torch.zeros(k) if bias is None else bias, weight, [(k,)], ", one for each new unit")
    if layer.bias is not None:
        values[place.name, "bias"] = offsets
    elif offsets.count_nonzero():
        raise InputError("bias", f"be zero or None, as {place.name!r} has no bias", "nonzero entries")
    return values, k


def _split_by_consumer(place: Place, fan_out: Any) -> dict[str, Any]:
    paths = [link.path for link in place.consumers]
    if fan_out is None:
        return {}
    if isinstance(fan_out, Mapping):
        if set(fan_out) != set(paths):
            raise InputError("fan_out", f"have an entry for each consumer {paths}", f"{sorted(map(str, fan_out))}")
        return dict(fan_out)
    if len(paths) == 1:
        return {paths[0]: fan_out}
    if not isinstance(fan_out, list | tuple) or len(fan_out) != len(paths):
        got = f"{len(fan_out)} entries" if isinstance(fan_out, list | tuple) else type(fan_out).__name__
        raise InputError("fan_out", f"be a list or dict of {len(paths)}, one for each consumer {paths}", got)
    return dict(zip(paths, fan_out, strict=True))


def _columns(model: nn.Module, link: Link, fan_out: Any, k: int) -> Tensor:
    """Return the new columns of a consumer along the input axis of its weight."""
    layer = get_layer(model, link.path)
    weight = layer.weight
    assert isinstance(weight, Tensor)
    axis = input_tensors(layer).weight_axis
    out, _, *kernel = weight.movedim(axis, 1).shape
    m = link.per_unit
    shapes = [(out, k * m, *kernel)] if m == 1 else [(out, k, m, *kernel), (out, k * m, *kernel)]
    zeros = weight.new_zeros(shapes[0])
    columns = _check_tensor("fan_out", zeros if fan_out is None else fan_out, weight, shapes, f" for {link.path!r}")
    return columns.reshape(shapes[-1]).movedim(1, axis)


def _carrier_entries(model: nn.Module, place: Place, carriers: Mapping[str, Any], k: int) -> Values:
    """Return the entries of carriers that the caller sets."""
    known = {
        f"{link.path}.{name}": (link, name)
        for link in place.carriers
        for name, _ in input_tensors(get_layer(model, link.path)).tensors
        if getattr(get_layer(model, link.path), name, None) is not None
    }
    values: Values = {}
    for key, entries in carriers.items():
        if key not in known:
            raise InputError("carriers", f"name tensors of the batch norms and PReLUs behind {place.name!r}", repr(key))
        link, name = known[key]
        tensor = getattr(get_layer(model, link.path), name)
        values[link.path, name] = _check_tensor("carriers", entries, tensor, [(k * link.per_unit,)], f" for {key!r}")
        if name == "running_var" and bool((values[link.path, name] < 0).any()):
            raise InputError("carriers", f"have nonnegative variances for {key!r}")
    return values


def _check_tensor(
    name: str, value: Any, like: Tensor, shapes: Sequence[tuple[int, ...]] = (), what: str = ""
) -> Tensor:
    """Return an argument as a detached, finite tensor of a parameter's dtype and device, of one of some shapes."""
    try:
        plain = value.copy() if isinstance(value, np.ndarray) else value  # torch takes no negative strides
        tensor = torch.as_tensor(plain).detach().to(like.device, like.dtype)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise InputError(name, "be an array of numbers", f"{type(value).__name__} ({problem})") from None
    if not torch.isfinite(tensor).all():
        raise InputError(name, "be finite", "NaN or infinite entries")
    if shapes and tuple(tensor.shape) not in shapes:
        expected = f"have shape {' or '.join(map(str, shapes))}{what}"
        raise InputError(name, expected, f"{tuple(tensor.shape)}")
    return tensor
