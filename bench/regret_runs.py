"""The runs of ``bench/regret.py``: fixed widths, ``creases.grow``, ``Grower`` in a loop of one's own, and gromo."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regret_sets import Part, ResidualBlock, load, make_network

DECAY, HELD_OUT, LOOKS = 0.01, 0.15, 40
GROMO_SAMPLES, GROMO_SHARE = 10_000, 0.5

#: Learning rate of the loop of one's own, for every data set and width: the middle one of those of fixed widths.
LOOP_RATE = 0.003

#: A share of the budget, the widths then, and whether growth had ended.
Sizes = list[tuple[float, list[int], bool]]


@torch.no_grad()
def evaluate(model: nn.Module, part: Part) -> tuple[float, float]:
    """Return the mean cross-entropy and the accuracy."""
    model.eval()
    outputs = torch.cat([model(rows) for rows in part[0].split(1000)])
    model.train()
    return float(nn.functional.cross_entropy(outputs, part[1])), float((outputs.argmax(1) == part[1]).double().mean())


def hidden_widths(model: nn.Module) -> list[int]:
    """Return the widths of the hidden layers; of a residual network, those inside its blocks."""
    blocks = [module for module in model.modules() if isinstance(module, ResidualBlock)]
    if blocks:
        return [len(block.conv1.weight) for block in blocks]
    return [len(weight) for weight in model.parameters() if weight.ndim > 1][:-1]


def split_rows(train: Part, seed: int) -> tuple[Part, Part]:
    """Return the rows to train with and those held out."""
    X, y = train
    order = torch.randperm(len(X), generator=torch.Generator().manual_seed(seed))
    held = round(HELD_OUT * len(X))
    return (X[order[held:]], y[order[held:]]), (X[order[:held]], y[order[:held]])


def epoch_batches(n: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Return the rows of the batches of an epoch: an eighth of them, from 32 to 200."""
    return torch.randperm(n, generator=generator).split(min(max(n // 8, 32), 200))


def batches(n: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Return the rows of one batch after another, for ever."""
    while True:
        yield from epoch_batches(n, generator)


def finding_share(sizes: Sizes, final: list[int]) -> float:
    """Return the share of the budget that was spent before the final size was there."""
    return max((share for share, widths, ended in sizes if widths != final or not ended), default=0.0)


def train_fixed(train: Part, name: str, width: int, rate: float, seed: int, seconds: float) -> tuple[nn.Module, dict]:
    """Train a network of a width; return the one with the lowest held-out loss, and what was measured of it."""
    (X, y), held = split_rows(train, seed)
    model, generator = make_network(name, width, seed, train), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=DECAY, fused=True)
    begin, steps, look = time.process_time(), 0, seconds / LOOKS
    best: tuple[float, float, dict[str, Tensor]] = (-math.inf, -math.inf, {})  # accuracy, - loss, weights
    rows_of = batches(len(X), generator)
    while True:
        spent = time.process_time() - begin
        if spent >= min(look, seconds):
            loss, score = evaluate(model, held)
            if (score, -loss) > best[:2]:
                best = (score, -loss, deepcopy(model.state_dict()))
            now = time.process_time() - begin
            look = now + max(seconds / LOOKS, 9 * (now - spent))
        if spent >= seconds:
            break
        optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * spent / seconds)) / 2
        rows = next(rows_of)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X[rows]), y[rows]).backward()
        optimizer.step()
        steps += 1
    if best[2]:
        model.load_state_dict(best[2])
    return model, {"held_out_loss": -best[1], "held_out_accuracy": best[0], "steps": steps}


def train_growing(train: Part, name: str, start: int, seed: int, seconds: float) -> tuple[nn.Module, dict]:
    """Grow a network with nothing set; return it, and what was spent before its size was final."""
    import creases

    sizes: Sizes = []

    def watch(state: Any) -> None:
        sizes.append((state.meter.progress, hidden_widths(state.model), bool(state.history.growth_ended)))

    model = make_network(name, start, seed, train)
    model, history = creases.grow(
        model, train, "classification", budget=f"{seconds:g} s", seed=seed, callbacks=[watch], progress=False
    )
    notes = {"finding": finding_share(sizes, hidden_widths(model)), "steps": history.last["steps"]}
    ends = {"growth_ended": history.growth_ended, "ended": history.ended}
    return model, {**notes, **ends, "stages": history.stages}


def train_loop(train: Part, name: str, start: int, seed: int, seconds: float) -> tuple[nn.Module, dict]:
    """Grow a network by Grower in a loop; return it as it was best on held-out rows after growth, and what was spent.

    An epoch ends early where the seconds do.
    """
    from creases.growth import Grower

    (X, y), held = split_rows(train, seed)
    model, generator = make_network(name, start, seed, train), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LOOP_RATE, weight_decay=DECAY, fused=True)
    grower = Grower(model, optimizer, (X, y), "classification", validation=held, budget=f"{seconds:g} s", seed=seed)
    history, begin, epochs, steps = grower.history, time.monotonic(), 0, 0
    sizes: Sizes = []
    best: tuple[float, float, dict[str, Tensor]] = (-math.inf, -math.inf, {})  # accuracy, - loss, weights
    while not history.ended:
        is_growing = not history.growth_ended
        for rows in epoch_batches(len(X), generator):
            share = (time.monotonic() - begin) / seconds
            if share >= 1:
                break
            optimizer.param_groups[0]["lr"] = LOOP_RATE * (1 + math.cos(math.pi * share)) / 2
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(X[rows]), y[rows]).backward()
            optimizer.step()
            steps += 1
        grower.step()
        epochs += 1
        sizes.append((grower.state.meter.progress, hidden_widths(model), bool(history.growth_ended)))
        score, loss = history.last["validation_score"], history.last["validation_loss"]
        if not is_growing and (score, -loss) > best[:2]:
            best = (score, -loss, deepcopy(model.state_dict()))
    if best[2]:
        model.load_state_dict(best[2])
    notes = {"finding": finding_share(sizes, hidden_widths(model)), "steps": steps, "epochs": epochs}
    ends = {"growth_ended": history.growth_ended, "ended": history.ended}
    return model, {"held_out_accuracy": best[0] if best[2] else None, **notes, **ends, "stages": history.stages}


def train_gromo(train: Part, name: str, start: int, seed: int, seconds: float) -> tuple[nn.Module, dict]:
    """Grow a network by gromo: an epoch, then one of the layers in turn, until half of the seconds are spent."""
    from gromo.containers.growing_mlp import GrowingMLP

    from growth_mnist import grow_gromo_layer

    (X, y), _ = split_rows(train, seed)
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = GrowingMLP(X.shape[1], int(y.max()) + 1, start, 2, activation=nn.ReLU(), device=torch.device("cpu"))
    begin, epoch, found, steps = time.process_time(), 0, 0.0, 0
    share, size = 0.0, hidden_widths(model)
    rows_of = batches(len(X), generator)
    while share < 1:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=DECAY)
        for _ in range(max(len(X) // 200, 8)):
            share = (time.process_time() - begin) / seconds
            if share >= 1:
                break
            optimizer.param_groups[0]["lr"] = 1e-3 * (1 + math.cos(math.pi * share)) / 2
            rows = next(rows_of)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(X[rows]), y[rows]).backward()
            optimizer.step()
            steps += 1
        if share < GROMO_SHARE:
            chosen = torch.randperm(len(X), generator=generator)[:GROMO_SAMPLES]
            grow_gromo_layer(model, (X[chosen], y[chosen]), epoch % 2)
            share = (time.process_time() - begin) / seconds
            if hidden_widths(model) != size:
                size, found = hidden_widths(model), share
        epoch += 1
    return model, {"finding": found, "steps": steps}


def warm_up(part: str) -> None:
    """Import what a run needs before its clock starts."""
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    torch.optim.AdamW(model.parameters(), fused=True)
    if part in ("grow", "loop"):
        import creases

        X = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
        creases.grow(model, (X, (X[:, 0] > 0).long()), "classification", budget=200, progress=False)


def measure(part: str, folder: Path, name: str, choice: tuple, seed: int, seconds: float) -> dict[str, Any]:
    """Make one run; return its test accuracy and what else is known of it, or the error."""
    torch.set_num_threads(1)
    try:
        train, test = load(name, folder, seed)
        warm_up(part)
        begin = time.process_time()
        run = {"fixed": train_fixed, "grow": train_growing, "loop": train_loop, "gromo": train_gromo}[part]
        model, notes = run(train, name, *choice, seed, seconds)
        took = time.process_time() - begin
        return {
            "accuracy": evaluate(model, test)[1],
            "widths": hidden_widths(model),
            "cpu_seconds": round(took, 2),
            **notes,
        }
    except Exception:
        return {"error": traceback.format_exc()[-2000:]}
