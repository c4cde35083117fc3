"""Image networks as in chapters 6 and 7 of "Local Linearity of ReLU Neural Networks": compared and probed.

    python -m creases_reproduction.linearity.image_networks mnist --device cuda --out networks
    python -m creases_reproduction.linearity.image_similarity mnist --device cuda --networks networks --out mnist.json

needs the image files (see :func:`creases.problems.mnist`). Figures 7.8 to 7.17 (similarity) and 6.14 to 6.19
(sensitivity). At full scale coefficients of 14 networks at 60,000 images are kept on the GPU: 60 GiB.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from creases._files import write_atomically
from creases.compare import Coefficients, active_subspace, coefficients, count_regions
from creases.compare.measures import coefficient_cka, cross_entropies, distances, mapped_accuracies
from creases.network import read
from creases_reproduction.experiment import describe_run, round_numbers
from creases_reproduction.linearity.image_networks import DataName, Plan, images, network, plans
from creases_reproduction.statistics import explained_variance


@dataclass
class Measured:
    """What was measured of the networks of one data set."""

    data: str
    names: list[str]
    train: int  #: training samples that maps are fitted to
    test: int  #: test samples
    clustered: int = 0  #: training samples that are clustered
    accuracy: list[float] = field(default_factory=list)
    regions: list[int] = field(default_factory=list)  #: different regions that the test samples lie in
    compression: dict[str, list[float]] = field(default_factory=dict)  #: accuracy with k clusters, by k
    cka: list[list[float]] = field(default_factory=list)
    distance: list[list[float]] = field(default_factory=list)
    distance_as_printed: list[list[float]] = field(default_factory=list)
    cross_entropy: list[list[float]] = field(default_factory=list)
    mapped: list[list[float]] = field(default_factory=list)
    share: list[list[float]] = field(default_factory=list)  #: of the first direction, by network and output
    explained: list[list[float]] = field(default_factory=list)  #: of the output's variance, by that direction
    spectrum: list[list[float]] = field(
        default_factory=list
    )  #: mean over outputs of the 20 largest eigenvalues' shares


def load(folder: Path, plan: Plan) -> nn.Sequential:
    """Return a trained network of the experiment."""
    from safetensors.torch import load_file

    model = network(plan.kind, plan.seed)
    model.load_state_dict(load_file(folder / plan.file))
    return model


def store(path: Path, command: str, seconds: float, measured: Measured) -> None:
    """Write what was measured, and how it was made, as JSON."""
    result = {"about": describe_run(command, seconds), "numbers": round_numbers(measured.__dict__)}
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps(result))


def measure(
    data: DataName,
    models: Sequence[nn.Module],
    names: Sequence[str],
    *,
    train: int | None = None,
    test: int | None = None,
    **options: Any,
) -> Measured:
    """Return :func:`measure_images` on the images of a data set: the first ``train`` and ``test`` of them, or all."""
    return measure_images(data, models, names, images(data, "train", train)[0], images(data, "test", test), **options)


def measure_images(
    data: str,
    models: Sequence[nn.Module],
    names: Sequence[str],
    train: Tensor,
    test: tuple[Tensor, Tensor],
    *,
    device: str = "cpu",
    follow: Callable[[str, Measured], None] = lambda stage, measured: None,
) -> Measured:
    """Measure what chapters 6 and 7 measure of image networks, but for clusters; ``follow`` is called after each stage.

    Parameters
    ----------
    train, test
        Images (n, c, h, w) that maps are fitted to; others with their classes.
    """
    x, x_test, labels = (part.to(device) for part in (train, *test))
    nets = [read(model.cpu(), x.shape[1:]).to(torch.float32).to(device) for model in models]
    result = Measured(data, list(names), len(x), len(x_test))
    result.regions = [count_regions(net, x_test) for net in nets]
    at_test = [coefficients(net, x_test) for net in nets]
    result.accuracy = [float((C.values.argmax(1) == labels).double().mean()) for C in at_test]
    follow("coefficients", result)
    result.cka = coefficient_cka(at_test).tolist()
    result.cross_entropy = cross_entropies(at_test).tolist()
    follow("CKA", result)
    result.distance = distances(at_test).tolist()
    result.distance_as_printed = distances(at_test, scale="largest").tolist()
    follow("distance", result)
    _sensitivity(result, at_test, x_test)
    follow("sensitivity", result)
    at_train = [coefficients(net, x) for net in nets]
    result.mapped = mapped_accuracies(at_train, at_test, x_test, labels).tolist()
    follow("maps", result)
    return result


def _sensitivity(result: Measured, at_test: Sequence[Coefficients], x: Tensor) -> None:
    for C in at_test:
        results = [active_subspace(C, j, n_directions=20) for j in range(C.n_out)]
        result.share.append([item.share for item in results])
        result.explained.append(
            [explained_variance(C.values[:, j].cpu(), item.project(x)) for j, item in enumerate(results)]
        )
        spectra = [np.pad(item.eigenvalues, (0, 20 - len(item.eigenvalues))) / item.total for item in results]
        result.spectrum.append(np.mean(spectra, axis=0).tolist())


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the networks of a folder and keep the numbers as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("data", choices=["mnist", "cifar10"])
    parser.add_argument("--networks", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--train", type=int)
    parser.add_argument("--test", type=int)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    part, began = plans(options.data), perf_counter()
    flags = f"{options.data} --device {options.device} --networks networks --out {options.out.name}"
    command = f"python -m creases_reproduction.linearity.image_similarity {flags}"

    def keep(stage: str, measured: Measured) -> None:
        print(stage, flush=True)
        store(options.out, command, perf_counter() - began, measured)

    models = [load(options.networks, plan) for plan in part]
    measure(
        options.data,
        models,
        [plan.name for plan in part],
        device=options.device,
        train=options.train,
        test=options.test,
        follow=keep,
    )


if __name__ == "__main__":
    main()
