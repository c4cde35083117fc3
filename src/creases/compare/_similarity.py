"""How similar many networks are on the same samples, by every measure, in one pass over the data for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from creases._display import Described, describe
from creases._document import Document
from creases._schema import DICT
from creases._text import OneLine
from creases._typing import Floats, Progress
from creases._validation import check_arguments
from creases.compare._coefficients import Coefficients, coefficients
from creases.compare._decisions import check_classes, decisions
from creases.compare.measures._affine_map import mapped_accuracies
from creases.compare.measures._cka import coefficient_cka
from creases.compare.measures._distance import cross_entropies, distances, similarity_order
from creases.errors import InputError
from creases.network import Network, PointsLike, as_network


@dataclass(frozen=True, eq=False, repr=False)
class Similarity(Described, OneLine):
    """N networks compared, each measure as (N, N), rows and columns in the order of ``names``."""

    names: tuple[str, ...]
    samples: int  #: how many
    accuracy: Floats | None  #: (N,) fraction of samples classified correctly, where classes are known
    agreement: Floats  #: fraction of samples that both put into the same class
    cka: Floats  #: of coefficients: 1 for networks with the same pieces up to rotation and scale; symmetric
    distance: Floats  #: mean squared distance of coefficients, scaled; 0 for equal networks; symmetric
    cross_entropy: Floats  #: of softmax outputs, rows the network that is approximated; the diagonal is its entropy
    mapped: Floats | None  #: accuracy of the row's coefficients mapped to the column's, with training samples only

    def order(self) -> list[int]:
        """Return the networks in an order that puts similar ones next to each other, by their CKA."""
        return similarity_order(self.cka)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, for JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items()}
        return plain | {"names": list(self.names)}

    def describe(self) -> Document:
        """Return the accuracy of each network, and every measure of all pairs."""
        return describe(self)


@check_arguments(networks=DICT)
def similarity(
    networks: Mapping[str, Network],
    X: PointsLike,
    *,
    y: Any = None,
    train: PointsLike | None = None,
    out: str | Path | None = None,
    dtype: torch.dtype | None = None,
    progress: Progress | None = None,
) -> Similarity:
    """Compare networks of any architectures with the same inputs and outputs.

    The measures are those of the dissertation, chapter 7.

    Parameters
    ----------
    networks
        Networks by name: each a :class:`creases.Network`, a torch module or a file name.
    X, y
        Samples (p, ...) to compare on, and their classes (p,) if known.
    train
        Other samples, to which maps from one network's coefficients to another's are fitted; they need ``y``.
    out
        Folder to store the coefficients in instead of memory; an interrupted run resumes from there.
    dtype
        torch.float32 or torch.float64 to compute in; by default each network's own.
    progress
        Called as ``progress(what, done, total)`` before each part of the work.

    Examples
    --------
    >>> import creases, torch
    >>> from torch import nn
    >>> net = creases.read(nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)))
    >>> result = similarity({"a": net, "b": net}, torch.rand(20, 2))
    >>> result.agreement[0, 1], result.distance[0, 1]
    (np.float64(1.0), np.float64(0.0))
    """
    nets = {name: as_network(net) for name, net in networks.items()}
    if len(nets) < 2:
        raise InputError("networks", "be at least two", f"{len(nets)}")
    shapes = {name: (net.n_in, net.n_out) for name, net in nets.items()}
    if len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name} {inputs} and {outputs}" for name, (inputs, outputs) in shapes.items())
        raise InputError("networks", "have the same numbers of inputs and outputs", listed)
    if train is not None and y is None:
        raise InputError("train", "come with y", hint="maps are compared by accuracy, which needs classes")
    total = len(nets) * (1 if train is None else 2) + (2 if train is None else 3)
    begun = 0

    def begin(what: str) -> None:
        nonlocal begun
        if progress is not None:
            progress(what, begun, total)
        begun += 1

    def coefficients_at(samples: PointsLike, which: str) -> list[Coefficients]:
        every = []
        for i, (name, net) in enumerate(nets.items()):
            begin(f"coefficients of {name} at {which} samples")
            folder = None if out is None else Path(out, f"{which}-{i}")
            every.append(coefficients(net, samples, dtype=dtype, out=folder))
        return every

    at = coefficients_at(X, "the" if train is None else "test")
    if at[0].count < 2:
        raise InputError("X", "have at least two samples", f"{at[0].count}")
    classes = None if y is None else torch.from_numpy(check_classes(y, at[0].count)).to(at[0].values.device)
    begin("centred kernel alignment")
    alignment = coefficient_cka(at)
    begin("distances")
    apart = distances(at)
    mapped = None
    if train is not None and classes is not None:
        fitted = coefficients_at(train, "training")
        begin("maps")
        samples, _ = next(iter(nets.values())).as_batch(X)
        mapped = mapped_accuracies(fitted, at, samples, classes)
    decided = [decisions(C.values) for C in at]
    return Similarity(
        tuple(nets),
        at[0].count,
        None if classes is None else np.array([float((each == classes).double().mean()) for each in decided]),
        np.array([[float((a == b).double().mean()) for b in decided] for a in decided]),
        alignment,
        apart,
        cross_entropies(at),
        mapped,
    )
