"""Loss and accuracy of a model on samples, and its loss without each unit of a place."""

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

#: Number of samples that are run at a time.
BLOCK = 1000


def check_samples(model: nn.Module, X: Any, y: Any, name: str = "") -> tuple[Tensor, Tensor]:
    """Return inputs (n, *shape) and classes (n,) on the model's device and in its precision.

    ``name`` is the parameter they are a part of, if they are not X and y themselves.
    """
    in_X, in_y = (f"{name}[0]", f"{name}[1]") if name else ("X", "y")
    like = next((p for p in model.parameters() if p.is_floating_point()), None)
    if like is None:
        raise InputError("model", "have parameters", "none")
    inputs, classes = _tensor(X, in_X), _tensor(y, in_y)
    if inputs.ndim < 2 or not len(inputs):
        raise InputError(in_X, "have shape (n, *shape) with at least one sample", f"shape {tuple(inputs.shape)}")
    if classes.shape != inputs.shape[:1]:
        raise InputError(in_y, f"have shape ({len(inputs)},), a class for each sample", f"{tuple(classes.shape)}")
    if classes.is_floating_point() or classes.is_complex():
        raise InputError(in_y, "be whole class numbers", f"entries of type {classes.dtype}")
    inputs = inputs.to(like.device, like.dtype)
    if not inputs.isfinite().all():
        raise InputError(in_X, "be finite", "NaN or infinite entries", "remove these samples, or fill them in")
    if int(classes.min()) < 0:
        raise InputError(in_y, "be class numbers from 0", f"{int(classes.min())}")
    classes = classes.to(like.device, torch.int64)
    with evaluation_mode(model):
        try:
            outputs = model(inputs[:2])
        except RuntimeError as problem:
            raise InputError(in_X, "fit the model", f"samples of shape {tuple(inputs.shape[1:])}: {problem}") from None
    n_classes = max(2, outputs.shape[-1]) if outputs.ndim == 2 else 0
    if not n_classes:
        raise InputError("model", "have outputs (n, classes)", f"{tuple(outputs.shape)}")
    if int(classes.max()) >= n_classes:
        raise InputError(in_y, f"be among the model's {n_classes} classes", f"class {int(classes.max())}")
    return inputs, classes


def _tensor(values: Any, name: str) -> Tensor:
    try:
        return torch.as_tensor(values)
    except (TypeError, ValueError) as problem:
        raise InputError(name, "be an array of numbers", f"{problem}") from None


def check_accuracy(min_accuracy: float, accuracy: float) -> None:
    """Refuse a smallest accuracy that a model does not have to begin with."""
    if not 0 <= min_accuracy <= 1:
        raise InputError("min_accuracy", "be a fraction from 0 to 1", repr(min_accuracy))
    if accuracy < min_accuracy:
        raise InputError("min_accuracy", f"be at most the model's accuracy, {accuracy:.4g}", f"{min_accuracy:.4g}")


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode without gradients; restore the mode of each module afterwards."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def losses(outputs: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each sample (n,); with one output: binary, class 1 where it is positive."""
    if outputs.shape[-1] == 1:
        return F.binary_cross_entropy_with_logits(outputs[..., 0], y.to(outputs.dtype), reduction="none")
    return F.cross_entropy(outputs, y, reduction="none")


def evaluate(model: nn.Module, X: Tensor, y: Tensor) -> tuple[float, float]:
    """Return the mean loss and the accuracy of a model; outputs that are not finite count as wrong.

    ``X`` (n, *shape) and ``y`` (n,) are tensors on the model's device.
    """
    loss, correct = 0.0, 0
    with evaluation_mode(model):
        for inputs, classes in _blocks(X, y):
            out = model(inputs)
            loss += float(losses(out, classes).double().sum())
            decision = (out[:, 0] > 0).long() if out.shape[-1] == 1 else out.argmax(1)
            correct += int(((decision == classes) & out.isfinite().all(1)).sum())
    return loss / len(X), correct / len(X)


def _blocks(X: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the samples block by block."""
    for start in range(0, len(X), BLOCK):
        yield X[start : start + BLOCK], y[start : start + BLOCK]


def losses_without(model: nn.Module, place: Place, X: Tensor, y: Tensor) -> Tensor:
    """Return the mean loss (width,) of a model without each unit of a place; the model is left unchanged.

    In a ``torch.nn.Sequential`` everything up to the layer that reads the units is run once for all of them, and each
    unit's contribution, computed from its columns alone, is subtracted from that layer's output; only what follows is
    run for each unit. Other models are run in full for each unit, with its entries set to zero where they are read.
    """
    total = torch.zeros(place.width, dtype=torch.float64, device=X.device)
    units = place.consumers[0].columns(place.width).to(X.device) if place.consumers else None
    split = _split_at_reader(model, place)
    with evaluation_mode(model):
        for inputs, classes in _blocks(X, y):
            if split is None:
                runs = [_run_without(model, place, unit, inputs) for unit in range(place.width)]
            else:
                assert units is not None
                before, reader, after = split
                entering = before(inputs)
                output = reader(entering)
                runs = [_run_from_reader(after, output, reader, entering, columns) for columns in units]
            for unit, run in enumerate(runs):
                total[unit] += losses(run(), classes).double().sum()
    return total / len(X)


def _run_from_reader(
    after: nn.Module, output: Tensor, reader: nn.Module, entering: Tensor, columns: Tensor
) -> Callable[[], Tensor]:
    """Return a function that runs the rest of a model without the contribution of some columns."""
    return lambda: after(output - _contribution(reader, entering, columns))


def _split_at_reader(model: nn.Module, place: Place) -> tuple[nn.Module, nn.Module, nn.Module] | None:
    """Split a sequential model at the only layer that reads the units; None if there is no such layer."""
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


def _contribution(layer: nn.Module, entering: Tensor, columns: Tensor) -> Tensor:
    """Return what some columns add to a layer's output."""
    if isinstance(layer, nn.Linear):
        return F.linear(entering[..., columns], layer.weight[:, columns])
    assert isinstance(layer, _ConvNd)
    conv: Callable[..., Tensor] = layer._conv_forward  # pads as the layer does
    return conv(entering[:, columns], layer.weight[:, columns], None)


def _run_without(model: nn.Module, place: Place, unit: int, X: Tensor) -> Callable[[], Tensor]:
    """Return a function that runs a model with a unit set to zero where it is read."""

    def run() -> Tensor:
        hooks = []
        try:
            for link in place.consumers:
                layer = get_layer(model, link.path)
                axis = -1 if isinstance(layer, nn.Linear) else 1
                hooks.append(layer.register_forward_pre_hook(_zeroing_hook(link, place.width, unit, axis)))
            out: Tensor = model(X)
            return out
        finally:
            for hook in hooks:
                hook.remove()

    return run


def _zeroing_hook(
    link: Link, width: int, unit: int, axis: int
) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]:
    columns = link.columns(width)[unit]

    def hook(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return inputs[0].index_fill(axis, columns.to(inputs[0].device), 0.0), *inputs[1:]

    return hook
