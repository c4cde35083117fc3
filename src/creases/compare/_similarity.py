"""How alike many networks are on the same samples, by every measure, in one pass over the data for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._typing import Floats
from creases.compare._coefficients import Coefficients, coefficients
from creases.compare._decisions import decisions
from creases.compare.measures._affine_map import mapped_accuracies
from creases.compare.measures._cka import coefficient_cka
from creases.compare.measures._distance import cross_entropies, distances
from creases.compare.measures._order import similarity_order
from creases.errors import InputError
from creases.network import Network, PointsLike


@dataclass(frozen=True, eq=False)
class Similarity:
    """N networks compared, each measure as (N, N), rows and columns in the order of ``names``."""

    names: tuple[str, ...]
    samples: int
    accuracy: Floats | None  #: (N,) share of samples classified right, where labels are known
    agreement: Floats  #: share of samples that both put into the same class
    cka: Floats  #: of coefficients: 1 for networks with the same pieces up to rotation and scale; symmetric
    distance: Floats  #: mean squared distance of coefficients, scaled; 0 for equal networks; symmetric
    cross_entropy: Floats  #: of softmax outputs, rows the one that is approximated; the diagonal is its own entropy
    mapped: Floats | None  #: accuracy of row's coefficients mapped to column's, where training samples are given

    def order(self) -> list[int]:
        """The networks in an order that puts alike ones side by side, by their CKA."""
        return similarity_order(self.cka)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, for JSON."""
        parts = {name: getattr(self, name) for name in _PARTS}
        return {
            "names": list(self.names),
            "samples": self.samples,
            **{name: None if part is None else part.tolist() for name, part in parts.items()},
        }


_PARTS = ("accuracy", "agreement", "cka", "distance", "cross_entropy", "mapped")


def similarity(
    networks: Mapping[str, Network],
    x: PointsLike,
    *,
    labels: Tensor | NDArray[Any] | None = None,
    train: PointsLike | None = None,
    out: str | Path | None = None,
    dtype: torch.dtype | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> Similarity:
    """Compare networks of any architectures with the same inputs and outputs.

    Parameters
    ----------
    x, labels
        Samples (p, ...) to compare at, and their classes (p,) if they are known.
    train
        Other samples, which maps from one network's coefficients to another's are fitted to; they need labels.
    out
        A folder to keep the coefficients in, which then need no memory; a run that was interrupted goes on with those.
    progress
        Called with what is done next.

    Examples
    --------
    >>> import creases, torch
    >>> from torch import nn
    >>> net = creases.read(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)))
    >>> found = similarity({"a": net, "b": net}, torch.rand(20, 2))
    >>> found.agreement[0, 1], found.distance[0, 1]
    (np.float64(1.0), np.float64(0.0))
    """
    _check(networks)
    if train is not None and labels is None:
        raise InputError("train: maps are judged by accuracy, which needs labels")

    def of(samples: PointsLike, which: str) -> list[Coefficients]:
        found = []
        for i, (name, net) in enumerate(networks.items()):
            progress(f"coefficients of {name} at {which} samples")
            folder = None if out is None else Path(out, f"{which}-{i}")
            found.append(coefficients(net, samples, dtype=dtype, out=folder))
        return found

    at = of(x, "the" if train is None else "test")
    if at[0].count < 2:
        raise InputError(f"x: expected at least two samples, got {at[0].count}")
    classes = None if labels is None else _classes(labels, at[0])
    progress("centred kernel alignment")
    alike = coefficient_cka(at)
    progress("distances")
    apart = distances(at)
    mapped = None
    if train is not None and classes is not None:
        fitted = of(train, "training")
        progress("maps")
        samples, _ = next(iter(networks.values())).as_batch(x)
        mapped = mapped_accuracies(fitted, at, samples, classes)
    decided = [decisions(C.values) for C in at]
    return Similarity(
        tuple(networks),
        at[0].count,
        None if classes is None else np.array([float((one == classes).double().mean()) for one in decided]),
        np.array([[float((a == b).double().mean()) for b in decided] for a in decided]),
        alike,
        apart,
        cross_entropies(at),
        mapped,
    )


def _check(networks: Mapping[str, Network]) -> None:
    if len(networks) < 2:
        raise InputError(f"networks: expected at least two to compare, got {len(networks)}")
    shapes = {name: (net.n_in, net.n_out) for name, net in networks.items()}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name} {inputs} and {outputs}" for name, (inputs, outputs) in shapes.items())
        raise InputError(f"networks: expected the same numbers of inputs and outputs, got {listed}")


def _classes(labels: Tensor | NDArray[Any], like: Coefficients) -> Tensor:
    classes = torch.as_tensor(labels, device=like.values.device)
    if classes.shape != (like.count,) or classes.is_floating_point():
        raise InputError(
            f"labels: expected whole class numbers ({like.count},), got {classes.dtype} {tuple(classes.shape)}"
        )
    return classes
