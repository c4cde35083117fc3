"""The eight data sets of ``bench/regret.py``, and networks of a width for each.

A data set has rows to train with and rows to test with, standardized by the first. The three seeds of digits are three
folds, so that every row is a test row once; the others have the same rows for every seed.

- mnist: 12,000 pictures to train with and 5,000 to test, of MNIST.
- cifar10: 10,000 and 5,000 of CIFAR-10, averaged over 2 x 2 pixels, in a network of two convolutions.
- digits: the 1,797 pictures of 8 x 8 pixels that scikit-learn has.
- moons, spirals: two classes in the plane; the moons overlap, the spirals do not.
- hastie: whether ten normal variables have a sum of squares above its median (Hastie, Tibshirani and Friedman, 10.2).
- clusters: ``make_classification``, four classes of three clusters each in twenty columns, 2 % of the labels random.
- weak: 7,800 rows, eleven columns of which five matter, with smooth effects and one interaction; most of the label is
  noise, as in tables of people.

A ninth was kept aside until growth's policy was settled, and a tenth has a network of another kind:

- gray: 10,000 and 5,000 pictures of CIFAR-10 without color, 16 x 16 pixels, in dense layers.
- residual: cifar10 in two residual blocks with batch norm; the width is that inside the blocks.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

DATASETS = ("mnist", "cifar10", "digits", "moons", "spirals", "hastie", "clusters", "weak")
CONVOLUTIONAL = ("cifar10", "residual")

#: Data sets that are not among the eight, with what results of theirs are called.
OTHERS = {"gray": "aside", "residual": "residual"}

IMAGES = "regret-images.npz"

#: Rows to train with and to test with.
_ROWS = {
    "mnist": (12_000, 5_000),
    "cifar10": (10_000, 5_000),
    "moons": (1_000, 10_000),
    "spirals": (1_000, 10_000),
    "hastie": (4_000, 10_000),
    "clusters": (6_000, 10_000),
    "weak": (7_800, 10_000),
}
_FOLDS = 3

#: Channels of the residual sum, which cannot grow.
CHANNELS = 32

Array = NDArray[Any]
Part = tuple[Tensor, Tensor]


def prepare_images(folder: Path) -> Path:
    """Write the pictures of MNIST and CIFAR-10 into one file, from the folder CREASES_DATA; return its path."""
    from creases.problems import cifar10, mnist

    arrays: dict[str, Array] = {}
    for name, read in (("mnist", mnist), ("cifar10", cifar10)):
        for split, count in zip(("train", "test"), _ROWS[name], strict=True):
            images = read(split)
            chosen = np.random.default_rng(31).permutation(len(images.labels))[:count]
            pixels = np.asarray(images.images)[chosen]
            if name == "cifar10":
                n, channels, height, width = pixels.shape
                pixels = pixels.reshape(n, channels, height // 2, 2, width // 2, 2).mean(axis=(3, 5)).round()
            arrays[f"{name}_{split}"] = pixels.astype(np.uint8)
            arrays[f"{name}_{split}_labels"] = np.asarray(images.labels)[chosen].astype(np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / IMAGES, **arrays)
    return folder / IMAGES


@cache
def load(name: str, folder: Path, seed: int) -> tuple[Part, Part]:
    """Return the rows of a data set to train with and those to test with, standardized, and their classes."""
    X, y, X_test, y_test = _digits(seed) if name == "digits" else _fixed(name, folder)
    if name in CONVOLUTIONAL:
        mean, scale = X.mean(axis=(0, 2, 3), keepdims=True), X.std(axis=(0, 2, 3), keepdims=True)
    elif name in ("mnist", "digits", "gray"):
        mean, scale = X.mean(), X.std()
    else:
        mean, scale = X.mean(axis=0), X.std(axis=0)
    train, test = (
        (torch.from_numpy(((rows - mean) / scale).astype(np.float32)), torch.from_numpy(labels.astype(np.int64)))
        for rows, labels in ((X, y), (X_test, y_test))
    )
    return train, test


def make_network(name: str, width: int, seed: int, train: Part) -> nn.Sequential:
    """Return a network with two hidden layers, or two residual blocks, of a width, with PyTorch's initialization."""
    X, y = train
    n_classes = int(y.max()) + 1
    torch.manual_seed(seed)
    if name == "cifar10":
        return nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1),  # 8 x 8
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1),  # 4 x 4
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(4 * width, n_classes),
        )
    if name == "residual":
        return nn.Sequential(
            nn.Conv2d(3, CHANNELS, 3, stride=2, padding=1, bias=False),  # 8 x 8
            nn.BatchNorm2d(CHANNELS),
            nn.ReLU(),
            nn.MaxPool2d(2),
            ResidualBlock(CHANNELS, width),  # 4 x 4
            ResidualBlock(CHANNELS, width),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(CHANNELS, n_classes),
        )
    return nn.Sequential(
        nn.Linear(X.shape[1], width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, n_classes)
    )


class ResidualBlock(nn.Module):
    """Two convolutions with batch norm, and a width between them, around which the input passes unchanged."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.norm2 = nn.Conv2d(width, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return the sum of the input (n, channels, height, width) and what the block makes of it, rectified."""
        inside = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(x + self.norm2(self.conv2(inside)))


def _fixed(name: str, folder: Path) -> tuple[Array, Array, Array, Array]:
    if name == "residual":
        name = "cifar10"
    if name == "gray":
        X, y, X_test, y_test = _fixed("cifar10", folder)
        return X.mean(axis=1).reshape(len(X), -1), y, X_test.mean(axis=1).reshape(len(X_test), -1), y_test
    if name in ("mnist", "cifar10"):
        with np.load(folder / IMAGES) as file:
            X, X_test = (file[f"{name}_{split}"].astype(np.float32) for split in ("train", "test"))
            y, y_test = (file[f"{name}_{split}_labels"] for split in ("train", "test"))
        flat = name == "mnist"
        return X.reshape(len(X), -1) if flat else X, y, X_test.reshape(len(X_test), -1) if flat else X_test, y_test
    rows, test = _ROWS[name]
    X, y = {"moons": _moons, "spirals": _spirals, "hastie": _hastie, "clusters": _clusters, "weak": _weak}[name](
        rows + test
    )
    return X[:rows], y[:rows], X[rows:], y[rows:]


def _digits(seed: int) -> tuple[Array, Array, Array, Array]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(31).permutation(len(y))
    test = order[seed % _FOLDS :: _FOLDS]
    train = np.setdiff1d(order, test)
    return X[train], y[train], X[test], y[test]


def _moons(n: int) -> tuple[Array, Array]:
    from sklearn.datasets import make_moons

    return make_moons(n, noise=0.25, random_state=31)


def _spirals(n: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(31)
    turn = np.sqrt(rng.uniform(0.02, 1, n)) * 3 * np.pi
    y = rng.integers(2, size=n)
    points = turn[:, None] * np.stack([np.cos(turn + np.pi * y), np.sin(turn + np.pi * y)], axis=1)
    return points + rng.normal(0, 0.3, points.shape), y


def _hastie(n: int) -> tuple[Array, Array]:
    X = np.random.default_rng(31).normal(size=(n, 10))
    return X, (X**2).sum(axis=1) > 9.34


def _clusters(n: int) -> tuple[Array, Array]:
    from sklearn.datasets import make_classification

    return make_classification(
        n, n_features=20, n_informative=10, n_classes=4, n_clusters_per_class=3, flip_y=0.02, random_state=31
    )


def _weak(n: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(31)
    X = rng.normal(size=(n, 11))
    X[:, 3:6] = X[:, 3:6] > 0  # as columns of yes and no
    logit = 0.6 * X[:, 0] + 0.5 * np.abs(X[:, 1]) - 0.4 + 0.5 * (X[:, 2] > 0.5) * X[:, 3] - 0.4 * X[:, 4]
    return X, rng.uniform(size=n) < 1 / (1 + np.exp(-logit))
