"""Loss and accuracy of a model on samples, and its loss without each of some groups of channels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from creases._schema import instance
from creases._validation import check_arguments, check_choice, check_count, check_number
from creases.errors import InputError
from creases.network import as_network
from creases.network.surgery import ChannelGroup, evaluation_mode, masked_channels, unwrap_module

#: Number of samples that are run at a time.
BLOCK = 1000


@check_arguments(model=instance("Module"))
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
        tensor = values if isinstance(values, Tensor) else torch.as_tensor(np.asarray(values, order="C"))
    except (TypeError, ValueError) as problem:
        raise InputError(name, "be an array of numbers", f"{problem}") from None
    if tensor.is_meta:
        raise InputError(name, "be an array of numbers", "a tensor without data")
    return tensor


def losses(outputs: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each sample (n,); with one output: binary, class 1 where it is positive."""
    if outputs.shape[-1] == 1:
        return F.binary_cross_entropy_with_logits(outputs[..., 0], y.to(outputs.dtype), reduction="none")
    return F.cross_entropy(outputs, y, reduction="none")


@check_arguments(model=instance("Module"))
def evaluate(model: nn.Module, X: Tensor, y: Tensor) -> tuple[float, float]:
    """Return the mean loss and the accuracy of a model; outputs that are not finite count as wrong.

    ``X`` (n, *shape) and ``y`` (n,) are tensors on the model's device.
    """
    X, y = check_samples(model, X, y)
    loss, correct = 0.0, 0
    with evaluation_mode(model):
        for inputs, classes in blocks(X, y):
            out = model(inputs)
            loss += float(losses(out, classes).double().sum())
            decision = (out[:, 0] > 0).long() if out.shape[-1] == 1 else out.argmax(1)
            correct += int(((decision == classes) & out.isfinite().all(1)).sum())
    return loss / len(X), correct / len(X)


def blocks(X: Tensor, y: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield samples and classes, block by block."""
    for start in range(0, len(X), BLOCK):
        yield X[start : start + BLOCK], y[start : start + BLOCK]


def losses_without(model: nn.Module, groups: Sequence[ChannelGroup], X: Tensor, y: Tensor) -> Tensor:
    """Return the mean loss (len(groups),) of a model without each group of channels; the model is left unchanged.

    In a ``torch.nn.Sequential`` everything up to the layer that reads the channels is run once for all groups that it
    reads, and each group's contribution, computed from its columns alone, is subtracted from that layer's output; only
    what follows is run for each group. Other models are run in full for each group, with its columns set to zero.
    """
    total = torch.zeros(len(groups), dtype=torch.float64, device=X.device)
    by_reader: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        by_reader.setdefault(_only_reader(model, group), []).append(i)
    with evaluation_mode(model):
        for inputs, classes in blocks(X, y):
            for path, members in by_reader.items():
                if path:
                    outputs = _outputs_from_reader(model, path, [groups[i] for i in members], inputs)
                    for i, output in zip(members, outputs, strict=True):
                        total[i] += losses(output, classes).double().sum()
                    continue
                for i in members:
                    with masked_channels(model, [groups[i]]):
                        total[i] += losses(model(inputs), classes).double().sum()
    return total / len(X)


def _only_reader(model: nn.Module, group: ChannelGroup) -> str:
    """Return the layer of a sequential model that alone reads a group; "" if there is none."""
    path = next(iter(group.readers)) if len(group.readers) == 1 else ""
    layer = model._modules.get(path)
    simple = isinstance(layer, nn.Linear) or (
        isinstance(layer, _ConvNd) and not isinstance(layer, _ConvTransposeNd) and layer.groups == 1
    )
    once = sum(module is layer for module in model._modules.values()) == 1
    return path if type(model) is nn.Sequential and simple and once else ""


def _outputs_from_reader(model: nn.Module, path: str, groups: Sequence[ChannelGroup], X: Tensor) -> Iterator[Tensor]:
    """Yield the outputs of a sequential model without each group, where one layer reads all of them."""
    assert isinstance(model, nn.Sequential)
    k = list(model._modules).index(path)
    reader, after = model[k], model[k + 1 :]
    entering = model[:k](X)
    output = reader(entering)
    for group in groups:
        columns = torch.tensor(group.readers[path], device=X.device)
        if isinstance(reader, nn.Linear):
            part = F.linear(entering[..., columns], reader.weight[:, columns])
        else:
            assert isinstance(reader, _ConvNd)
            conv: Callable[..., Tensor] = reader._conv_forward  # pads as the layer does
            part = conv(entering[:, columns], reader.weight[:, columns], None)
        yield after(output - part)


def as_module(model: Any, input_shape: Sequence[int] | None = None) -> tuple[nn.Module, tuple[int, ...] | None]:
    """Return a torch module, and the shape of its input where it is known.

    A :class:`creases.Network` or a file name is rebuilt as a module of torch's layers.
    """
    if isinstance(model, nn.Module):
        return unwrap_module(model), None if input_shape is None else tuple(input_shape)
    net = as_network(model, input_shape)
    return net.module(), net.input_shape


#: Fine-tunes a model in place. It must respect gradient hooks, which keep some weights at zero.
Tune = Callable[[nn.Module], None]


def tuner(
    X: Tensor,
    y: Tensor,
    *,
    epochs: int = 1,
    optimizer: Literal["sgd", "adam"] = "sgd",
    lr: float = 1e-3,
    momentum: float = 0.9,
    weight_decay: float = 0.0,
    batch_size: int = 40,
    seed: int = 0,
) -> Tune:
    """Return a function that fine-tunes a model in place, with a new optimizer each time.

    Parameters
    ----------
    X, y
        Inputs (n, *shape) and classes (n,).
    epochs, optimizer, lr, momentum, weight_decay, batch_size
        As in torch; momentum is that of gradient descent.
    seed
        Seed of the order of the samples, which is different each time the function is called.
    """
    check_choice(optimizer, ("sgd", "adam"), "optimizer")
    check_count(epochs, "epochs", least=0)
    check_count(batch_size, "batch_size")
    check_number(lr, "lr", least=0)
    order = torch.Generator().manual_seed(seed)

    def tune(model: nn.Module) -> None:
        parameters = [p for p in model.parameters() if p.requires_grad]
        steps: torch.optim.Optimizer = (
            torch.optim.SGD(parameters, lr=lr, momentum=momentum, weight_decay=weight_decay)
            if optimizer == "sgd"
            else torch.optim.Adam(parameters, lr=lr, weight_decay=weight_decay)
        )
        mode = model.training
        model.train()
        for _ in range(epochs):
            shuffled = torch.randperm(len(X), generator=order).to(X.device)
            for start in range(0, len(X), batch_size):
                rows = shuffled[start : start + batch_size]
                steps.zero_grad()
                losses(model(X[rows]), y[rows]).mean().backward()  # type: ignore[no-untyped-call]
                steps.step()
        model.train(mode)

    return tune
