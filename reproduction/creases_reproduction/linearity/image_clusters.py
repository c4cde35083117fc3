"""Image networks whose coefficients are clustered: Figures 7.3 and 7.4 of the dissertation, one network at a time.

    python -m creases_reproduction.linearity.image_networks mnist --device cuda --out networks
    python -m creases_reproduction.linearity.image_clusters mnist --networks networks --out image_clusters_mnist.json

needs the image files (see :func:`creases.problems.mnist`) and, for CIFAR-10, about 6 GB of memory. Interrupted, it
goes on with the networks that its file lacks.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from torch import Tensor, float32, nn

from creases.compare import coefficients, compress
from creases.network import read
from creases_reproduction.linearity.image_networks import images, plans
from creases_reproduction.linearity.image_similarity import Measured, load, store

CLUSTERS = (1, 10, 100, 1000)


def cluster_images(
    data: str,
    models: Sequence[nn.Module],
    names: Sequence[str],
    train: Tensor,
    test: tuple[Tensor, Tensor],
    *,
    device: str = "cpu",
    k: Sequence[int] = CLUSTERS,
    jobs: int = -1,
    before: Measured | None = None,
    follow: Callable[[str, Measured], None] = lambda name, measured: None,
) -> Measured:
    """Measure the accuracy of networks at test images with coefficients of training images clustered to each k.

    ``before``: what is measured already, of the first networks; ``follow`` is called after each network.
    """
    train, x, labels = (part.to(device) for part in (train, *test))
    result = before or Measured(data, [], len(train), len(x), len(train), compression={str(item): [] for item in k})
    for model, name in list(zip(models, names, strict=True))[len(result.names) :]:
        net = read(model.cpu(), x.shape[1:]).to(float32).to(device)
        compression = compress(coefficients(net, train), coefficients(net, x), x, labels, k=k, n_jobs=jobs)
        result.names.append(name)
        result.accuracy.append(compression.original)
        for item, accuracy in zip(k, compression.accuracy, strict=True):
            result.compression[str(item)].append(accuracy)
        follow(name, result)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Cluster the networks of a folder and keep the numbers as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("data", choices=["mnist", "cifar10"])
    parser.add_argument("--networks", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--train", type=int, default=10_000, help="images whose coefficients are clustered")
    parser.add_argument("--test", type=int)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    part = plans(options.data)
    flags = (
        f"{options.data} --device {options.device} --networks networks --train {options.train} --out {options.out.name}"
    )
    command = f"python -m creases_reproduction.linearity.image_clusters {flags}"
    before, seconds = _resume(options.out, command) if options.out.exists() else (None, 0.0)
    began = perf_counter() - seconds

    def keep(name: str, measured: Measured) -> None:
        print(name, round(perf_counter() - began), flush=True)
        store(options.out, command, perf_counter() - began, measured)

    models = [load(options.networks, plan) for plan in part]
    samples, test = images(options.data, "train", options.train)[0], images(options.data, "test", options.test)
    names, where = [plan.name for plan in part], options.device
    cluster_images(
        options.data, models, names, samples, test, device=where, jobs=options.jobs, before=before, follow=keep
    )


def _resume(path: Path, command: str) -> tuple[Measured, float]:
    """Return what a file of this command has, and the seconds it took."""
    saved = json.loads(path.read_text())
    if saved["about"]["command"] != command:
        raise SystemExit(
            f"{path} is of another command ({saved['about']['command']}); remove it, or choose another file"
        )
    return Measured(**saved["numbers"]), float(saved["about"]["seconds"])


if __name__ == "__main__":
    main()
