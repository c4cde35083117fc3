"""Many 2-h-2 networks trained as one: the growth experiment of the XNG slides at a small scale."""

from __future__ import annotations

import torch
from torch import Tensor, nn

#: Weights of N networks: W_A (N, h, 2), b_A (N, h), W_B (N, C, h), b_B (N, C).
Weights = list[Tensor]


def initial(count: int, hidden: int, seed: int) -> Weights:
    """Torch's own first weights, for each network apart."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [(nn.Linear(2, hidden), nn.Linear(hidden, 2)) for _ in range(count)]
    parts = [[a.weight, a.bias, b.weight, b.bias] for a, b in layers]
    return [torch.stack([part[k].detach().double() for part in parts]) for k in range(4)]


def losses(weights: Weights, X: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy of each network (N,)."""
    W_A, b_A, W_B, b_B = weights
    hidden = torch.relu(torch.einsum("nhd,xd->nhx", W_A, X) + b_A[..., None])
    z = torch.einsum("nch,nhx->ncx", W_B, hidden) + b_B[..., None]
    return nn.functional.cross_entropy(z, y.expand(len(W_A), -1), reduction="none").mean(dim=1)


def train(weights: Weights, X: Tensor, y: Tensor, steps: int, lr: float = 0.02) -> Weights:
    """Full-batch Adam on all networks at once, in float32 as it would be on the way."""
    kept = [part.float().requires_grad_() for part in weights]
    X = X.float()
    optimizer = torch.optim.Adam(kept, lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        losses(kept, X, y).sum().backward()
        optimizer.step()
    return [part.detach().double() for part in kept]


def module(weights: Weights, n: int) -> nn.Module:
    """One of the networks."""
    W_A, b_A, W_B, b_B = (part[n] for part in weights)
    model = nn.Sequential(nn.Linear(2, len(b_A)), nn.ReLU(), nn.Linear(len(b_A), len(b_B))).double()
    with torch.no_grad():
        for parameter, part in zip(model.parameters(), (W_A, b_A, W_B, b_B), strict=True):
            parameter.copy_(part)
    return model


def stacked(models: list[nn.Module]) -> Weights:
    """Networks of one shape as a batch."""
    parts = [list(model.parameters()) for model in models]
    return [torch.stack([part[k].detach() for part in parts]) for k in range(4)]
