r"""What image networks look at (Figures 6.3, 6.14, 6.16, 6.17 and 6.19 of the dissertation): coefficients as pictures.

    python -m creases_reproduction.linearity.image_networks mnist --device cuda --out networks
    python -m creases_reproduction.linearity.image_directions mnist --device cuda --networks networks \
        --out directions_mnist.json

needs the image files (see :func:`creases.problems.mnist`). The dissertation shows pictures and says of them that they
are blurry or jagged, alike, or zero where the image is; here each of these is a number.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from creases._files import write_atomically
from creases.compare import active_subspace, coefficients
from creases.network import read
from creases_reproduction.experiment import describe_run
from creases_reproduction.linearity.image_networks import DataName, images, plans
from creases_reproduction.linearity.image_similarity import load
from creases_reproduction.results import to_json

AT = (1, 10, 128, 129, 500)  #: which eigenvalues are kept, relative to the first
AWAY = 10  #: pixels further than a tenth of the height from every pixel that is not background are outside


@dataclass
class Directions:
    """By network: of the first direction of the outputs looked at, and of the coefficients at single images."""

    data: str
    names: list[str]
    samples: int
    roughness: list[float] = field(default_factory=list)  #: of the first direction: 0 is constant, 1 is white noise
    jagged: list[float] = field(default_factory=list)  #: the same of the coefficients at an image, mean over images
    like_linear: list[float] = field(default_factory=list)  #: |cosine| of first directions to the linear network's
    outside: list[float] = field(
        default_factory=list
    )  #: mean square of coefficients far from the stroke, over the rest
    eigenvalues: list[list[float]] = field(default_factory=list)  #: number AT, relative to the first; 0 beyond the last


def roughness(v: Tensor) -> float:
    """Return mean squared step between neighbouring pixels of pictures (n, c, h, w), over twice the mean square."""
    steps = [v.diff(dim=axis).double().square().mean() for axis in (2, 3)]
    size = v.double().square().mean()
    return float((steps[0] + steps[1]) / (4 * size)) if size > 0 else float("nan")


def far(x: Tensor) -> Tensor:
    """Return pixels (n, h, w) of images (n, c, h, w) far from each that is not background, the least value."""
    away = max(1, x.shape[2] // AWAY)
    stroke = (x[:, :1] > x.amin() + 1e-4).float()
    return (F.max_pool2d(stroke, 2 * away + 1, 1, away) == 0)[:, 0]


def directions(
    data: str,
    models: Sequence[nn.Module],
    names: Sequence[str],
    x: Tensor,
    *,
    outputs: Sequence[int] = (0, 1, 2),
    looked_at: int = 50,
) -> Directions:
    """Measure networks on images x (n, c, h, w); single coefficients at the first ``looked_at`` of them."""
    results = Directions(data, list(names), len(x))
    outside = far(x[:looked_at])
    linear: dict[str, list[np.ndarray]] = {}
    for model, name in zip(models, names, strict=True):
        net = read(model.cpu(), x.shape[1:]).to(torch.float32).to(x.device)
        C = coefficients(net, x)
        spaces = [active_subspace(C, j) for j in outputs]
        first = [item.directions[0] for item in spaces]
        linear.setdefault(name.split()[-1], first)  # the linear network comes first of its optimizer
        pictures = torch.from_numpy(np.stack(first)).reshape(-1, *x.shape[1:])
        results.roughness.append(float(np.mean([roughness(item[None]) for item in pictures])))
        cosines = [abs(float(a @ b)) for a, b in zip(first, linear[name.split()[-1]], strict=True)]
        results.like_linear.append(float(np.mean(cosines)))
        values = [[float(e[k - 1] / e[0]) if k <= len(e) else 0.0 for k in AT] for e in (s.eigenvalues for s in spaces)]
        results.eigenvalues.append(np.mean(values, axis=0).tolist())
        part = torch.stack(
            [C.rows(j)[:looked_at, :-1].reshape(-1, *x.shape[1:]) for j in outputs]
        )  # (outputs, n, c, h, w)
        results.jagged.append(float(np.nanmean([roughness(item[None]) for item in part.flatten(0, 1)])))
        square = part.double().square().mean((0, 2))
        where = outside.to(square.device)
        results.outside.append(float(square[where].mean() / square[~where].mean()))
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the networks of a folder and keep the numbers as JSON."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("data", choices=["mnist", "cifar10"])
    parser.add_argument("--networks", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--test", type=int)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    name: DataName = options.data
    part, began = plans(name), perf_counter()
    x = images(name, "test", options.test)[0].to(options.device)
    results = directions(name, [load(options.networks, plan) for plan in part], [plan.name for plan in part], x)
    flags = f"{name} --device {options.device} --networks networks --out {options.out.name}"
    command = f"python -m creases_reproduction.linearity.image_directions {flags}"
    about = describe_run(command, perf_counter() - began)
    with write_atomically(options.out) as path:
        path.write_text(json.dumps({"about": about, "numbers": to_json(asdict(results))}))


if __name__ == "__main__":
    main()
