"""The network along many segments at once.

The segments are joined to one path, from the first to the second end of one, over to the second end of the next, and
back; so all of them go through the network in one batch. Between two segments the path is not cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from creases._text import plural
from creases._typing import Floats, Ints, Progress
from creases._validation import check_finite, check_points
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network
from creases.regions._limits import MemoryLimit
from creases.regions._line.cuts import Cuts
from creases.regions._line.line import Track, trace

#: Segments in one path: more would take digits from t, which counts them.
CHUNK = 256


@dataclass(frozen=True, eq=False)
class Polylines:
    """A network along n segments, as :func:`lines` returns it: between two knots of a segment it is affine.

    The knots of segment i are ``starts[i]`` to ``starts[i + 1]``: its ends and, between them, its breakpoints.
    """

    t: Floats  #: (K,) from 0 to 1 in each segment, increasing
    values: Floats  #: (K, m) outputs at the knots
    starts: Ints  #: (n + 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def segment(self) -> Ints:
        """The segment (K,) of each knot."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


class _Path(Track):
    """The segments as one path: vertex k is at ``t = k``."""

    def __init__(self, net: Network, vertices: Floats, memory: MemoryLimit) -> None:
        self.vertices, self.steps = vertices, np.diff(vertices, axis=0)
        longest = int(np.abs(self.steps).max(axis=1).argmax())
        super().__init__(net, vertices[longest], self.steps[longest], memory)

    def inputs(self, t: Floats) -> Floats:
        k = np.minimum(t.astype(np.int64), len(self.steps) - 1)
        share = (t - k)[:, None]
        return np.asarray((1 - share) * self.vertices[k] + share * self.vertices[k + 1])

    def weights(self, t: Floats) -> Floats:
        return np.ones(len(t))

    def drop_gaps(self, t: Floats, cuts: Cuts) -> Cuts:
        keep = np.floor(t[cuts.interval]) % 2 == 0  # from an odd vertex on the path leads to the next segment
        return Cuts(cuts.first, *(entries[keep] for entries in cuts[1:]))


def lines(
    net: NetworkLike, A: Any, B: Any, *, max_memory: float | None = None, progress: Progress | None = None
) -> Polylines:
    """Return a network along many segments, each with its breakpoints.

    As exact as :func:`line`, and much faster than one call for each.

    Parameters
    ----------
    net
        A network, torch module or file name; the geometry is in float64.
    A, B
        (n, d) first and second ends: ``x = a + t (b - a)``, t from 0 to 1.
    max_memory
        About how many bytes the work may hold; no limit by default. Beyond it :class:`creases.errors.LimitError` says
        how many segments, or breakpoints of the segments in work, there were.
    progress
        Called with the number of segments that are done, and of all. An exception raised by it ends the computation.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])  # relu(x0 + x1)
    >>> curves = creases.regions.lines(net, [[-1, 0], [-1, 0.5]], [[1, 0], [1, 0.5]])
    >>> curves.t.tolist(), curves.starts.tolist()
    ([0.0, 0.5, 1.0, 0.0, 0.25, 1.0], [0, 3, 6])
    """
    net = as_network(net).to(torch.float64)
    first, second = check_points(A, net.n_in, "A"), check_points(B, net.n_in, "B")
    for ends, name in ((first, "A"), (second, "B")):
        check_finite(ends, name)
    if len(first) != len(second):
        raise InputError("B", f"have {plural(len(first), 'row')}, as A", f"{len(second)}")
    limit = MemoryLimit(max_memory, "pass fewer segments")
    per_knot = 8 * (2 + 2 * net.n_in + net.n_out)  # t, its segment, the input twice (parts are joined) and the output
    parts, knots = [], 0
    for k in range(0, len(first), CHUNK):
        limit.check(per_knot * knots, plural(k, "segment"))
        parts.append(_trace_chunk(net, first[k : k + CHUNK], second[k : k + CHUNK], limit))
        knots += len(parts[-1][0])
        if progress is not None:
            progress("following segments", min(k + CHUNK, len(first)), len(first))
    limit.check(per_knot * knots, plural(len(first), "segment"))
    empty = (np.zeros(0), np.zeros((0, net.n_in)), np.zeros(0, np.int64))
    t, x, counts = (np.concatenate(arrays) for arrays in zip(empty, *parts, strict=True))
    values = np.asarray(net(x)).reshape(len(x), net.n_out)
    return Polylines(t, values, np.append(0, np.cumsum(counts)).astype(np.int64))


def _trace_chunk(net: Network, A: Floats, B: Floats, limit: MemoryLimit) -> tuple[Floats, Floats, Ints]:
    """Return the knots of some segments: t (K,), the inputs there (K, d), and how many each segment has (n,)."""
    n = len(A)
    reverse = np.arange(n) % 2 == 1
    ends = np.stack([np.where(reverse[:, None], B, A), np.where(reverse[:, None], A, B)], axis=1)
    vertices = ends.reshape(2 * n, -1)
    knots, changes = np.arange(2.0 * n), np.zeros(2 * n, bool)
    if net.n_units and np.ptp(vertices, axis=0).any():
        with torch.no_grad():
            knots, patterns = trace(_Path(net, vertices, limit), knots)
        changes = np.zeros(len(knots), bool)
        changes[1:-1] = (patterns[1:] != patterns[:-1]).any(axis=1)
    is_vertex = knots == np.floor(knots)
    segment = np.minimum(knots.astype(np.int64) // 2, n - 1)
    inside = (knots - 2 * segment) <= 1
    keep = np.flatnonzero(inside & (is_vertex | changes))
    segment, local = segment[keep], knots[keep] - 2 * segment[keep]
    local = np.where(reverse[segment], 1 - local, local)
    order = np.lexsort((local, segment))
    t, segment = local[order], segment[order]
    x = (1 - t)[:, None] * A[segment] + t[:, None] * B[segment]
    return t, x, np.bincount(segment, minlength=n)
