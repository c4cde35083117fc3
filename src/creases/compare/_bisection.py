"""Bisecting 2-means on the device of the rows: the cluster with the largest inertia is split, again and again.

The clusters for a small k are those of the first splits, so one run gives those of every k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

import torch
from torch import Tensor

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
