"""Islands and holes: the connected parts of where each class is decided, and which lies in a hole of which.

A partition is a complex of cells. An island is the open set of the cells of one class that hang together across
facets; its faces are those whose regions all belong to it. What is not the island is closed, so holes that touch in a
point are one. Homology is over the field of two elements; by duality a face of dimension j of an island of dimension n
is a cell of dimension n - j, bounded by the faces that have it as a facet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._text import OneLine, plural
from creases._typing import Floats, Ints
from creases._validation import check_index, check_number
from creases.errors import InputError
from creases.regions._plane.complex import components

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False, repr=False)
class Topology(OneLine):
    """The islands of each class in a box, their holes, and which island lies in which hole.

    A network of one output decides by its sign: class 1 where it is positive. A hole of an island is a part of what is
    not the island from where the border of the box cannot be reached.
    """

    classes: Ints  #: (I,) the class of each island
    sizes: Floats  #: (I,) its area or volume
    betti: Ints  #: (I, n) its Betti numbers: parts (1), ..., holes; in space parts, tunnels, cavities
    holes: Ints  #: (H,) the island that each hole is in
    inside: Ints  #: (I,) the innermost hole that each island lies in, -1 where it lies in none
    part_regions: Ints  #: (P,) the region of each convex part of a region where one class is decided
    part_islands: Ints  #: (P,) the island that it belongs to

    def betti_numbers(self, label: int) -> tuple[int, ...]:
        """Return the Betti numbers of the set of a class: those of its islands, added."""
        return tuple(self.betti[self.classes == label].sum(axis=0).tolist())

    def words(self) -> dict[int, str]:
        """Return for each class how many islands it has, and what holes are in them."""
        found = {}
        for label in np.unique(self.classes).tolist():
            holes = self.betti[self.classes == label, -1] if self.betti.shape[1] > 1 else np.zeros(0, np.int64)
            text, pierced = plural(int((self.classes == label).sum()), "island"), int((holes > 0).sum())
            if pierced:
                which = "" if len(holes) == 1 else ", one" if pierced == 1 else f", {pierced}"
                text += f"{which} with {'a hole' if holes.sum() == 1 else f'{holes.sum()} holes'}"
            if self.betti.shape[1] > 2:
                text += f" (Betti numbers {', '.join(map(str, self.betti_numbers(label)))})"
            found[label] = text
        return found

    def __str__(self) -> str:
        return "\n".join(f"class {label}: {text}" for label, text in self.words().items())


def dual_graph(pairs: NDArray[np.integer], units: NDArray[np.integer], count: int) -> csr_array:
    """Return the neighbors of ``count`` regions from pairs (A, 2) that share a facet, and its unit (A,)."""
    from scipy.sparse import csr_array

    low, first = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    return csr_array((np.tile(units[first] + 1, 2), (low.T.ravel(), low[:, ::-1].T.ravel())), shape=(count, count))


def class_values(values: Floats, terms: Floats, output: int | None, level: float) -> tuple[Floats, Floats]:
    """Return the values (V, m) that decide the class, of a single output whether it is above the level; their sizes."""
    level = check_number(level, "level")
    if output is None and values.shape[1] > 1:
        if level:
            raise InputError("level", "come with an output", f"{level:g}", "say which: output=0")
        return values, terms
    column = [check_index(output or 0, values.shape[1], "output")]
    return values[:, column] - level, terms[column] + abs(level)


def find_topology(
    n_vertices: int, faces: Sequence[tuple[NDArray[Any], NDArray[Any]]], corners: NDArray[Any], starts: NDArray[Any],
    classes: NDArray[Any], regions: NDArray[Any], volumes: Floats,
) -> Topology:  # fmt: skip
    """Return the topology of a complex of parts with classes (P,).

    ``faces`` has for dimension 1, ..., n the sizes of the faces and their facets, one face after another.
    """
    n, parts = len(faces), np.arange(len(classes))
    counts = [n_vertices, *(len(sizes) for sizes, _ in faces)]
    sizes, facets = faces[-1]
    beside = np.full((counts[n - 1], 2), -1, np.int64)  # the parts on both sides of a facet
    beside[facets[::-1], 0] = np.repeat(parts, sizes)[::-1]
    beside[facets, 1] = np.repeat(parts, sizes)
    inner = beside[:, 0] != beside[:, 1]
    island = components(len(parts), beside[inner & (classes[beside[:, 0]] == classes[beside[:, 1]])]).astype(np.int64)
    islands = int(island.max(initial=-1)) + 1

    owner, border = [island], np.zeros(len(parts), bool)  # of each face the island that it is inside, -1 for none
    for j in range(n - 1, -1, -1):
        sizes, facets = faces[j]
        above = np.repeat(owner[0], sizes)
        low, high = np.full(counts[j], islands), np.full(counts[j], -1)
        np.minimum.at(low, facets, above)
        np.maximum.at(high, facets, above)
        outer = ~inner if j == n - 1 else np.zeros(counts[j], bool)
        outer[facets[np.repeat(border, sizes)]] = True
        border = outer
        owner.insert(0, np.where((low == high) & ~border, low, -1))
    part = np.repeat(parts, np.diff(starts))
    touching = np.stack(
        [np.append(island[part], np.full(border.sum(), islands)), np.append(corners, np.flatnonzero(border))]
    )
    holes, inside = _nest(islands, np.unique(touching, axis=1))
    cells = [np.bincount(own[own >= 0], minlength=islands) for own in owner[::-1]]  # dual cells of dimension 0, ..., n
    ranks = [np.zeros(islands, np.int64), cells[0] - 1]  # of the boundaries of these
    ranks += [_ranks(owner, faces[n - k], n - k, islands) for k in range(2, n - 1)]
    hole_counts = np.bincount(holes, minlength=islands)
    ranks += [cells[n - 1] - cells[n] - hole_counts, cells[n]] if n > 2 else []
    betti = np.ones((islands, n), np.int64)
    for k in range(1, n - 1):
        betti[:, k] = cells[k] - ranks[k] - ranks[k + 1]
    betti[:, n - 1] = hole_counts if n > 1 else 1
    first = np.unique(island, return_index=True)[1]
    size = np.bincount(island, weights=volumes, minlength=islands).astype(np.float64)
    return Topology(classes[first].astype(np.int64), size, betti, holes, inside, regions.astype(np.int64), island)


def _nest(islands: int, touching: Ints) -> tuple[Ints, Ints]:
    """Return the island of each hole, and the innermost hole of each island, from (island, vertex) pairs (2, T).

    Island number ``islands`` is what lies outside the box. In the graph of islands and of the vertices where they meet,
    an island surrounds another if every path from outside goes through it: a search in depth finds these cut nodes.
    """
    from scipy.sparse import csgraph, csr_array

    shared = np.bincount(touching[1])[touching[1]] > 1
    _, vertex = np.unique(touching[1, shared], return_inverse=True)
    count = islands + 1 + (int(vertex.max()) + 1 if len(vertex) else 0)
    ends = np.stack([touching[0, shared], islands + 1 + vertex])
    graph = csr_array((np.ones(ends.shape[1]), ends), shape=(count, count))
    graph = (graph + graph.T).tocsr()
    order, before = csgraph.depth_first_order(graph, islands, directed=False)
    number = np.full(count, -1)
    number[order] = np.arange(len(order))
    rows = np.repeat(np.arange(count), np.diff(graph.indptr))
    low = number.copy()  # the smallest number that a node, or one below it in the tree, has as neighbor
    np.minimum.at(low, rows, number[graph.indices])
    for node in order[:0:-1].tolist():
        above = before[node]
        low[above] = min(low[above], low[node])
    holes: list[int] = []
    inside = np.full(count, -1)
    for node in order[1:].tolist():
        above = before[node]
        inside[node] = inside[above]
        if low[node] >= number[above] and above < islands:
            inside[node] = len(holes)
            holes.append(above)
    return np.array(holes, np.int64), inside[:islands]


def _ranks(owner: Sequence[Ints], faces: tuple[Any, Any], j: int, islands: int) -> Ints:
    """Return for each island the rank modulo 2 of the matrix from its faces of dimension j to those that have them."""
    sizes, facets = faces
    columns: dict[int, set[int]] = {}
    for facet, face in zip(facets.tolist(), np.repeat(np.arange(len(sizes)), sizes).tolist(), strict=True):
        if owner[j][facet] >= 0:
            columns.setdefault(facet, set()).add(face)
    ranks, pivots = np.zeros(islands, np.int64), dict[int, set[int]]()
    for facet, column in columns.items():
        while column and (pivot := max(column)) in pivots:
            column = column ^ pivots[pivot]
        if column:
            pivots[max(column)] = column
            ranks[owner[j][facet]] += 1
    return ranks
