"""Random small torch models of operations that people use, each with what it is made of.

Choices come from a ``random.Random``: hypothesis supplies one that it can shrink, benchmarks one with a seed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from agreement import Lambda, seeded

Shape = tuple[int, ...]
Make = Callable[[Random, Shape], Any]

#: Entries of the largest value, without the batch axis.
LARGEST = 300


class Residual(nn.Module):
    """An inner model beside the identity, joined by a function of both."""

    def __init__(self, inner: nn.Module, join: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.inner, self.join = inner, join

    def forward(self, x: Tensor) -> Tensor:
        return self.join(x, self.inner(x))


class Plain(nn.Module):
    """A function of a value and of a tensor that is neither parameter nor buffer, in some precision."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor], tensor: Tensor) -> None:
        super().__init__()
        self.function, self.tensors = function, [tensor]

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.tensors[0])


def in_double(model: nn.Module) -> nn.Module:
    """A copy that computes in float64 with all tensors, changing none in place, which gradients may not allow."""
    model = copy.deepcopy(model).double()
    for part in model.modules():
        if isinstance(part, Plain):
            part.tensors = [tensor.double() if tensor.is_floating_point() else tensor for tensor in part.tensors]
        if hasattr(part, "inplace"):
            part.inplace = False
    return model


def numbers(r: Random, *shape: int) -> Tensor:
    """Random numbers that a float16 holds."""
    generator = torch.Generator().manual_seed(r.randrange(2**31))
    return torch.randn(shape, generator=generator).half().float()


def weight(function: Callable[..., Tensor], r: Random, *shape: int) -> nn.Module:
    """A function of a value and of a weight: a buffer, or a tensor kept aside in some precision."""
    w = numbers(r, *shape)
    how = r.choice(["buffer", "float", "half", "double"])
    return Lambda(function, w=w) if how == "buffer" else Plain(function, getattr(w, how)())


def _fixed(function: Callable[[Tensor], Tensor]) -> Make:
    return lambda r, s: Lambda(function)


def _recurrence(r: Random, s: Shape) -> nn.Module:
    cell = nn.Linear(s[0], s[0])

    class Recurrence(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, x: Tensor) -> Tensor:
            h = torch.zeros_like(x[:, :, 0])
            states = []
            for part in x.unbind(2):
                h = torch.relu(part + self.cell(h))
                states.append(h)
            return torch.stack(states, dim=-1)

    return Recurrence()


def _mixer(r: Random, s: Shape) -> nn.Module:
    mlp = nn.Sequential(nn.Linear(s[1], 4), nn.ReLU(), nn.Linear(4, s[1]))
    return Residual(nn.Sequential(nn.BatchNorm1d(s[0]), mlp), torch.add)


def _convnext(r: Random, s: Shape) -> nn.Module:
    c = s[0]
    mlp = nn.Sequential(nn.Linear(c, 2 * c), nn.LeakyReLU(0.1), nn.Linear(2 * c, c))
    parts = [nn.Conv2d(c, c, 3, padding=1, groups=c), Lambda(lambda x: x.permute(0, 2, 3, 1)), mlp]
    return Residual(nn.Sequential(*parts, Lambda(lambda x: x.permute(0, 3, 1, 2))), torch.add)


def _basic_block(r: Random, s: Shape) -> nn.Module:
    c = s[0]
    inner = [nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(inplace=True)]
    block = Residual(nn.Sequential(*inner, nn.Conv2d(c, c, 1), nn.BatchNorm2d(c)), torch.add)
    return nn.Sequential(block, nn.ReLU(inplace=r.random() < 0.5))


def _unet(r: Random, s: Shape) -> nn.Module:
    c = s[0]
    up = nn.ConvTranspose2d(c, c, 2, 2) if r.random() < 0.5 else nn.Upsample(scale_factor=2, mode="nearest")
    inner = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), up)
    return Residual(inner, lambda x, y: torch.cat([x[:, :, : y.shape[2], : y.shape[3]], y], 1))


def _joined(r: Random, s: Shape) -> nn.Module:
    """A layer beside the identity, joined in some way."""
    last = nn.Linear(s[-1], s[-1])
    joins = [
        torch.add,
        torch.sub,
        torch.maximum,
        torch.minimum,
        torch.min,
        lambda x, y: torch.cat([x, y], 1),
        lambda x, y: torch.cat([x, y], -1),
        lambda x, y: torch.stack([x, y], 1).amax(1),
        lambda x, y: torch.stack([x, y]).mean(0),
        lambda x, y: torch.where(x > y, x, y),
        lambda x, y: torch.lerp(x, y, 0.25),
        lambda x, y: (x - y).abs().mul(0.5).add(y),
    ]
    return Residual(nn.Sequential(last, nn.ReLU()), r.choice(joins))


#: Operations on values of any shape.
ANY: dict[str, Make] = {
    "relu": lambda r, s: r.choice([nn.ReLU(), nn.ReLU(inplace=True), Lambda(F.relu), Lambda(lambda x: x.clamp(min=0))]),
    "leaky": lambda r, s: nn.LeakyReLU(r.choice([0.01, 0.2, -0.5])),
    "prelu": lambda r, s: nn.PReLU(),
    "relu6": lambda r, s: r.choice([nn.ReLU6(), nn.Hardtanh(-0.5, 1.0), Lambda(lambda x: F.relu6(x + 3) / 6)]),
    "softshrink": lambda r, s: nn.Softshrink(r.choice([0.0, 0.3])),
    "threshold": lambda r, s: nn.Threshold(0.25, 0.25),
    "clamp": lambda r, s: weight(lambda x, w: torch.clamp(x, w - 1, w.abs() + w), r, s[-1]),
    "abs": _fixed(lambda x: abs(x) - 0.5),
    "leaky by where": _fixed(lambda x: torch.where(x > 0, x, 0.1 * x)),
    "relu by mask": _fixed(lambda x: x * (x > 0)),
    "relu by float mask": _fixed(lambda x: (x >= 0.0).float() * x),
    "relu by fill": _fixed(lambda x: x.masked_fill(x < 0, 0.0)),
    "floor by where": _fixed(lambda x: torch.where(x < -0.3, torch.full_like(x, -0.3), x)),
    "by sign": _fixed(lambda x: torch.sign(x) * x + x),
    "constant mask": lambda r, s: weight(lambda x, w: torch.where(w > 0, x, 0.5 - x), r, s[-1]),
    "fill": lambda r, s: weight(lambda x, w: x.masked_fill(w > 1, 0.5), r, s[-1]),
    "mask": lambda r, s: weight(lambda x, w: x * (w > -1), r, s[-1]),
    "maximum": lambda r, s: weight(lambda x, w: torch.maximum(x, w.to(x.dtype)), r, s[-1]),
    "minimum": lambda r, s: weight(lambda x, w: torch.min(x, w.to(x.dtype)), r, s[-1]),
    "scale": lambda r, s: weight(lambda x, w: x * w + 1, r, s[-1]),
    "standardize": lambda r, s: weight(lambda x, w: (x - w) / (w * w + 1), r, s[-1]),
    "numbers": _fixed(lambda x: (2 - x) / 3 - (-x) * 0.5 + True),
    "integers": lambda r, s: Plain(lambda x, w: x * w + w, torch.arange(1, s[-1] + 1)),
    "lerp": lambda r, s: weight(lambda x, w: torch.lerp(x, x.flip(-1), w.to(x.dtype).sigmoid()), r, s[-1]),
    "addcmul": lambda r, s: weight(lambda x, w: torch.addcmul(x, x.flip(-1), w.to(x.dtype), value=0.5), r, s[-1]),
    "power": _fixed(lambda x: x**1.0),
    "dropout": lambda r, s: nn.Dropout(0.5),
    "identity": _fixed(lambda x: x.clone().contiguous()),
    "in place": _fixed(lambda x: x.mul(2).add_(1).relu_()),
    "center": _fixed(lambda x: x - x.mean(-1, keepdim=True)),
    "center and scale": _fixed(lambda x: x - x.amax(-1, keepdim=True).expand_as(x) / 2),
    "roll": _fixed(lambda x: x.roll(1, -1)),
    "flip": _fixed(lambda x: x.flip(-1)),
    "last half": _fixed(lambda x: x[..., x.shape[-1] // 2 :]),
    "every other": _fixed(lambda x: x[..., ::2]),
    "index": lambda r, s: Plain(lambda x, k: x[..., k], torch.tensor([r.randrange(s[-1]) for _ in range(3)])),
    "index_select": lambda r, s: Plain(lambda x, k: x.index_select(-1, k), torch.tensor([0, s[-1] - 1])),
    "cumsum": _fixed(lambda x: x.cumsum(-1)),
    "diff": _fixed(lambda x: torch.cat([x, x.diff(dim=-1)], -1)),
    "cat constant": _fixed(lambda x: torch.cat([x, torch.ones_like(x)], 1)),
    "linear": lambda r, s: nn.Linear(s[-1], r.randint(1, 6), bias=r.random() < 0.7),
    "matmul": lambda r, s: weight(lambda x, w: x @ w.to(x.dtype), r, s[-1], 3),
    "einsum": lambda r, s: weight(lambda x, w: torch.einsum("b...i,ij->b...j", x, w.to(x.dtype)), r, s[-1], 3),
    "rows": _fixed(lambda x: torch.relu(x.reshape(-1, x.shape[-1]) - 0.1).view(x.shape)),
    "list": _fixed(lambda x: torch.stack([x, 0.5 - x, 2 * x]).max(0).values),
    "halves": _fixed(lambda x: (lambda a, b: a[..., : b.shape[-1]] - 2 * b.abs())(*x.tensor_split(2, -1))),
    "joined": _joined,
    "pad": _fixed(lambda x: F.pad(x, (1, 2), value=0.5)),
    "flatten": lambda r, s: nn.Flatten(),
    "softmax of constants": lambda r, s: weight(lambda x, w: x @ w.double().softmax(0).to(x.dtype), r, s[-1], s[-1]),
}

VECTORS: dict[str, Make] = {
    "batch norm": lambda r, s: nn.BatchNorm1d(s[0], affine=r.random() < 0.8),
    "unflatten": lambda r, s: nn.Unflatten(1, (s[0] // 2, 2)),
    "maxout": _fixed(lambda x: x.view(x.shape[0], -1, 2).amax(2)),
    "unsqueeze": _fixed(lambda x: x.unsqueeze(1)),
    "norm": _fixed(lambda x: x.norm(p=1, dim=1, keepdim=True) - x),
    "outer": lambda r, s: weight(lambda x, w: x[:, :, None] * w, r, 3),
    "addmm": lambda r, s: weight(lambda x, w: torch.addmm(w[0].to(x.dtype), x, w.to(x.dtype)), r, s[0], 3),
    "gather": lambda r, s: Plain(lambda x, k: x.gather(1, k.expand(x.shape[0], -1)), torch.tensor([[s[0] - 1, 0]])),
    "bmm": lambda r, s: weight(lambda x, w: (w.to(x.dtype) @ x[..., None]).squeeze(-1), r, 3, s[0]),
    "repeat": _fixed(lambda x: x.repeat(1, 2).view(x.shape[0], 2, -1).sum(1)),
}

SEQUENCES: dict[str, Make] = {
    "conv": lambda r, s: nn.Conv1d(s[0], 3, 2, r.choice([1, 2]), r.choice([0, 1]), padding_mode="circular"),
    "transposed": lambda r, s: nn.ConvTranspose1d(s[0], 2, 3, stride=2, padding=1),
    "max": lambda r, s: nn.MaxPool1d(2, r.choice([1, 2]), ceil_mode=r.random() < 0.5),
    "average": lambda r, s: nn.AvgPool1d(2, 1, padding=r.choice([0, 1])),
    "adaptive": lambda r, s: r.choice([nn.AdaptiveAvgPool1d(2), nn.AdaptiveMaxPool1d(2)]),
    "batch norm": lambda r, s: nn.BatchNorm1d(s[0]),
    "transpose": _fixed(lambda x: x.transpose(1, 2)),
    "channels": lambda r, s: weight(lambda x, w: torch.einsum("dc,bcl->bdl", w.to(x.dtype), x), r, 2, s[0]),
    "left": lambda r, s: weight(lambda x, w: w.to(x.dtype) @ x, r, 3, s[0]),
    "sequence first": lambda r, s: nn.Sequential(
        Lambda(lambda x: x.permute(2, 0, 1)), nn.Linear(s[0], 3), nn.ReLU(), Lambda(lambda x: x.permute(1, 2, 0))
    ),
    "last state": _fixed(lambda x: x.transpose(0, 1)[-1]),
    "recurrence": _recurrence,
    "mixer": _mixer,
    "mean": _fixed(lambda x: x.mean(1)),
    "largest": _fixed(lambda x: torch.max(x, dim=2)[0]),
    "resize": lambda r, s: nn.Upsample(scale_factor=2, mode=r.choice(["nearest", "linear"])),
    "windows": _fixed(lambda x: x.unfold(2, 2, 1).amax(-1)),
    "reflect": _fixed(lambda x: F.pad(x, (1, 0), mode="reflect")),
    "unbind": _fixed(lambda x: torch.stack([part.relu() for part in x.unbind(1)], 1)),
    "groups": _fixed(lambda x: x.repeat_interleave(2, dim=1)),
    "image": _fixed(lambda x: x.unsqueeze(2)),
    "triangle": _fixed(lambda x: x.tril()),
}

IMAGES: dict[str, Make] = {
    "conv": lambda r, s: nn.Conv2d(
        s[0],
        r.randint(1, 3),
        r.choice([1, 3, (1, 2)]),
        stride=r.choice([1, 2]),
        padding=r.choice([0, 1]),
        dilation=r.choice([1, 1, 2]),
        bias=r.random() < 0.7,
        padding_mode=r.choice(["zeros", "zeros", "replicate", "reflect"]),
    ),
    "same": lambda r, s: nn.Conv2d(s[0], 2, 3, padding="same", dilation=r.choice([1, 2])),
    "depthwise": lambda r, s: nn.Sequential(nn.Conv2d(s[0], 2 * s[0], 3, padding=1, groups=s[0]), nn.ReLU6()),
    "transposed": lambda r, s: nn.ConvTranspose2d(s[0], 2, 3, 2, 1, output_padding=r.choice([0, 1])),
    "max": lambda r, s: nn.MaxPool2d(r.choice([2, 3]), r.choice([1, 2]), r.choice([0, 1]), ceil_mode=r.random() < 0.5),
    "average": lambda r, s: nn.AvgPool2d(2, r.choice([1, 2]), 1, r.random() < 0.5, r.random() < 0.5),
    "adaptive": lambda r, s: r.choice([nn.AdaptiveAvgPool2d((2, 1)), nn.AdaptiveMaxPool2d(2), nn.AdaptiveAvgPool2d(1)]),
    "batch norm": lambda r, s: nn.BatchNorm2d(s[0]),
    "prelu": lambda r, s: nn.PReLU(s[0]),
    "resize": lambda r, s: r.choice(
        [
            nn.Upsample(scale_factor=2),
            nn.Upsample(size=(5, 4), mode="bilinear"),
            nn.Upsample(size=(3, 5), mode="bilinear", align_corners=True),
            nn.Upsample(scale_factor=2, mode="bicubic"),
            Lambda(lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear")),
            Lambda(lambda x: F.interpolate(x, (4, 4), mode="area")),
        ]
    ),
    "shuffle": lambda r, s: nn.Sequential(nn.Conv2d(s[0], 4, 1), nn.PixelShuffle(2)),
    "unshuffle": lambda r, s: nn.PixelUnshuffle(2),
    "focus": _fixed(lambda x: torch.cat([x[..., i:-1:2, j:-1:2] for i in (0, 1) for j in (0, 1)], 1)),
    "patches": lambda r, s: Lambda(
        lambda x: (
            x[:, :, : s[1] // 2 * 2, : s[2] // 2 * 2]
            .reshape(x.shape[0], s[0], s[1] // 2, 2, s[2] // 2, 2)
            .permute(0, 2, 4, 1, 3, 5)
            .flatten(3)
            .flatten(1, 2)
        )
    ),
    "tokens": _fixed(lambda x: x.flatten(2).transpose(1, 2)),
    "channel shuffle": _fixed(
        lambda x: x.repeat(1, 2, 1, 1).view(x.shape[0], 2, -1, *x.shape[2:]).transpose(1, 2).flatten(1, 2)
    ),
    "convnext": _convnext,
    "basic block": _basic_block,
    "u-net": _unet,
    "global mean": _fixed(lambda x: x.mean((2, 3))),
    "global max": _fixed(lambda x: x.amax((-2, -1), keepdim=True) - x),
    "crop": _fixed(lambda x: x[:, :, 1:, :-1]),
    "pad": _fixed(lambda x: F.pad(x, (1, 0, 0, 1), mode="replicate")),
    "unfold": lambda r, s: nn.Unfold(2, stride=r.choice([1, 2])),
    "channels last": lambda r, s: nn.Sequential(Lambda(lambda x: x.permute(0, 2, 3, 1)), nn.Linear(s[0], 3), nn.ReLU()),
    "shift": _fixed(lambda x: torch.cat([x[:, :1].roll(1, 2), x[:, 1:].roll(-1, 3)], 1)),
}

#: Operations that are not continuous and piecewise linear, with a word that the reason must have.
SMOOTH: dict[str, tuple[Make, str]] = {
    "gelu": (lambda r, s: nn.GELU(), "smooth"),
    "sigmoid": (lambda r, s: nn.Sequential(nn.Sigmoid(), nn.ReLU(), nn.Sigmoid()), "smooth"),
    "gate": (_fixed(lambda x: x * x.mean(-1, keepdim=True)), "multiplies"),
    "layer norm": (lambda r, s: nn.LayerNorm(s[-1]), "statistics"),
    "jump": (_fixed(lambda x: torch.where(x > 0, x + 1, x)), "jump"),
    "hard shrink": (lambda r, s: nn.Hardshrink(), "continuous"),
    "sort": (_fixed(lambda x: x.sort(-1).values), "orders"),
    "norm": (_fixed(lambda x: x.norm(dim=-1, keepdim=True) + x), "squares"),
    "std": (_fixed(lambda x: x - x.std(-1, keepdim=True, unbiased=False)), "squares"),
    "round": (_fixed(lambda x: x.round() + x), "continuous"),
    "batch mean": (_fixed(lambda x: x - x.mean(0)), "batch"),
    "condition": (_fixed(lambda x: x if x.sum() > 0 else -x), "condition"),
}


def random_model(r: Random, *, smooth: float = 0.0, longest: int = 5) -> tuple[nn.Module, Shape, list[str], str]:
    """Return a model in eval mode, the shape of an input, what it is made of, and a word of the reason to refuse it.

    That is "" for a continuous piecewise-linear model; ``smooth`` is the share of others.
    """
    shape = first = r.choice([(4,), (6,), (2, 4), (3, 5), (1, 6, 6), (2, 5, 4), (3, 4, 4)])
    layers: list[nn.Module] = []
    names: list[str] = []
    for _ in range(r.randint(1, longest)):
        menu = ANY | {1: VECTORS, 2: SEQUENCES, 3: IMAGES}.get(len(shape), {})
        special = [name for name in menu if name not in ANY]
        name = r.choice(special if special and r.random() < 0.6 else list(menu))
        made = _layer(menu[name], r, shape)
        if made is not None:
            layers.append(made[0])
            names.append(name)
            shape = made[1]
    word = ""
    if r.random() < smooth and shape[-1] > 1:
        name = r.choice(list(SMOOTH))
        make, word = SMOOTH[name]
        layers += [nn.Linear(shape[-1], 3), seeded(make(r, (*shape[:-1], 3)), r.randrange(1000)), nn.Linear(3, 2)]
        names.append(name)
    return seeded(nn.Sequential(*layers), r.randrange(1000)).eval(), first, names, word


def _layer(make: Make, r: Random, shape: Shape) -> tuple[nn.Module, Shape] | None:
    """Return a layer and the shape of its output; None if it does not fit."""
    try:
        layer = make(r, shape).eval()
        with torch.no_grad():
            outs = [layer(torch.randn(n, *shape)) for n in (2, 3)]
    except (RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError):
        return None
    after = tuple(outs[0].shape[1:])
    fits = outs[0].ndim > 1 and [len(out) for out in outs] == [2, 3] and 0 < outs[0].numel() <= 2 * LARGEST
    return (layer, after) if fits and tuple(outs[1].shape[1:]) == after and len(after) <= 4 else None
