"""Small torch models with channels that can only be removed together, and with some that cannot be removed."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from surgery_models import MODELS, seeded_model


class ResBlock(nn.Module):
    """Two convolutions and a shortcut: the identity, a convolution or zero padding."""

    def __init__(self, before: int, inner: int, after: int, shortcut: str) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(before, inner, 3, padding=1, bias=False), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = nn.Conv2d(inner, after, 3, padding=1, bias=False), nn.BatchNorm2d(after)
        self.short = nn.Sequential(nn.Conv2d(before, after, 1), nn.BatchNorm2d(after)) if shortcut == "conv" else None
        self.pad = after - before if shortcut == "pad" else 0

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.short is not None:
            x = self.short(x)
        elif self.pad:
            x = F.pad(x, (0, 0, 0, 0, 0, self.pad))
        return F.relu(y + x)


class ResNet(nn.Module):
    """An identity shortcut, then one of another kind, then an identity shortcut again."""

    def __init__(self, shortcut: str) -> None:
        super().__init__()
        self.stem, self.bn = nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.a = ResBlock(4, 3, 4, "identity")
        self.b = ResBlock(4, 5, 6, shortcut)
        self.c = ResBlock(6, 2, 6, "identity")
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.c(self.b(self.a(F.relu(self.bn(self.stem(x))))))
        return self.head(h.mean((2, 3)))


class Inverted(nn.Module):
    """A MobileNet block: expand, depthwise convolution, project; its input is added."""

    def __init__(self, multiplier: int = 1) -> None:
        super().__init__()
        wide = 6 * multiplier
        self.stem, self.expand = nn.Conv2d(2, 3, 1), nn.Conv2d(3, 6, 1)
        self.deep = nn.Conv2d(6, wide, 3, padding=1, groups=6)
        self.norm, self.project = nn.BatchNorm2d(wide), nn.Conv2d(wide, 3, 1)
        self.head = nn.Linear(3 * 16, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu6(self.stem(x))
        y = self.project(F.relu6(self.norm(self.deep(F.relu6(self.expand(x))))))
        return self.head((x + y).flatten(1))


def grouped(groups: int, into: int, out: int, transposed: bool = False) -> nn.Module:
    make = nn.ConvTranspose2d if transposed else nn.Conv2d
    inner = make(into, out, 3, padding=1, groups=groups)
    return nn.Sequential(nn.Conv2d(2, into, 1), nn.ReLU(), inner, nn.PReLU(out), nn.Flatten(), nn.Linear(16 * out, 3))


class Gate(nn.Module):
    """Squeeze and excitation: channels are multiplied by gates computed from their means."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.down, self.up = nn.Conv2d(2, 5, 3), nn.Linear(5, 2), nn.Linear(2, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.stem(x))
        gate = torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3))))))
        return self.head((x * gate[:, :, None, None]).amax((2, 3)))


class Dense(nn.Module):
    """Each layer reads the outputs of all layers before it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 4), nn.Linear(7, 5), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([x, F.relu(self.a(x))], dim=1)
        x = torch.cat([x, F.relu(self.b(x))], dim=1)
        return self.c(x)


class Recurrent(nn.Module):
    """A layer that is called three times, on its own output."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.step, self.head = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.first(x))
        for _ in range(3):
            x = F.relu(self.step(x))
        return self.head(x)


class Slices(nn.Module):
    """Code that takes channels by number: the first slice would move, the last one only ends earlier."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.left, self.right = nn.Linear(3, 6), nn.Linear(2, 3), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.first(x))
        return self.left(x[:, :2]) + self.right(x[:, 2:6])


class SpatialGate(nn.Module):
    """One channel multiplies all others: it stays, they can be removed."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.gate, self.head = nn.Conv2d(2, 4, 1), nn.Conv2d(2, 1, 1), nn.Linear(64, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head((F.relu(self.stem(x)) * torch.sigmoid(self.gate(x))).flatten(1))


class Tied(nn.Module):
    """Two layers share a weight; a third has one that is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), weight_norm(nn.Linear(3, 4))
        self.b.weight = self.a.weight
        self.head = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.relu(self.c(F.relu(self.b(F.relu(self.a(x)))))))


class Functional(nn.Module):
    """A layer whose weight is used by a function, and a normalisation over all channels."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 4), nn.Linear(4, 5), nn.Linear(5, 3)
        self.norm = nn.LayerNorm(5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.a(x))
        return self.c(self.norm(F.relu(F.linear(x, self.b.weight, self.b.bias))))


class Scaled(nn.Module):
    """A parameter outside of any layer multiplies the channels of one layer, which therefore stay."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 4), nn.Linear(4, 5), nn.Linear(5, 3)
        self.scale = nn.Parameter(torch.rand(4) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.c(F.relu(self.b(self.scale * F.relu(self.a(x)))))


#: Name to (model, input shape, output channels of each group, fixed channels of each layer).
Case = tuple[Callable[[], nn.Module], tuple[int, ...], list[int], dict[str, int]]
COUPLED: dict[str, Case] = {
    # stem, a.conv2 and the inner channels; b.conv2, b.short.0 and c.conv2
    "conv shortcut": (lambda: ResNet("conv"), (2, 4, 4), [1] * 10 + [2] * 4 + [3] * 6, {"head": 3}),
    # stem, a.conv2, b.conv2 and c.conv2 together; two channels of the latter meet the padding
    "padded shortcut": (
        lambda: ResNet("pad"), (2, 4, 4), [1] * 10 + [4] * 4, {"head": 3, "b.conv2": 2, "c.conv2": 2}
    ),
    "depthwise": (Inverted, (2, 4, 4), [2] * 6 + [2] * 3, {"head": 3}),
    "depthwise with two outputs each": (lambda: Inverted(2), (2, 4, 4), [2] * 3 + [3] * 6, {"head": 3}),
    "small groups": (lambda: grouped(4, 8, 12), (2, 4, 4), [5] * 4, {"5": 3}),
    "large groups": (lambda: grouped(2, 6, 8), (2, 4, 4), [2] * 3 + [2] * 4, {"5": 3}),
    "transposed depthwise": (lambda: grouped(4, 4, 8, True), (2, 4, 4), [3] * 4, {"5": 3}),
    "transposed large groups": (lambda: grouped(2, 6, 8, True), (2, 4, 4), [2] * 3 + [2] * 4, {"5": 3}),
    "gate": (Gate, (2, 4, 4), [1] * 2 + [2] * 5, {"head": 3}),
    "dense": (Dense, (3,), [1] * 9, {"c": 3}),
    "recurrent": (Recurrent, (3,), [2] * 4, {"head": 3}),
    "slices": (Slices, (3,), [1] * 4, {"first": 2, "left": 3, "right": 3}),
    "spatial gate": (SpatialGate, (2, 4, 4), [1] * 4, {"gate": 1, "head": 3}),
    "tied": (Tied, (3,), [], {"a": 3, "b": 3, "c": 4, "head": 3}),
    "scaled": (Scaled, (3,), [1] * 5, {"a": 4, "c": 3}),
    "functional": (Functional, (3,), [1] * 4, {"b": 5, "c": 3}),
}  # fmt: skip


def coupled(name: str) -> tuple[nn.Module, tuple[int, ...]]:
    """A model of :data:`COUPLED` or of ``surgery_models`` with seeded weights and lived-in batch norms."""
    make, shape, *_ = COUPLED[name] if name in COUPLED else MODELS[name]
    return seeded_model(make, 5).double().eval(), shape
