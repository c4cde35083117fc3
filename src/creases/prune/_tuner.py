"""Fine-tuning between the steps of pruning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from creases._validation import check_choice, check_count, check_number
from creases.prune._evaluation import losses

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
    epochs, optimizer, lr, weight_decay, batch_size
        As in torch.
    momentum
        Momentum of gradient descent.
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
