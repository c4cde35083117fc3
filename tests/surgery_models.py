"""Small torch models for surgery: every way that units get from one layer to the next."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def mlp(bend: Callable[[], nn.Module] = nn.ReLU) -> nn.Module:
    return nn.Sequential(nn.Linear(3, 5), bend(), nn.Linear(5, 4), bend(), nn.Linear(4, 2))


def conv() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(3, 4, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(36, 2),
    )


def norm_pool() -> nn.Module:
    """Convolutions with batch norm, both poolings, and a hidden layer behind Flatten."""
    return nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1, bias=False),
        nn.BatchNorm2d(3),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.LeakyReLU(0.1),
        nn.AvgPool2d(2),
        nn.Dropout2d(0.3),
        nn.Flatten(),
        nn.Linear(16, 5),
        nn.BatchNorm1d(5),
        nn.PReLU(5),
        nn.Dropout(0.5),
        nn.Linear(5, 2),
    )


class Block(nn.Module):
    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, inner, 3, padding=1, bias=False), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = nn.Conv2d(inner, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.act, self.last = nn.ReLU(inplace=True), nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.bn2(self.conv2(self.act(self.bn1(self.conv1(x)))))
        out += x
        return self.last(out)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block(4, 3), Block(4, 5))
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Branches(nn.Module):
    """One layer's units enter two others, which are joined; a batch norm and a layer behind the join."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.act = nn.Linear(3, 4), nn.ReLU()
        self.left, self.right = nn.Linear(4, 3), nn.Linear(4, 2)
        self.norm = nn.BatchNorm1d(5)
        self.last = nn.Linear(9, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = self.act(self.first(x))
        joined = F.relu(self.norm(torch.cat([self.left(h), self.right(h)], dim=1)))
        return self.last(torch.cat([joined, h], dim=1))


class ChannelsLast(nn.Module):
    """Channels are moved behind the positions before they are flattened; one of the widths is 1."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(2, 1, 3, padding=1), nn.Conv2d(2, 3, 3, padding=1)
        self.last = nn.Linear(16 * 4, 2)

    def forward(self, x: Tensor) -> Tensor:
        joined = torch.cat([F.relu(self.one(x)), F.relu(self.two(x))], dim=1)
        return self.last(joined.permute(0, 2, 3, 1).reshape(len(x), -1))


class Sequence(nn.Module):
    """Linear layers on the last axis of (batch, time, features)."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.act, self.down = nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.act(self.up(x)))


def upsampling() -> nn.Module:
    """Transposed and one-dimensional convolutions."""
    return nn.Sequential(
        nn.ConvTranspose1d(2, 3, 2, stride=2), nn.ReLU(), nn.ConvTranspose1d(3, 4, 3), nn.ReLU(), nn.Conv1d(4, 1, 1)
    )


#: Name to (model, input shape, names of its places).
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], list[str]]] = {
    "mlp": (mlp, (3,), ["0", "2"]),
    "conv": (conv, (2, 8, 8), ["0", "2"]),
    "norm_pool": (norm_pool, (2, 8, 8), ["0", "4", "10"]),
    "residual": (Residual, (2, 6, 6), ["blocks.0.conv1", "blocks.1.conv1"]),
    "branches": (Branches, (3,), ["first", "left", "right"]),
    "channels_last": (ChannelsLast, (2, 4, 4), ["one", "two"]),
    "sequence": (Sequence, (4, 3), ["up"]),
    "upsampling": (upsampling, (2, 5), ["0", "2"]),
}


def built(name: str, dtype: torch.dtype = torch.float64) -> tuple[nn.Module, tuple[int, ...]]:
    """A model with seeded weights and lived-in batch norms, and its input shape."""
    make, shape, _ = MODELS[name]
    return seeded_model(make, 7).to(dtype).eval(), shape


def seeded_model(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """A model with seeded weights and lived-in batch norms."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make()
        for module in model.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.normal_(module.bias)
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
            if isinstance(module, nn.PReLU):
                nn.init.uniform_(module.weight, 0.1, 0.4)
    return model


def inputs(shape: tuple[int, ...], n: int = 16, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn((n, *shape), generator=torch.Generator().manual_seed(3), dtype=dtype)


def draw(seed: int) -> Callable[..., Tensor]:
    """Normal numbers of any shape, from a generator of their own."""
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(shape, generator=generator, dtype=torch.float64)


def snapshot(model: nn.Module) -> dict[str, Tensor]:
    return copy.deepcopy(model.state_dict())
