"""Image networks for the claims of chapters 6 and 7: trained and measured, or as they were at full scale.

At quick scale ten networks of scikit-learn's digits stand in for those of MNIST and CIFAR-10 (the numbers
say so): the same code runs in seconds and needs no image files. At full scale the 14 networks of a data set are trained
as printed; that takes an accelerator and the image files (see :func:`creases.problems.mnist`), and was done once: the
tables in ``results`` have what came out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from creases import problems
from creases_reproduction.experiment import Scale
from creases_reproduction.images import STAND_IN
from creases_reproduction.linearity.image_clusters import CLUSTERS, cluster_images
from creases_reproduction.linearity.image_directions import Directions, directions
from creases_reproduction.linearity.image_networks import DataName, Plan, images, plans, train_plan
from creases_reproduction.linearity.image_similarity import Measured, measure_images

_QUICK = (800, 300, 10)  #: samples to train on and to test with, epochs


def device() -> str:
    """Return where networks are trained and measured."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def own_plans(data: DataName, scale: Scale) -> list[Plan]:
    """Return the networks of a data set; at quick scale one of each kind of convolutional ones."""
    part = plans(data)
    return part if scale == "full" else [plan for plan in part if not plan.seed or plan.kind == "dense"]


@cache
def digit_images() -> tuple[Tensor, Tensor]:
    """Return scikit-learn's digits (n, 1, 8, 8), normalised, and classes."""
    problem = problems.get("digits")
    x = torch.from_numpy(np.asarray(problem.X, np.float32)).reshape(-1, 1, 8, 8)
    return (x - x.mean()) / x.std(), torch.from_numpy(np.asarray(problem.y, np.int64))


@lru_cache(maxsize=1)
def samples(data: DataName, scale: Scale) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return images and classes to train on and to test with; the last ones are kept, as they take seconds to read."""
    if scale == "full":
        return images(data, "train"), images(data, "test")
    (x, y), (n, m, _) = digit_images(), _QUICK
    return (x[:n], y[:n]), (x[n : n + m], y[n : n + m])


def models(data: DataName, scale: Scale) -> list[nn.Sequential]:
    """Return the trained networks of :func:`own_plans`."""
    return [trained_network(plan, scale) for plan in own_plans(data, scale)]


def trained_network(plan: Plan, scale: Scale) -> nn.Sequential:
    """Return the trained network of a plan; at quick scale of digits, for either data set."""
    return _train_once(plan if scale == "full" else replace(plan, data="mnist"), scale)


@cache
def _train_once(plan: Plan, scale: Scale) -> nn.Sequential:
    (x, y), _ = samples(plan.data, scale)
    where, epochs = (device(), 15) if scale == "full" else ("cpu", _QUICK[2])
    return train_plan(plan, x.to(where), y.to(where), epochs=epochs).cpu()


@cache
def _measured(data: DataName, scale: Scale) -> Measured:
    train, test = samples(data, scale)
    names = [plan.name for plan in own_plans(data, scale)]
    small = scale == "quick"
    return measure_images(
        data if not small else "digits",
        models(data, scale),
        names,
        (train[0][: 300 if small else None]),
        test,
        device="cpu" if small else device(),
    )


def similarity(data: DataName, scale: Scale) -> Measured:
    """Return everything of ``image_similarity.py`` at a scale."""
    return _measured(data if scale == "full" else "mnist", scale)


@cache
def _clustered(data: DataName, scale: Scale) -> Measured:
    (x, _), test = samples(data, scale)
    small, names = scale == "quick", [plan.name for plan in own_plans(data, scale)]
    count, k = (300, (1, 10, 50)) if small else (10_000, CLUSTERS)
    where, jobs = ("cpu", 1) if small else (device(), -1)
    own = models(data, scale)
    return cluster_images("digits" if small else data, own, names, x[:count], test, device=where, k=k, jobs=jobs)


def clusters(data: DataName, scale: Scale) -> Measured:
    """Return everything of ``image_clusters.py`` at a scale."""
    return _clustered(data if scale == "full" else "mnist", scale)


@cache
def _directions(data: DataName, scale: Scale) -> Directions:
    x = samples(data, scale)[1][0]
    names = [plan.name for plan in own_plans(data, scale)]
    return directions(data, models(data, scale), names, x.to(device() if scale == "full" else "cpu"))


def seen(data: DataName, scale: Scale) -> Directions:
    """Return everything of ``image_directions.py`` at a scale."""
    return _directions(data if scale == "full" else "mnist", scale)


def stored_similarity(data: DataName) -> Measured:
    """Return what was measured of the networks of one data set at full scale."""
    return Measured(**_read("image_similarity", data)["numbers"])


def stored_clusters(data: DataName) -> Measured:
    """Return the same of the networks with their coefficients clustered."""
    return Measured(**_read("image_clusters", data)["numbers"])


def stored_directions(data: DataName) -> Directions:
    """Return the same of what the networks look at."""
    return Directions(**_read("image_directions", data)["numbers"])


def about(program: str, data: DataName) -> dict[str, str]:
    """Return how what a program measured at full scale was made."""
    results: dict[str, str] = _read(program, data)["about"]
    return results


def _read(program: str, data: DataName) -> dict[str, Any]:
    path = files("creases_reproduction") / "results" / f"{program}_{data}.json"
    results: dict[str, Any] = json.loads(path.read_text())
    return results


class Groups:
    """The measures of one data set, by groups of networks; accuracies in percent."""

    def __init__(self, found: Measured) -> None:
        self.found = found
        parts = [name.split() for name in found.names]
        self.kind = np.array([kind for kind, _, _ in parts])
        self.optimizer = np.array([optimizer for _, _, optimizer in parts])
        self.conv = np.isin(self.kind, ["simple", "complex"])
        self.dense, self.linear = self.kind == "dense", self.kind == "linear"
        self.sgd, self.adamw = self.optimizer == "sgd", self.optimizer == "adamw"
        self.accuracy = 100 * np.array(found.accuracy)
        self.clustered = {int(k): 100 * np.array(part) for k, part in found.compression.items()}
        self.explained = np.array([np.nanmean(part) for part in found.explained])

    @property
    def note(self) -> dict[str, str]:
        """Whether the images are others than the source's."""
        return {"data": STAND_IN if self.found.data == "digits" else self.found.data}

    def mean(self, matrix: Any, rows: NDArray[np.bool_], columns: NDArray[np.bool_]) -> float:
        """Return mean of a matrix over pairs of different networks, the first and the second of a group."""
        values = np.array(matrix, float)
        return float(values[np.outer(rows, columns) & ~np.eye(len(values), dtype=bool)].mean())
