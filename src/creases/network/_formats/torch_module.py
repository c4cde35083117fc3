"""Programs as torch modules, for layers that follow one another."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from creases._program._pieces import forward
from creases._program._program import Program
from creases._program._step import Step
from creases.errors import InputError

_CONV = {"conv": "Conv", "conv_transpose": "ConvTranspose"}


def to_module(program: Program) -> nn.Sequential:
    """Return a torch module that computes the same function, which is verified at random inputs."""
    modules: list[nn.Module] = []
    i = 0
    while i < len(program.steps):
        step = program.steps[i]
        if step.inputs != (i,):
            raise InputError(
                "network",
                "consist of layers that follow one another to become a torch module",
                f"{step.path or step.op}, which reads an earlier value (a residual connection, for example)",
            )
        pool = _max_pool(program, i)
        if pool is not None:
            modules.append(pool)
            i += 2
            continue
        if not (step.op in ("scale", "add") and modules and _fold_into(modules[-1], step)):
            modules.append(_module(step, program.shapes[i]))
        i += 1
    model = nn.Sequential(*modules).to(program.dtype).eval()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, *program.input_shape, generator=generator, dtype=torch.float64).to(program.dtype)
    with torch.no_grad():
        expected, rebuilt = forward(program, x).double(), model(x).double()
    tolerance = 1e3 * torch.finfo(program.dtype).eps * float(expected.abs().max())
    if expected.shape != rebuilt.shape or float((expected - rebuilt).abs().max()) > tolerance:
        raise InputError("network", "be reproducible as a torch module", "a module that computes another function")
    return model


class Fixed(nn.Module):
    """A step that torch has no layer for as a module, with fixed weights."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step
        for name, tensor in step.tensors.items():
            self.register_buffer(name, tensor.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        """Apply the step to x (b, ...)."""
        tensors = {name: getattr(self, name) for name in self.step.tensors}
        return Step(self.step.op, (0,), self.step.shape, self.step.options, tensors).apply([x])


def _module(step: Step, before: tuple[int, ...]) -> nn.Module:
    if step.op == "linear":
        return _fill(nn.Linear(before[-1], step.shape[-1], _has_offset(step, 1), device="meta"), step)
    if step.op in _CONV:
        weight, options = step.tensors["weight"], step.options
        n, channels = weight.ndim - 2, [len(weight), weight.shape[1] * options["groups"]]
        names = ("stride", "padding", "dilation", "output_padding")
        layer = getattr(nn, f"{_CONV[step.op]}{n}d")(
            *(channels if step.op == "conv_transpose" else reversed(channels)),
            tuple(weight.shape[2:]),
            groups=options["groups"],
            bias=_has_offset(step, n + 1),
            device="meta",
            **{name: tuple(options[name]) for name in names if name in options},
        )
        return _fill(layer, step)
    if step.op == "relu":
        return _bend(step)
    if step.op == "reshape" and 1 in (len(step.shape), len(before)):
        return nn.Flatten() if len(step.shape) == 1 else nn.Unflatten(1, step.shape)
    return Fixed(step)


def _has_offset(step: Step, axes: int) -> bool:
    offset = step.offset
    if offset is not None and (offset.ndim > axes or offset.numel() not in (1, offset.shape[0] if offset.ndim else 1)):
        raise InputError(
            "network", "add one constant per channel to become a torch module", f"{step.path}, with one per position"
        )
    return offset is not None


def _fill(layer: Any, step: Step) -> nn.Module:
    """Give a layer the weights of a step."""
    weight = step.tensors["weight"].detach().clone()
    layer.weight = nn.Parameter(weight)
    if step.offset is not None:
        layer.bias = nn.Parameter(step.offset.detach().reshape(-1).expand(len(layer.bias)).clone())
    return layer  # type: ignore[no-any-return]


def _fold_into(layer: nn.Module, step: Step) -> bool:
    """Fold a factor and an offset per unit (a batch norm, a bias) into the layer before; return whether that worked."""
    if not isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d):
        return False
    units, axes = len(layer.weight), layer.weight.ndim - 1  # of the output; units come first for convolutions
    parts = []
    scale = step.tensors["factor"] if step.op == "scale" else torch.tensor(float(step.options["signs"][0]))
    for constant in (scale, step.offset):
        part = torch.zeros(()) if constant is None else constant.detach()
        if part.numel() != 1 and (part.numel() != units or part.ndim != (1 if axes == 1 else axes)):
            return False
        parts.append(part.reshape(-1).expand(units).to(layer.weight.dtype))
    factor, shift = parts
    layer.weight = nn.Parameter(layer.weight.detach() * factor.reshape(-1, *[1] * axes))
    bias = torch.zeros(units, dtype=factor.dtype) if layer.bias is None else layer.bias.detach()
    layer.bias = nn.Parameter(bias * factor + shift)
    return True


def _bend(step: Step) -> nn.Module:
    leak = step.leak
    if leak is None:
        return nn.ReLU()
    if leak.numel() == 1:
        return nn.LeakyReLU(float(leak))
    slopes = leak.reshape(leak.shape[0], -1)
    if not torch.equal(slopes, slopes[:, :1].expand_as(slopes)):
        raise InputError(
            "network", "have one slope per channel to become a torch module", f"{step.path}, with one per position"
        )
    bend = nn.PReLU(len(slopes), device="meta")
    bend.weight = nn.Parameter(slopes[:, 0].detach().clone())
    return bend


def _max_pool(program: Program, i: int) -> nn.MaxPool2d | None:
    """Return the max-pooling layer that two steps make up: a gather of windows and a choice; None if they do not."""
    pair = program.steps[i : i + 2]
    if [step.op for step in pair] != ["gather", "choice"] or pair[1].inputs != (i + 1,) or len(program.shapes[i]) != 3:
        return None
    index = pair[0].tensors["index"].numpy()
    kernel = isqrt(index.shape[-1])
    if index.ndim != 4 or kernel**2 != index.shape[-1]:
        return None
    stride = int(index[0, 0, 1, 0] - index[0, 0, 0, 0]) if index.shape[2] > 1 else kernel
    places = np.arange(np.prod(program.shapes[i])).reshape(program.shapes[i])
    windows = np.lib.stride_tricks.sliding_window_view(places, (kernel, kernel), axis=(1, 2))[:, ::stride, ::stride]
    same = windows.reshape(*windows.shape[:3], -1)
    return nn.MaxPool2d(kernel, stride) if same.shape == index.shape and (same == index).all() else None
