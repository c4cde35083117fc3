"""A small residual network with batch norms, and images of random numbers for it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class BasicBlock(nn.Module):
    """Two convolutions with batch norms and a shortcut around them."""

    def __init__(self, width: int, out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.stride, self.more = stride, out - width

    def forward(self, x: Tensor) -> Tensor:
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more))
        return F.relu(shortcut + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    """Three blocks of 8, 8 and 12 channels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3, 1, 1, bias=False), nn.BatchNorm2d(8)
        self.blocks = nn.Sequential(BasicBlock(8, 8), BasicBlock(8, 8), BasicBlock(8, 12, 2))
        self.head = nn.Linear(12, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(F.relu(self.bn(self.conv(x)))).mean((2, 3)))


def images(n: int = 96, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return images of random numbers (n, 3, 8, 8) and classes that depend on them."""
    numbers = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, 8, 8, generator=numbers, dtype=torch.float64)
    score = (x[:, 0, :4] * x[:, 1, :4]).sum((1, 2)), x[:, 2].sum((1, 2))
    return x, (score[0] > 0).long() + 2 * (score[1] > 0).long()


def trained_resnet(steps: int = 12, seed: int = 0) -> ResNet:
    """Return a network in train mode whose batch norms have seen data."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = ResNet().double().train()
    x, y = images()
    optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model
