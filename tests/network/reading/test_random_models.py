"""Random small architectures read exactly."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from agreement import Lambda, assert_agrees, seeded

ACTS = (nn.ReLU, lambda: nn.LeakyReLU(0.2), nn.PReLU, nn.ReLU6, nn.Hardtanh, lambda: Lambda(abs), nn.Identity)


class Residual(nn.Module):
    def __init__(self, inner: nn.Module, how: str) -> None:
        super().__init__()
        self.inner, self.how = inner, how

    def forward(self, x):
        y = self.inner(x)
        if self.how == "cat":
            return torch.cat([x, y], 1)
        return {"add": torch.add, "sub": torch.sub, "max": torch.maximum, "min": torch.minimum}[self.how](x, y)


@st.composite
def vectors(draw) -> tuple[nn.Module, tuple[int, ...]]:
    """Layers on vectors: linear, batch norm, bends, residual connections."""
    width = first = draw(st.integers(1, 4))
    layers: list[nn.Module] = []
    for _ in range(draw(st.integers(0, 4))):
        act = draw(st.sampled_from(ACTS))()
        match draw(st.sampled_from(["linear", "norm", "residual", "act"])):
            case "linear":
                out = draw(st.integers(1, 4))
                layers += [nn.Linear(width, out, bias=draw(st.booleans())), act]
                width = out
            case "norm":
                layers += [nn.BatchNorm1d(width), act]
            case "residual":
                how = draw(st.sampled_from(["add", "sub", "max", "min", "cat"]))
                layers.append(Residual(nn.Sequential(nn.Linear(width, width), act), how))
                width *= 2 if how == "cat" else 1
            case "act":
                layers.append(act)
    return nn.Sequential(*layers), (first,)


@st.composite
def images(draw) -> tuple[nn.Module, tuple[int, ...]]:
    """Layers on images: convolutions, pools, batch norm, residual connections, padding, upsampling."""
    channels = first = draw(st.integers(1, 3))
    size = n = draw(st.integers(4, 6))
    layers: list[nn.Module] = []
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.sampled_from(["conv", "pool", "average", "norm", "residual", "pad", "up"])):
            case "conv":
                out, kernel = draw(st.integers(1, 3)), draw(st.sampled_from([1, 3]))
                mode = draw(st.sampled_from(["zeros", "replicate"]))
                layers += [nn.Conv2d(channels, out, kernel, padding=kernel // 2, padding_mode=mode), nn.ReLU()]
                channels = out
            case "pool" if n >= 3:
                layers.append(nn.MaxPool2d(2, 1, draw(st.integers(0, 1))))
                n = n - 1 + 2 * layers[-1].padding
            case "average" if n >= 3:
                layers.append(nn.AvgPool2d(2, 1))
                n -= 1
            case "norm":
                layers += [nn.BatchNorm2d(channels), draw(st.sampled_from(ACTS))()]
            case "residual":
                how = draw(st.sampled_from(["add", "max", "cat"]))
                layers.append(Residual(nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()), how))
                channels *= 2 if how == "cat" else 1
            case "pad":
                layers.append(nn.ZeroPad2d((1, 0, 0, 1)))
                n += 1
            case "up" if n <= 4:
                layers.append(nn.Upsample(scale_factor=2, mode=draw(st.sampled_from(["nearest", "bilinear"]))))
                n *= 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * n * n, 2)), (first, size, size)


@pytest.mark.slow
@given(vectors(), st.integers(0, 100))
@settings(max_examples=60, deadline=None)
def test_random_vector_models_agree(case: tuple[nn.Module, tuple[int, ...]], seed: int) -> None:
    model, shape = case
    assert_agrees(seeded(model, seed), shape)


@pytest.mark.slow
@given(images(), st.integers(0, 100))
@settings(max_examples=40, deadline=None)
def test_random_image_models_agree(case: tuple[nn.Module, tuple[int, ...]], seed: int) -> None:
    model, shape = case
    assert_agrees(seeded(model, seed), shape)
