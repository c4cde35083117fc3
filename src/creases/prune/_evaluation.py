"""How well a model does on samples, and how well it would without each unit of a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from creases.errors import InputError
from creases.network.surgery import Link, Place, get_layer

#: Samples that are run at a time.
AT_ONCE = 1000


def check_samples(model: nn.Module, X: Any, y: Any, names: str = "X, y") -> tuple[Tensor, Tensor]:
    """Inputs (n, *shape) and classes (n,) on the model's device and in its precision."""
    like = next((p for p in model.parameters() if p.is_floating_point()), None)
    if like is None:
        raise InputError("model: has no parameters; there is nothing to prune")
    try:
        inputs, classes = torch.as_tensor(X), torch.as_tensor(y)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{names}: expected arrays of numbers: {problem}") from None
    if inputs.ndim < 2 or not len(inputs) or classes.shape != inputs.shape[:1]:
        raise InputError(
            f"{names}: expected inputs (n, *shape) and classes (n,), n at least 1, got {tuple(inputs.shape)} and "
            f"{tuple(classes.shape)}"
        )
    if classes.is_floating_point() or classes.is_complex():
        raise InputError(f"{names}: expected whole class numbers, got {classes.dtype}")
    inputs = inputs.to(like.device, like.dtype)
    if not inputs.isfinite().all():
        raise InputError(f"{names}: has NaN or infinite inputs; drop or fill in those samples")
    if int(classes.min()) < 0:
        raise InputError(f"{names}: expected class numbers from 0, got {int(classes.min())}")
    classes = classes.to(like.device, torch.int64)
    with evaluation_mode(model):
        try:
            outputs = model(inputs[:2])
        except RuntimeError as problem:
            raise InputError(
                f"{names}: the model does not run on inputs {tuple(inputs.shape[1:])}: {problem}"
            ) from None
    largest = max(2, outputs.shape[-1]) if outputs.ndim == 2 else 0
    if not largest:
        raise InputError(f"model: expected outputs (n, classes), got {tuple(outputs.shape)}")
    if int(classes.max()) >= largest:
        raise InputError(f"{names}: the model tells {largest} classes apart, got class {int(classes.max())}")
    return inputs, classes


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """In eval mode and without gradients; then each module in the mode that it had."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def losses(outputs: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy of each sample (n,); of one output: binary, class 1 where it is positive."""
    if outputs.shape[-1] == 1:
        return F.binary_cross_entropy_with_logits(outputs[..., 0], y.to(outputs.dtype), reduction="none")
    return F.cross_entropy(outputs, y, reduction="none")


def evaluate(model: nn.Module, X: Tensor, y: Tensor) -> tuple[float, float]:
    """Mean loss, and share of samples that are classified right; outputs that are not finite are wrong."""
    loss, right = 0.0, 0
    with evaluation_mode(model):
        for part, own in _blocks(X, y):
            out = model(part)
            loss += float(losses(out, own).double().sum())
            guess = (out[:, 0] > 0).long() if out.shape[-1] == 1 else out.argmax(1)
            right += int(((guess == own) & out.isfinite().all(1)).sum())
    return loss / len(X), right / len(X)


def _blocks(X: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Samples, some at a time."""
    for start in range(0, len(X), AT_ONCE):
        yield X[start : start + AT_ONCE], y[start : start + AT_ONCE]


def losses_without(model: nn.Module, place: Place, X: Tensor, y: Tensor) -> Tensor:
    """Mean loss (width,) of the model without each unit of a place, which is left as it is.

    In a ``torch.nn.Sequential`` everything up to the layer that reads the units is run once for all of them, and that
    layer's output is freed of each unit's part by the unit's columns alone; only what follows is run for each unit.
    Other models are run in full for each unit, with its entries set to zero where they are read.
    """
    total = torch.zeros(place.width, dtype=torch.float64, device=X.device)
    units = place.consumers[0].columns(place.width).to(X.device) if place.consumers else None
    parts = _parts(model, place)
    with evaluation_mode(model):
        for part, own in _blocks(X, y):
            if parts is None:
                each = [_masked(model, place, unit, part) for unit in range(place.width)]
            else:
                assert units is not None
                before, reader, after = parts
                entering = before(part)
                whole = reader(entering)
                each = [_lazily(after, whole, reader, entering, columns) for columns in units]
            for unit, run in enumerate(each):
                total[unit] += losses(run(), own).double().sum()
    return total / len(X)


def _lazily(
    after: nn.Module, whole: Tensor, reader: nn.Module, entering: Tensor, columns: Tensor
) -> Callable[[], Tensor]:
    return lambda: after(whole - _part(reader, entering, columns))


def _parts(model: nn.Module, place: Place) -> tuple[nn.Module, nn.Module, nn.Module] | None:
    """What comes before the only layer that reads the units, the layer, and what comes after; None if not so simple."""
    names = list(model._modules)
    plain = type(model) is nn.Sequential and len(place.consumers) == 1 and place.consumers[0].path in names
    if not plain:
        return None
    assert isinstance(model, nn.Sequential)
    k = names.index(place.consumers[0].path)
    layer = model[k]
    simple = isinstance(layer, nn.Linear) or (
        isinstance(layer, _ConvNd) and not isinstance(layer, _ConvTransposeNd) and layer.groups == 1
    )
    return (model[:k], layer, model[k + 1 :]) if simple else None


def _part(layer: nn.Module, entering: Tensor, columns: Tensor) -> Tensor:
    """What some columns add to a layer's output."""
    if isinstance(layer, nn.Linear):
        return F.linear(entering[..., columns], layer.weight[:, columns])
    assert isinstance(layer, _ConvNd)
    conv: Callable[..., Tensor] = layer._conv_forward  # pads as the layer does
    return conv(entering[:, columns], layer.weight[:, columns], None)


def _masked(model: nn.Module, place: Place, unit: int, x: Tensor) -> Callable[[], Tensor]:
    """A run of the model with a unit set to zero where it is read."""

    def run() -> Tensor:
        hooks = []
        try:
            for link in place.consumers:
                layer = get_layer(model, link.path)
                axis = -1 if isinstance(layer, nn.Linear) else 1
                hooks.append(layer.register_forward_pre_hook(_zeroing(link, place.width, unit, axis)))
            out: Tensor = model(x)
            return out
        finally:
            for hook in hooks:
                hook.remove()

    return run


def _zeroing(link: Link, width: int, unit: int, axis: int) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]:
    columns = link.columns(width)[unit]

    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return inputs[0].index_fill(axis, columns.to(inputs[0].device), 0.0), *inputs[1:]

    return hook
