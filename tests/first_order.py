"""Models, data and second opinions for the tests of first-order growth, all in float64."""

from __future__ import annotations

import copy
from itertools import pairwise

import torch
from torch import Tensor, nn

import creases
from creases.growth._proposal import apply

loss = nn.CrossEntropyLoss()


def mlp(bend=nn.Tanh, widths=(3, 4, 5, 2), seed=0) -> nn.Sequential:
    layers = []
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), bend()]
    return nn.Sequential(*layers[:-1]).double()


def conv(bend=nn.Tanh, seed=0, bias=False) -> nn.Sequential:
    """Strides, padding and dilation, then Flatten."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(2, 3, 3, padding=1, stride=2),
            bend(),
            nn.Conv2d(3, 4, 3, padding=2, dilation=2),
            bend(),
            nn.Conv2d(4, 3, 1, bias=bias),
            bend(),
            nn.Flatten(),
            nn.Linear(48, 2),
        ).double()


def data(shape=(3,), n=120, seed=1) -> tuple[Tensor, Tensor]:
    numbers = torch.Generator().manual_seed(seed)
    x = torch.randn((n, *shape), generator=numbers, dtype=torch.float64)
    wave = torch.sin(2 * x.flatten(1)[:, 0]) + x.flatten(1)[:, 1] * x.flatten(1)[:, -1]
    return x, (wave > 0).long()


def place_of(model: nn.Module, name: str, shape=None) -> creases.Place:
    return next(place for place in creases.places(model, shape) if place.name == name)


@torch.no_grad()
def mean_loss(model: nn.Module, x: Tensor, y: Tensor, by=loss) -> float:
    return float(by(model.eval()(x), y))


def apply_to_copy(model: nn.Module, proposal) -> nn.Module:
    model = copy.deepcopy(model)
    apply(proposal, model)
    return model


def slope(model: nn.Module, proposal, x: Tensor, y: Tensor, step: float = 1e-3) -> float:
    """Return the decrease of the loss for weights step times as large, over step^2, by two steps (Richardson)."""
    falls = []
    for size in (step, step / 2):
        after = mean_loss(apply_to_copy(model, proposal.scale(size, size)), x, y)
        falls.append((mean_loss(model, x, y) - after) / size**2)
    return 2 * falls[1] - falls[0]


def activities(model: nn.Sequential, place, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """b_{l-1} and b_l with the constant, and v_goal, as columns (d, n), by plain autograd on an MLP."""
    at = int(place.name)
    before = model[:at](x)
    after = model[at : at + 2](before)
    a = model[at + 2](after).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(model[at + 3 :](a), y) * len(x), a)
    ones = torch.ones(len(x), 1, dtype=x.dtype)
    return torch.cat([before, ones], 1).T.detach(), torch.cat([after, ones], 1).T.detach(), -gradient.T
