"""Models, data and states for the tests of growth runs: small, seeded, in float64 unless said."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from creases.growth import Grower, History, Record, State, grow
from creases.growth import _loop as loop
from creases.growth._budget import Budget, Meter
from creases.growth._loop import GrowthResult
from creases.growth._objective import objective
from creases.growth._samples import as_samples
from creases.growth.methods._registry import resolve_method
from creases.growth.policies._policies import resolve_where
from creases.network import Place


def mlp(*widths: int, seed: int = 0, bend=nn.ReLU, dropout: float = 0.0, dtype=torch.float64) -> nn.Sequential:
    """Linear layers with bends (and dropout) between."""
    layers: list[nn.Module] = []
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), bend(), *([nn.Dropout(dropout)] if dropout else [])]
    end = 2 if dropout else 1
    return nn.Sequential(*layers[:-end]).to(dtype)


def conv(seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.Conv2d(2, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2)
        ).double()


class Residual(nn.Module):
    """A block whose inner width can grow, and no other."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.inner, self.outer, self.head = nn.Linear(3, 2), nn.Linear(2, 3), nn.Linear(3, 2)
        self.double()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x + self.outer(torch.relu(self.inner(x))))


def normed(seed: int = 0) -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2)).double()


def classes(n: int = 120, shape: tuple[int, ...] = (3,), seed: int = 1) -> tuple[Tensor, Tensor]:
    """Two classes that no line parts."""
    x = torch.randn((n, *shape), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    flat = x.flatten(1)
    return x, (torch.sin(2 * flat[:, 0]) + flat[:, 1] * flat[:, -1] > 0).long()


def values(n: int = 100, seed: int = 1) -> tuple[Tensor, Tensor]:
    """A zigzag, with targets (n, 1)."""
    x = torch.rand((n, 1), generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 4 - 2
    return x, (x.abs() - (x - 0.7).relu() * 2.5)


def epochs(*losses: float, validation=None, steps: int = 1) -> list[dict]:
    """The epochs of a history with these training losses."""
    held = [None] * len(losses) if validation is None else validation
    return [
        {
            "epoch": k,
            "steps": k * steps,
            "epochs": float(k),
            "seconds": 0.0,
            "multiply_adds": 0,
            "progress": k / 100,
            "loss": loss,
            "score": 1 - loss,
            "validation_loss": other,
            "validation_score": None if other is None else 1 - other,
            "smoothed_loss": other,
            "smoothed_score": None if other is None else 1 - other,
            "parameters": 10,
            "widths": {},
        }
        for k, (loss, other) in enumerate(zip(losses, held, strict=True), 1)
    ]


def record(epoch: int, place: str = "0", action: str = "grow", steps: int = 0, **more) -> Record:
    """A growth step at the end of an epoch."""
    known = {
        "number": 1,
        "action": action,
        "epoch": epoch,
        "steps": steps,
        "place": place,
        "method": "random",
        "units": [2],
        "removed": [],
        "width": (2, 3),
        "parameters": (10, 15),
        "predicted": 0.1,
        "before": {"loss": 1.0, "score": 0.5},
        "after": {"loss": 0.9, "score": 0.5},
        "changed": 3,
        "weights": {"fan_in": [[1.0]], "bias": [0.5], "fan_out": {"2": [[1.0], [2.0]]}},
        "explanation": {"method": "random", "place": place, "units": 1, "seed": 0, "gain": 0.1},
    }
    return Record(**{**known, **more})


def round_robin(state: State) -> list[Place]:
    """A policy of a user's own: the places in turn."""
    names = [place.name for place in state.places]
    grown = [record.place for record in state.history.records if record.place in names]
    start = names.index(grown[-1]) + 1 if grown else 0
    return [*state.places[start:], *state.places[:start]]


def grow_and_save(*arguments, checkpoint_seconds: float = 0.0, **options) -> GrowthResult:
    """A run whose checkpoint is written at the end of every epoch."""
    with patch.object(loop, "CHECKPOINT_SECONDS", checkpoint_seconds):
        return grow(*arguments, **options)


def state(model=None, data=None, *, how="random", where=None, history=None, due=True, budget=100, **more) -> State:
    """A run's state as policies get it."""
    model, data = model or mlp(3, 2, 2, 2), data or classes()
    found = as_samples(data, model)
    goal = objective("classification" if not data[1].is_floating_point() else "regression", weighted=found.weighted)
    policies = (resolve_method(how), resolve_where(where or round_robin))
    meter = Meter(Budget.parse(budget), found.size)
    return State(model, None, found, goal, *policies, history or History(), 0, meter, due=due, **more)


def same_tensors(one: nn.Module, two: nn.Module) -> bool:
    """Whether two models have the same tensors, bit by bit."""
    a, b = one.state_dict(), two.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def timeless(history: History) -> dict:
    """All of a history but how long things took, and why its loop was chosen."""
    epochs = [{name: value for name, value in epoch.items() if name != "seconds"} for epoch in history.epochs]
    return {**vars(history), "epochs": epochs, "loop": ""}


def trained(grower: Grower, data, epochs: int = 30, loss=F.cross_entropy) -> Grower:
    """A user's own loop."""
    x, y = data
    model, optimizer = grower.state.model, grower.state.optimizer
    for _ in range(epochs):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
        grower.step()
        if grower.history.ended:
            break
    return grower


def adam(model: nn.Module, lr: float = 0.02) -> torch.optim.Adam:
    return torch.optim.Adam(model.parameters(), lr=lr)
