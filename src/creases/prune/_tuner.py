"""Fine-tuning between the steps of pruning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from creases.errors import InputError
from creases.prune._evaluation import losses

#: Trains a model a little, in place. Parameters that want no gradient for some weights see to that by hooks.
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
    """A function that trains a model for some epochs on samples, with a new optimizer each time.

    ``momentum`` is for gradient descent. Samples come in another order each time the function is called, by the seed.
    """
    if optimizer not in ("sgd", "adam"):
        raise InputError(f"optimizer: expected 'sgd' or 'adam', got {optimizer!r}")
    if epochs < 0 or batch_size < 1:
        raise InputError(f"epochs, batch_size: expected at least 0 and 1, got {epochs} and {batch_size}")
    if not 0 <= lr < torch.inf:
        raise InputError(f"lr: expected a learning rate, at least 0, got {lr!r}")
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
