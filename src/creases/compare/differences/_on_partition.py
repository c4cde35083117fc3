"""Where two networks decide differently on a line, on a plane or in a box of few dimensions: exactly.

Both are joined to one network that has their decisions as bends, so that on each of its regions both are affine and
each decides for one class. An affine function on a polytope is largest in magnitude at a vertex, so the largest
difference over all vertices is the largest of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from creases._text import OneLine, plural
from creases._typing import Floats, Ints
from creases.certify.differences import Joint
from creases.compare._decisions import format_largest, percent
from creases.network import Network
from creases.regions import LinePartition, PlanePartition, SpacePartition, Topology, line, plane, plane_through, space
from creases.regions.geometry import SIGN_TOLERANCE, find_topology, output_term_sizes

Partition = LinePartition | PlanePartition | SpacePartition


@dataclass(frozen=True, eq=False)
class Part:
    """A connected set on which two networks decide differently, each for one class."""

    classes: tuple[int, int]  #: that a and b decide for
    size: float  #: its length, area or volume
    regions: Ints  #: regions of the partition that it is made of, each convex


@dataclass(frozen=True, eq=False, repr=False)
class PartitionDifference(OneLine):
    """The difference of two networks on all regions of a line, a plane or a box.

    On each region both are affine and decide for one class. Decisions that differ by no more than rounding count as
    the same: ``class_b`` is ``class_a``.
    """

    partition: Partition  #: of both networks joined
    sizes: Floats  #: (R,) length (of the segment of input space), area in slice coordinates, or volume
    class_a: Ints  #: (R,)
    class_b: Ints  #: (R,)
    largest: Floats  #: (m,) largest ``|a - b|`` of each output: exact
    where: Floats  #: (m, n_in) a point where it is

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Whether the decisions differ on each region (R,)."""
        return np.asarray(self.class_a != self.class_b)

    @property
    def size(self) -> float:
        """The length, area or volume where the decisions differ."""
        return float(self.sizes[self.differ].sum())

    @property
    def share(self) -> float:
        """The fraction of the line, plane or box where the decisions differ."""
        return float(self.sizes[self.differ].sum() / self.sizes.sum())

    @property
    def empty(self) -> bool:
        """Whether the networks are the same function here, up to rounding."""
        return not self.differ.any() and not self.largest.any()

    def confusion(self) -> Floats:
        """Return the sizes (classes, classes) of the sets where a decides for the row's class, b for the column's."""
        count = 1 + int(max(self.class_a.max(), self.class_b.max()))
        table = np.zeros((count, count))
        np.add.at(table, (self.class_a, self.class_b), self.sizes)
        return table

    def parts(self) -> list[Part]:
        """Return the connected parts where the decisions differ, each of one pair of classes, the largest first."""
        if isinstance(self.partition, LinePartition):
            pairs = np.arange(self.partition.count - 1) + np.array([[0], [1]])
        else:
            pairs = np.stack(self.partition.dual_graph().nonzero()).astype(np.int64)
        left, right = pairs
        same = self.differ[left] & (self.class_a[left] == self.class_a[right])
        same &= self.class_b[left] == self.class_b[right]
        R = len(self.sizes)
        graph = coo_array((np.ones(int(same.sum())), (left[same], right[same])), (R, R))
        group = connected_components(graph, directed=False)[1]
        parts = []
        for number in np.unique(group[self.differ]):
            regions = np.flatnonzero(group == number)
            pair = int(self.class_a[regions[0]]), int(self.class_b[regions[0]])
            parts.append(Part(pair, float(self.sizes[regions].sum()), regions))
        return sorted(parts, key=lambda part: part.size, reverse=True)

    def polygons(self) -> list[Floats]:
        """Return the convex polygons (k, 2), in slice coordinates, where the decisions differ; on a plane only."""
        partition = self.partition
        if not isinstance(partition, PlanePartition):
            return []
        return [partition.polygon(int(region)) for region in np.flatnonzero(self.differ)]

    def topology(self, classes: Ints) -> Topology:
        """Return the islands and holes of ``class_a`` or ``class_b``; not on a line."""
        p = cast(PlanePartition | SpacePartition, self.partition)
        faces: list[tuple[Any, Any]] = list(p.flat.by_dimension()) if isinstance(p, SpacePartition) else []
        if isinstance(p, PlanePartition):
            faces = [(np.full(len(p.edges), 2), p.edges.ravel()), (np.diff(p.starts), p.corner_edges)]
        return find_topology(len(p.vertices), faces, p.corners, p.starts, classes, np.arange(p.count), self.sizes)

    def __str__(self) -> str:
        name, measure = _NAMES[type(self.partition)]
        if self.empty:
            return f"The networks are the same function {name}."
        parts = self.parts()
        lines = [f"The networks agree everywhere {name}."]
        if parts:
            (i, j), size = parts[0].classes, parts[0].size
            where = f"{name} on {percent(self.share)} of it, in {plural(len(parts), 'part')}"
            lines = [
                f"The networks disagree {where}; in the largest ({measure} {size:.4g}), "
                f"a predicts {i} and b predicts {j}."
            ]
        if parts and not isinstance(self.partition, LinePartition):
            a, b = (self.topology(classes).words() for classes in (self.class_a, self.class_b))
            changed = [label for label in sorted(a | b) if a.get(label) != b.get(label)]
            lines += [f"Class {k}: {a.get(k, 'nowhere')} in a, {b.get(k, 'nowhere')} in b." for k in changed]
        return "\n".join([*lines, f"Largest |a - b| there, exactly: {format_largest(self.largest)}."])


_NAMES: dict[type, tuple[str, str]] = {
    LinePartition: ("on the line", "length"),
    PlanePartition: ("on the plane", "area"),
    SpacePartition: ("in the box", "volume"),
}


def difference_on_line(a: Network, b: Network, start: Any, stop: Any) -> PartitionDifference:
    """Compare two networks on the segment between two points, exactly.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0], [-1.0]], [0.0, 0.0])])  # class 0 where x > 0
    >>> b = creases.read([([[1.0], [-1.0]], [-0.5, 0.5])])  # class 0 where x > 0.5
    >>> difference_on_line(a, b, [-1.0], [1.0]).share
    0.25
    """
    joint = Joint.from_pair(a, b)
    return _difference(joint, line(joint.net, start, stop))


def difference_on_plane(
    a: Network, b: Network, box: Any = ((-1, 1), (-1, 1)), origin: Any = None, basis: Any = None
) -> PartitionDifference:
    """Compare two networks in a box of the plane ``x = origin + basis t``, exactly; see :func:`creases.plane`."""
    joint = Joint.from_pair(a, b)
    return _difference(joint, plane(joint.net, box, origin, basis))


def difference_through(a: Network, b: Network, points: Sequence[Any]) -> PartitionDifference:
    """Compare two networks on the plane through three points, exactly; see :func:`creases.plane_through`."""
    joint = Joint.from_pair(a, b)
    return _difference(joint, plane_through(joint.net, *points))


def difference_in_space(
    a: Network, b: Network, box: Any, *, max_regions: int | None = None
) -> PartitionDifference | None:
    """Compare two networks in a box of all their inputs, exactly; None if there are more than ``max_regions``."""
    joint = Joint.from_pair(a, b)
    partition = space(joint.net, box, method="vertices", max_regions=max_regions)
    return _difference(joint, partition) if partition.complete else None


def _difference(joint: Joint, partition: Partition) -> PartitionDifference:
    """Compare at the vertices of a partition, and at each region's corners."""
    corners: NDArray[np.integer]
    if isinstance(partition, LinePartition):
        points = partition.points(partition.ends)
        sizes = np.diff(partition.ends) * float(np.linalg.norm(partition.b - partition.a))
        values, starts = np.asarray(joint.net(points), np.float64), 2 * np.arange(partition.count + 1)
        corners = np.repeat(np.arange(partition.count + 1), 2)[1:-1]
    else:
        if isinstance(partition, PlanePartition):
            points, sizes = partition.points(partition.vertices), partition.areas()
        else:
            points, sizes = partition.vertices, partition.volumes()
        values, starts, corners = partition.values, partition.starts.astype(np.int64), partition.corners
    terms = SIGN_TOLERANCE * output_term_sizes(joint.net, points)
    d = joint.differences(values)
    m = joint.outputs
    d[np.abs(d) <= terms[:m] + terms[m : 2 * m]] = 0.0
    class_a, class_b = joint.classes(partition.patterns)
    for r in np.flatnonzero(class_a != class_b):
        i, j, at = class_a[r], class_b[r], values[corners[starts[r] : starts[r + 1]]]
        if not (_leads(at, terms, 0, m, i, j) or _leads(at, terms, m, m, j, i)):
            class_b[r] = i  # neither network prefers its class to the other's by more than rounding
    worst = np.abs(d).argmax(axis=0)
    return PartitionDifference(partition, sizes, class_a, class_b, np.abs(d).max(axis=0), points[worst])


def _leads(values: Floats, terms: Floats, first: int, outputs: int, output: int, other: int) -> bool:
    """Whether an output is larger than another at some corner; with a single output: whether it is not 0 throughout."""
    if outputs == 1:
        return bool((np.abs(values[:, first]) > 2 * terms[first]).any())
    i, j = first + output, first + other
    return bool((values[:, i] - values[:, j] > 2 * (terms[i] + terms[j])).any())
