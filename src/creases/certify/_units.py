"""What each unit does: whether it is ever on, always on, or doubles another, and how long its crease is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases._typing import Floats, Ints
from creases.certify._ranges import bend_ranges
from creases.network import Network
from creases.network.program import columns_out, rows_in
from creases.regions import LinePartition, PlanePartition

#: Rows of length 1 that differ by no more are one direction: weights as trained in float32 have seven digits.
ALIKE = 1e-6

#: What is known of a unit's side over the whole box.
OFF, ON, BOTH, OPEN = 0, 1, 2, 3


@dataclass(frozen=True, eq=False)
class Units:
    """Facts of all units of a network; -1 and NaN where there is nothing to tell (choices, layers not dense)."""

    side: Ints  #: (n,) over the box: OFF or ON everywhere, BOTH sides occur, or OPEN: not decided by the bounds
    active: Floats  #: (n,) share of samples for which it is on; NaN without samples
    crease: Floats | None  #: (n,) length of its crease on the plane, or how often a segment crosses it
    same: Ints  #: (n,) an earlier unit of the layer whose weights and bias are a multiple of its own: one crease
    sense: Ints  #: (n,) 1 where both are on on the same side (a duplicate), -1 on opposite sides (a mirror), else 0
    parallel: Ints  #: (n,) an earlier unit of the layer with weights in the same or opposite direction, another crease
    norm_in: Floats  #: (n,) length of the weights into it, without the bias
    norm_out: Floats  #: (n,) length of the weights out of it


def units(net: Network, box: Any, *, x: Any = None, partition: PlanePartition | LinePartition | None = None) -> Units:
    """Facts of every unit over a box of the inputs.

    Parameters
    ----------
    net
        Any network.
    box
        ``[(lo, hi)] * n_in``: where a unit is said to be on or off everywhere. A partition of all of a network of one
        or two inputs decides this exactly; else bounds that hold do, and what they leave is OPEN.
    x
        Samples (n, n_in).
    partition
        Where creases are measured.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [2.0], [1.0]], [0.0, 0.0, -5.0]), ([[1.0, 1.0, 1.0]], [0.0])])
    >>> found = units(net, [(-1, 1)], x=[[0.5], [-0.5]])
    >>> found.side.tolist(), found.same.tolist(), found.active.tolist()
    ([2, 2, 0], [-1, 0, -1], [0.5, 0.5, 0.0])
    """
    n = net.n_units
    same, sense, parallel = np.full(n, -1), np.zeros(n, np.int64), np.full(n, -1)
    norm_in, norm_out = np.full(n, np.nan), np.full(n, np.nan)
    for bend, (first, last) in enumerate(zip(net.unit_starts[:-1], net.unit_starts[1:], strict=True)):
        own = slice(first, last)
        rows, columns = rows_in(net, bend), columns_out(net, bend)
        if rows is not None:
            norm_in[own] = np.linalg.norm(rows[:, :-1], axis=1)
            twin, way = _earlier(rows)
            same[own], sense[own] = np.where(twin >= 0, twin + first, -1), way
            if rows.shape[1] > 2:  # of one input all are parallel
                beside, _ = _earlier(rows[:, :-1])
                parallel[own] = np.where((beside >= 0) & (twin < 0), beside + first, -1)
        if columns is not None:
            norm_out[own] = np.linalg.norm(columns, axis=1)
    return Units(
        side=_sides(net, box, partition),
        active=_active(net, x),
        crease=None if partition is None else _creases(partition, same),
        same=same,
        sense=sense,
        parallel=parallel,
        norm_in=norm_in,
        norm_out=norm_out,
    )


def _earlier(rows: Floats) -> tuple[Ints, Ints]:
    """For each row (n, k) the first one before it in the same or the opposite direction, else -1, and which: 1, -1."""
    length = np.linalg.norm(rows, axis=1)
    unit = rows / np.where(length > 0, length, 1.0)[:, None]
    found, way = np.full(len(rows), -1), np.zeros(len(rows), np.int64)
    for start in range(0, len(rows), 512):
        cosine = unit[start : start + 512] @ unit.T  # (block, n)
        near = np.abs(cosine) > 1 - ALIKE  # |u - v|^2 = 2 - 2 cos; looked at more closely below
        near &= np.arange(len(rows)) < np.arange(start, start + len(cosine))[:, None]
        for i, j in np.argwhere(near):
            sign = 1 if cosine[i, j] > 0 else -1
            if found[start + i] < 0 and np.linalg.norm(unit[start + i] - sign * unit[j]) <= ALIKE:
                found[start + i], way[start + i] = j, sign
    return found, way


def _sides(net: Network, box: Any, partition: PlanePartition | LinePartition | None) -> Ints:
    """OFF, ON, BOTH or OPEN for each unit; -1 for choices."""
    relu = np.repeat([net.steps[i].op == "relu" for i in net.bends], np.diff(net.unit_starts)).astype(bool)
    if partition is not None and _is_whole(partition, box):
        sides = partition.sides() if isinstance(partition, PlanePartition) else net.unpack(partition.patterns)
        low, high = sides.min(axis=0, initial=1), sides.max(axis=0, initial=0)
        found = np.where(low == high, np.where(high > 0, ON, OFF), BOTH)
        return np.where(relu, found, -1).astype(np.int64)
    found = np.full(net.n_units, -1)
    for bend, (low, high) in enumerate(bend_ranges(net, box)):
        if net.steps[net.bends[bend]].op == "relu":
            own = slice(net.unit_starts[bend], net.unit_starts[bend + 1])
            # What enters the first bend is affine, and affine functions reach their bounds at corners of the box.
            found[own] = np.where(high <= 0, OFF, np.where(low >= 0, ON, BOTH if bend == 0 else OPEN))
    return found


def _is_whole(partition: PlanePartition | LinePartition, box: Any) -> bool:
    """Whether a partition is one of the whole box of inputs, not of a slice through it."""
    ends = np.asarray(box, np.float64)
    if isinstance(partition, LinePartition):
        return partition.net.n_in == 1 and np.allclose(np.sort(np.ravel([partition.a, partition.b])), ends.ravel())
    own = partition.net.n_in == 2 and np.array_equal(partition.basis, np.eye(2)) and not partition.origin.any()
    return bool(own and np.array_equal(partition.box, ends))


def _active(net: Network, x: Any) -> Floats:
    """Share of samples (n, n_in) that each ReLU is on for."""
    if x is None or not len(x):
        return np.full(net.n_units, np.nan)
    points, total = np.asarray(x, np.float64), np.zeros(net.n_units)
    block = max(1, 2**24 // max(1, sum(net.sizes)))
    for start in range(0, len(points), block):
        total += (net.sides(points[start : start + block]) == 1).sum(axis=0)
    relu = np.repeat([net.steps[i].op == "relu" for i in net.bends], np.diff(net.unit_starts)).astype(bool)
    return np.where(relu, total / len(points), np.nan)


def _creases(partition: PlanePartition | LinePartition, same: Ints) -> Floats:
    """Length of each unit's crease on a plane, or how many breakpoints of a segment it makes: (n_units,)."""
    n = partition.net.n_units
    if isinstance(partition, LinePartition):
        return np.bincount(partition.unit_ids, minlength=n).astype(np.float64)
    inner = partition.edge_units >= 0
    a, b = (partition.vertices[partition.edges[inner, i]] for i in (0, 1))
    lengths = np.linalg.norm(b - a, axis=1)
    own = np.bincount(partition.edge_units[inner], weights=lengths, minlength=n)
    first = np.where(same >= 0, same, np.arange(n))  # an edge is given to one of the units with the same crease
    return np.bincount(first, weights=own, minlength=n)[first].astype(np.float64)
