"""The accuracy of a network whose pieces are clustered to k: the dissertation, section 7.2.

For each output the coefficients at training samples are clustered by k-means; a test sample takes the centre nearest to
its own coefficients as its affine map. If k = 1 keeps the accuracy, the network behaves like a linear one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import heappop, heappush
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from creases._schema import INTEGER, instance, sequence
from creases._validation import check_arguments, check_seed
from creases.compare._coefficients import Coefficients
from creases.compare._decisions import decisions
from creases.compare.measures._affine_map import check_samples
from creases.errors import InputError
from creases.network import Network, PointsLike, as_network

ITERATIONS = 300  #: of Lloyd's algorithm for one split, at most
TOLERANCE = 1e-4  #: squared movement of centres, relative to the mean variance of a column, at which a split is done


def bisect(rows: Tensor, ks: Sequence[int], seed: int) -> Iterator[Tensor]:
    """Yield centres (k, r) of rows (p, r) for each k, ascending; fewer where there are fewer distinct rows."""
    draw = torch.Generator().manual_seed(seed)
    shift = rows.mean(0)
    x = rows - shift  # inertia is a difference of squares: small numbers keep its digits
    enough = TOLERANCE * float(x.square().mean())
    heap: list[tuple[float, int, Tensor, Tensor]] = []  # minus inertia, number, members, centre
    _push(heap, 0, x, torch.arange(len(x), device=x.device))
    number = 1
    equal: list[Tensor] = []  # centres of clusters whose rows are equal
    for k in ks:
        while heap and len(heap) + len(equal) < k:
            _, _, members, centre = heappop(heap)
            side = _split(x[members], enough, draw)
            if side is None:
                equal.append(centre)
                continue
            for part in (members[side], members[~side]):
                _push(heap, number, x, part)
                number += 1
        yield torch.stack([*equal, *(centre for *_, centre in heap)]) + shift


def _push(heap: list[tuple[float, int, Tensor, Tensor]], number: int, x: Tensor, members: Tensor) -> None:
    part = x[members]
    centre = part.mean(0)
    heappush(heap, (-float((part - centre).square().sum()), number, members, centre))


def _split(x: Tensor, enough: float, draw: torch.Generator) -> Tensor | None:
    """Return which rows (n, r) are of the first of two clusters, by Lloyd's algorithm; None if all rows are equal.

    The first centres are a row drawn uniformly and one drawn by its squared distance from it, as k-means++ draws them.
    """
    a = x[int(torch.randint(len(x), (), generator=draw))]
    weight = (x - a).square().sum(1).double().cumsum(0)
    if not float(weight[-1]) > 0:
        return None
    at = torch.rand((), generator=draw, dtype=torch.float64).to(weight) * weight[-1]
    b = x[int(torch.searchsorted(weight, at, right=True).clamp(max=len(x) - 1))]
    total, side = x.sum(0), _nearer(x, a, b)
    for _ in range(ITERATIONS):
        n = int(side.sum())
        if not 0 < n < len(x):  # rows equal to rounding
            return None
        first = side.to(x.dtype) @ x
        means = first / n, (total - first) / (len(x) - n)
        moved = (means[0] - a).square().sum() + (means[1] - b).square().sum()
        a, b = means
        side = _nearer(x, a, b)
        if float(moved) <= enough:
            break
    return side if 0 < int(side.sum()) < len(x) else None


def _nearer(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return which rows are nearer to a than to b."""
    return x @ (a - b) > (a @ a - b @ b) / 2


Floats = NDArray[Any]


@dataclass(frozen=True)
class Compression:
    """The accuracy of a network with k pieces for each output."""

    k: tuple[int, ...]
    accuracy: tuple[float, ...]  #: for each k
    original: float  #: accuracy of the network itself
    inertia: tuple[float, ...]  #: mean squared distance to the centres over outputs and training samples, for each k


@check_arguments(train=instance("Coefficients"), test=instance("Coefficients"), k=sequence(INTEGER), n_jobs=INTEGER)
def compress(
    train: Coefficients,
    test: Coefficients,
    X: Tensor | Floats,
    y: Tensor | NDArray[Any],
    *,
    k: Sequence[int] = (1, 10, 100),
    seed: int = 0,
    n_jobs: int = 1,
) -> Compression:
    """Measure the accuracy of a network with its coefficients clustered to k, for each k (dissertation, section 7.2).

    Clusters are those of bisecting k-means: with hundreds of clusters faster than k-means, and with smaller distances.
    The clusters for a small k are split further for a larger one.

    Parameters
    ----------
    train, test
        Coefficients at the samples to cluster and at the samples to classify.
    X, y
        The test samples (p, ...) and their classes (p,).
    k
        Numbers of clusters.
    seed
        Seed of the clustering.
    n_jobs
        Number of processes that share the outputs; -1: as many as there are cores. Coefficients on a GPU are clustered
        there, in this process.
    """
    from joblib import Parallel, delayed

    seed = check_seed(seed)
    if not n_jobs:
        raise InputError("n_jobs", "be a number of processes, or -1 for all cores", f"{n_jobs}")
    ks = sorted({int(count) for count in k})
    if not ks or ks[0] < 1:
        raise InputError("k", "be positive integers", f"{list(k)}")
    if ks[-1] > train.count:
        raise InputError("k", f"be at most the number of training samples, {train.count}", f"{ks[-1]}")
    X, classes = check_samples(test, X, y)
    points = test.coordinates(X).to(train.features.device)  # (p, r)
    outputs = ((train.features[j], test.features[j].to(train.features), points, ks, seed) for j in range(test.n_out))
    if train.features.is_cuda or n_jobs == 1:
        results = [_cluster(*output) for output in outputs]
    else:
        results = Parallel(n_jobs=n_jobs)(delayed(_cluster)(*output) for output in outputs)
    values = np.stack([values for values, _ in results], axis=2)  # (k, p, outputs)
    accuracy = (decisions(torch.from_numpy(values)) == classes).double().mean(1)
    original = float((decisions(test.values.cpu()) == classes).double().mean())
    inertia = np.mean([inertia for _, inertia in results], axis=0)
    return Compression(tuple(ks), tuple(accuracy.tolist()), original, tuple(inertia.tolist()))


def _cluster(rows: Tensor, new: Tensor, points: Tensor, ks: Sequence[int], seed: int) -> tuple[Floats, Floats]:
    """Return values (k, p) of one output by the nearest centres of its rows, and mean squared distances (k,)."""
    values, inertia = [], []
    for centres in bisect(rows, ks, seed):
        values.append((_nearest(new, centres).double() * points).sum(1).cpu().numpy())
        inertia.append(float((rows - _nearest(rows, centres)).double().square().sum(1).mean()))
    return np.stack(values), np.array(inertia)


def _nearest(rows: Tensor, centres: Tensor) -> Tensor:
    """Return the centre nearest to each row."""
    return centres[torch.cdist(rows, centres).argmin(1)]


def count_regions(net: Network, X: PointsLike) -> int:
    """Return the number of different regions that samples (p, ...) lie in.

    That is the number of their patterns, compared by digests of 512 bits.
    """
    net = as_network(net)
    samples, _ = net.as_batch(X, "X")
    block = max(1, 2**28 // (8 * max(1, sum(net.sizes))))
    parts = (net.sides(samples[start : start + block]) for start in range(0, len(samples), block))
    return len({blake2b(sides.tobytes()).digest() for part in parts for sides in part})
