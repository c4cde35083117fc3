"""Prune a trained ResNet by creases and by torch-pruning to the same size: accuracy without fine-tuning, seconds.

    pip install --no-deps --target folder torch-pruning
    PYTHONPATH=folder python bench/prune.py --seeds 3

The network has one residual block at each of 16, 32 and 64 channels, with convolutions as shortcuts (77,754
parameters), and is trained on scikit-learn's digits (8 x 8 images; 450 rows are held out). torch-pruning removes about
3 % of the channels in a step, with scores computed anew for each, until at most a share of the parameters is left: over
all layers (global_pruning) or the same share of each. All others are then asked for no more parameters than
torch-pruning has with its Taylor score over all layers. Scores are computed on the same 256 training rows. The accuracy
is that of the held-out rows.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable
from functools import partial
from statistics import mean

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from creases import prune

STEPS = 30  # of torch-pruning, on the way to a tenth of the channels
ROWS = 256  # training rows for scores


class Block(nn.Module):
    """Two convolutions, and a convolution as the shortcut where the width changes."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        stride = 1 if before == after else 2
        self.conv1, self.norm1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.conv2, self.norm2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.short = nn.Identity()
        if before != after:
            self.short = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.short(x))


class ResNet(nn.Module):
    """A small ResNet with one block at each width."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(Block(16, 16), Block(16, 32), Block(32, 64))
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(F.relu(self.norm(self.stem(x)))).mean((2, 3)))


def digits(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return training images and classes, test images and classes."""
    from sklearn.datasets import load_digits

    data = load_digits()
    X = torch.tensor(data.images / 8 - 1, dtype=torch.float32)[:, None]
    y = torch.tensor(data.target)
    order = torch.randperm(len(X), generator=torch.Generator().manual_seed(seed))
    train, test = order[450:], order[:450]
    return X[train], y[train], X[test], y[test]


def train(X: Tensor, y: Tensor, seed: int) -> nn.Module:
    """Return a trained network."""
    torch.manual_seed(seed)
    model = ResNet()
    prune.tuner(X, y, epochs=12, optimizer="adam", lr=2e-3, batch_size=64, seed=seed)(model)
    return model.eval()


def size(model: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(parameter.numel() for parameter in model.parameters())


def by_creases(model: nn.Module, X: Tensor, y: Tensor, target: int, **options: int) -> nn.Module:
    """Return a network pruned by creases, without fine-tuning."""
    return prune.channels(model, X, y, parameters=target, tune=lambda model: None, **options).model


def by_torch_pruning(model: nn.Module, X: Tensor, y: Tensor, target: int, *, score: str, everywhere: bool) -> nn.Module:
    """Return a network pruned by torch-pruning, without fine-tuning."""
    import torch_pruning

    scores = torch_pruning.importance
    importance = {
        "taylor": scores.GroupTaylorImportance,
        "magnitude": scores.GroupMagnitudeImportance,
    }[score]()
    model = copy.deepcopy(model)
    pruner = torch_pruning.pruner.BasePruner(
        model, X[:1], importance, global_pruning=everywhere, pruning_ratio=0.9, iterative_steps=STEPS,
        ignored_layers=[model.head],
    )  # fmt: skip
    for _ in range(STEPS):
        if size(model) <= target:
            break
        model.zero_grad()
        if score == "taylor":
            F.cross_entropy(model(X), y).backward()
        pruner.step()
    return model


METHODS: dict[str, Callable[[nn.Module, Tensor, Tensor, int], nn.Module]] = {
    "torch-pruning, Taylor, all layers": partial(by_torch_pruning, score="taylor", everywhere=True),
    "creases": by_creases,
    "creases, Taylor score alone": partial(by_creases, candidates=1),
    "torch-pruning, Taylor, each layer": partial(by_torch_pruning, score="taylor", everywhere=False),
    "torch-pruning, magnitude, all layers": partial(by_torch_pruning, score="magnitude", everywhere=True),
    "torch-pruning, magnitude, each layer": partial(by_torch_pruning, score="magnitude", everywhere=False),
}


def main() -> None:
    """Run all methods and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5, 0.25])
    options = parser.parse_args()
    results: dict[tuple[str, float], list[tuple[float, int, float]]] = {}
    for seed in range(options.seeds):
        X, y, X_test, y_test = digits(seed)
        model = train(X, y, seed)
        print(f"seed {seed}: {size(model):,} parameters, accuracy {prune.evaluate(model, X_test, y_test)[1]:.3f}")
        for share in options.shares:
            target = int(share * size(model))
            for i, (name, method) in enumerate(METHODS.items()):
                start = time.process_time()
                smaller = method(model, X[:ROWS], y[:ROWS], target)
                seconds = time.process_time() - start
                target = min(target, size(smaller)) if i == 0 else target
                accuracy = prune.evaluate(smaller, X_test, y_test)[1]
                results.setdefault((name, share), []).append((accuracy, size(smaller), seconds))
                print(f"  {share:.2f}  {name:38}  {size(smaller):6,}  {accuracy:.3f}  {seconds:5.1f} s", flush=True)
    print(f"{'method':38}  share  parameters  accuracy: mean (each)          CPU seconds")
    for (name, share), runs in results.items():
        each = " ".join(f"{accuracy:.3f}" for accuracy, _, _ in runs)
        mean_accuracy, mean_size, mean_seconds = (mean(column) for column in zip(*runs, strict=True))
        print(f"{name:38}  {share:5.2f}  {mean_size:10,.0f}  {mean_accuracy:.3f} ({each})  {mean_seconds:6.1f}")


if __name__ == "__main__":
    main()
