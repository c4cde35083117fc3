"""Facts about each unit: whether it is dead, always active or redundant, and how long its crease is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._program import incoming_weights, outgoing_weights
from creases._schema import any_of, instance, optional
from creases._text import OneLine
from creases._typing import Floats, Ints
from creases._validation import check_arguments, check_box, check_numbers
from creases.certify._bounds import unit_bounds
from creases.network import Network, NetworkLike, as_network
from creases.regions import LinePartition, PlanePartition

#: Rows of length 1 that differ by no more have the same direction: weights trained in float32 have seven digits.
DIRECTION_TOLERANCE = 1e-6


class UnitSide(IntEnum):
    """What is known about a unit's side over a box."""

    OFF = 0  #: never active in the box
    ON = 1  #: active everywhere in the box
    BOTH = 2  #: changes side in the box
    UNDECIDED = 3  #: the bounds do not decide


@dataclass(frozen=True, eq=False, repr=False)
class UnitFacts(OneLine):
    """Facts about all units of a network; -1 and NaN where they do not apply (choices, layers that are not dense)."""

    side: Ints  #: (n,) over the box: ``UnitSide``, OFF or ON everywhere, BOTH sides occur, or UNDECIDED by the bounds
    active_fraction: Floats  #: (n,) fraction of samples for which it is on; NaN without samples
    crease_size: Floats | None  #: (n,) length of its crease on the plane, or how often a segment crosses it
    same_crease: Ints  #: (n,) an earlier unit of the layer whose weights and bias are a multiple of this unit's
    orientation: Ints  #: (n,) 1 if both are on on the same side (a duplicate), -1 on opposite sides (a mirror), else 0
    parallel: Ints  #: (n,) an earlier unit of the layer with weights in the same or opposite direction, another crease
    norm_in: Floats  #: (n,) norm of its incoming weights, without the bias
    norm_out: Floats  #: (n,) norm of its outgoing weights


@check_arguments(partition=optional(any_of(instance("PlanePartition"), instance("LinePartition"))))
def unit_facts(
    net: NetworkLike, box: Any, *, X: Any = None, partition: PlanePartition | LinePartition | None = None
) -> UnitFacts:
    """Return facts about every unit over a box of inputs.

    Parameters
    ----------
    net
        A :class:`creases.Network`, a torch module or a file name.
    box
        ``(lo, hi)`` for all inputs, or a pair for each: where a unit is called on or off everywhere. A partition of the
        whole box, of a network of one or two inputs, decides this exactly; otherwise bounds do, and what they leave
        open is UNDECIDED.
    X
        Samples (n, n_in).
    partition
        Where creases are measured.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [2.0], [1.0]], [0.0, 0.0, -5.0]), ([[1.0, 1.0, 1.0]], [0.0])])
    >>> facts = unit_facts(net, (-1, 1), X=[[0.5], [-0.5]])
    >>> facts.side.tolist(), facts.same_crease.tolist(), facts.active_fraction.tolist()
    ([2, 2, 0], [-1, 0, -1], [0.5, 0.5, 0.0])
    """
    net = as_network(net)
    ends = check_box(box, net.n_in)
    n = net.n_units
    same_crease, orientation, parallel = np.full(n, -1), np.zeros(n, np.int64), np.full(n, -1)
    norm_in, norm_out = np.full(n, np.nan), np.full(n, np.nan)
    for bend, (first, last) in enumerate(zip(net.unit_starts[:-1], net.unit_starts[1:], strict=True)):
        layer = slice(first, last)
        rows, columns = incoming_weights(net, bend), outgoing_weights(net, bend)
        if rows is not None:
            norm_in[layer] = np.linalg.norm(rows[:, :-1], axis=1)
            twin, sign = _earlier_parallel(rows)
            same_crease[layer], orientation[layer] = np.where(twin >= 0, twin + first, -1), sign
            if rows.shape[1] > 2:  # with one input all units are parallel
                other, _ = _earlier_parallel(rows[:, :-1])
                parallel[layer] = np.where((other >= 0) & (twin < 0), other + first, -1)
        if columns is not None:
            norm_out[layer] = np.linalg.norm(columns, axis=1)
    return UnitFacts(
        side=_sides(net, ends, partition),
        active_fraction=_active_fraction(net, X),
        crease_size=None if partition is None else _crease_sizes(partition, same_crease),
        same_crease=same_crease,
        orientation=orientation,
        parallel=parallel,
        norm_in=norm_in,
        norm_out=norm_out,
    )


def _earlier_parallel(rows: Floats) -> tuple[Ints, Ints]:
    """Return the first earlier row in the same (1) or opposite (-1) direction, -1 if there is none, and which: (n,)."""
    length = np.linalg.norm(rows, axis=1)
    unit = rows / np.where(length > 0, length, 1.0)[:, None]
    earlier, sign = np.full(len(rows), -1), np.zeros(len(rows), np.int64)
    for start in range(0, len(rows), 512):
        cosine = unit[start : start + 512] @ unit.T  # (block, n)
        near = np.abs(cosine) > 1 - DIRECTION_TOLERANCE  # |u - v|^2 = 2 - 2 cos; compared more closely below
        near &= np.arange(len(rows)) < np.arange(start, start + len(cosine))[:, None]
        for i, j in np.argwhere(near):
            way = 1 if cosine[i, j] > 0 else -1
            if earlier[start + i] < 0 and np.linalg.norm(unit[start + i] - way * unit[j]) <= DIRECTION_TOLERANCE:
                earlier[start + i], sign[start + i] = j, way
    return earlier, sign


def _is_relu(net: Network) -> NDArray[np.bool_]:
    """Return for each unit whether it is a ReLU, not a choice: (n_units,)."""
    return np.repeat(np.array([net.steps[i].op == "relu" for i in net.bends], bool), np.diff(net.unit_starts))


def _sides(net: Network, box: Floats, partition: PlanePartition | LinePartition | None) -> Ints:
    """Return the side of each unit; -1 for choices."""
    if partition is not None and _covers(partition, box):
        sides = partition.sides() if isinstance(partition, PlanePartition) else net.unpack(partition.patterns)
        low, high = sides.min(axis=0, initial=1), sides.max(axis=0, initial=0)
        decided = np.where(low == high, np.where(high > 0, UnitSide.ON, UnitSide.OFF), UnitSide.BOTH)
        return np.where(_is_relu(net), decided, -1).astype(np.int64)
    out = np.full(net.n_units, -1)
    for bend, (low, high) in enumerate(unit_bounds(net, box)):
        if net.steps[net.bends[bend]].op == "relu":
            layer = slice(net.unit_starts[bend], net.unit_starts[bend + 1])
            # What enters the first bend is affine, and affine functions reach their bounds at corners of the box.
            open_side = UnitSide.BOTH if bend == 0 else UnitSide.UNDECIDED
            out[layer] = np.where(high <= 0, UnitSide.OFF, np.where(low >= 0, UnitSide.ON, open_side))
    return out


def _covers(partition: PlanePartition | LinePartition, box: Floats) -> bool:
    """Whether a partition is one of the whole box of inputs, not of a slice through it."""
    if isinstance(partition, LinePartition):
        return partition.net.n_in == 1 and np.allclose(np.sort(np.ravel([partition.a, partition.b])), box.ravel())
    is_input_plane = (
        partition.net.n_in == 2 and np.array_equal(partition.basis, np.eye(2)) and not partition.origin.any()
    )
    return bool(is_input_plane and np.array_equal(partition.box, box))


def _active_fraction(net: Network, X: Any) -> Floats:
    """Return the fraction of samples (n, n_in) for which each ReLU is on."""
    points, total = check_numbers([] if X is None else X, "X"), np.zeros(net.n_units)
    if not points.size:
        return np.full(net.n_units, np.nan)
    points = np.atleast_2d(points)
    block = max(1, 2**24 // max(1, sum(net.sizes)))
    for start in range(0, len(points), block):
        total += (net.sides(points[start : start + block]) == 1).sum(axis=0)
    return np.where(_is_relu(net), total / len(points), np.nan)


def _crease_sizes(partition: PlanePartition | LinePartition, same_crease: Ints) -> Floats:
    """Return the length of each unit's crease on a plane, or the number of its breakpoints on a segment: (n_units,)."""
    n = partition.net.n_units
    if isinstance(partition, LinePartition):
        return np.bincount(partition.unit_ids, minlength=n).astype(np.float64)
    inner = partition.edge_units >= 0
    a, b = (partition.vertices[partition.edges[inner, i]] for i in (0, 1))
    lengths = np.bincount(partition.edge_units[inner], weights=np.linalg.norm(b - a, axis=1), minlength=n)
    first = np.where(same_crease >= 0, same_crease, np.arange(n))  # an edge is credited to one of the units sharing it
    return np.bincount(first, weights=lengths, minlength=n)[first].astype(np.float64)
