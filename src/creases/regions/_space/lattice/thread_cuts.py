"""Cutting a large face lattice by units on all threads, with the result of one thread, bit for bit.

Unit after unit, the faces of each dimension that the crease cuts are split in ranges, one range by each thread. A part
of a face is numbered by the place of the face among those cut, so numbers do not depend on the ranges; only the lists
of facets are stored at other places, with room between the ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from creases._compiled import jit
from creases.regions._space.lattice.lattice_kernel import (
    GROUP,
    both_bits,
    crossed_faces,
    cut_edges,
    face_words,
    has_room,
    label_new,
    mask,
    odd_polygon,
    signs_met,
    split_faces,
    vertex_words,
)

Array = NDArray[Any]


class ThreadCuts:
    """Cuts a complex on several threads.

    ``gaps``: for each dimension the entries of lists between ranges, which are not in use. The other arguments are
    those of ``lattice_kernel.cut_by_units``.
    """

    def __init__(
        self,
        threads: int,
        gaps: Array,
        face: tuple[Array, Array, Array],
        counts: Array,
        ends: Array,
        data: Array,
        keys: Array,
        creases: Array,
        sides: Array,
        work: tuple[Array, Array, Array, Array],
        stage: tuple[int, int, int],
        tolerance: Array,
    ) -> None:
        self.parts = threads
        self.face, self.counts, self.ends, self.data, self.keys = face, counts, ends, data, keys
        self.creases, self.sides, self.work, self.stage, self.tolerance = creases, sides, work, stage, tolerance
        self.gaps, self.n = gaps, len(counts) - 1
        #: (parts, n + 1, 2): cut faces of each dimension in each part, and their facets.
        self.found = np.zeros((self.parts, self.n + 1, 2), np.int64)

    def cut(self, start: int, stop: int, limit: int) -> tuple[int, bool]:
        """Cut by units; see :func:`creases.regions._space.lattice.lattice_kernel.cut_by_units`."""
        units = min(stop - start, GROUP)
        self.group = (self.stage[0] + start, units)
        with ThreadPoolExecutor(self.parts - 1) as pool:
            self._pool = pool
            for k in range(self.n + 1):
                self._run(partial(self._words, k))
            for u in range(units):
                if self.counts[self.n] > limit:
                    return start + u, False
                outcome = self._cut_unit(u, self.stage[1] + start + u)
                if outcome == "full":
                    return start + u, True
                if outcome == "alone":
                    from creases.regions._space.lattice.lattice_kernel import cut_by_units

                    # a vertex lies on the unit's crease, or rounding gave a polygon impossible signs: on one thread
                    return cut_by_units(
                        self.face, self.counts, self.ends, self.data, self.keys, self.creases, self.sides, self.work,
                        self.stage, self.tolerance, start + u, start + u + 1, np.iinfo(np.int64).max,
                    )  # fmt: skip
        return start + units, False

    def _run(self, function: Callable[[int], Any]) -> list[Any]:
        """Call a function for each part of the faces, the first in this thread."""
        others = [self._pool.submit(function, part) for part in range(1, self.parts)]
        return [function(0), *(other.result() for other in others)]

    def _bounds(self, count: int, part: int) -> tuple[int, int]:
        """Return the first of so many faces that is in a part, and the first in the next."""
        return count * part // self.parts, count * (part + 1) // self.parts

    def _cut_unit(self, u: int, unit: int) -> Literal["done", "full", "alone"]:
        """Cut by one unit: "full" where arrays must grow first, "alone" where one thread must do it."""
        (words, crossed), regions = self.work[:2], int(self.counts[self.n])
        find = partial(range_crossed, self.face[1], self.counts, words, u)
        met = np.bitwise_or.reduce(self._run(lambda part: int(find(part, self.parts, crossed, self.found))))
        if not met & 1:
            return "done"
        if met == 1:
            self.sides[:regions, unit] = self.stage[2]
            return "done"
        join_crossed(self.counts, crossed, self.found)
        places = np.cumsum(self.found, axis=0) - self.found  # before each part: cut faces, and their facets
        polygons = partial(self._ids, places, 2)
        is_well_cut = self._run(lambda part: self.n == 1 or bool(is_well(self.face, polygons(part), words, u)))
        if met & 4 or not all(is_well_cut):
            return "alone"
        room = (len(self.data), len(self.sides))
        if not prepare(self.face, self.counts, self.ends, room, self.found, self.creases, crossed, unit):
            return "full"
        new = self.found[:, :, 0].sum(axis=0)
        self._run(partial(self._edges, places, u, unit))
        self.counts[:2] += new[1]
        self.ends[1] += 2 * new[1]
        for k in range(2, self.n + 1):
            self._split(places, u, k)
            self.counts[k - 1 : k + 1] += new[k]
        self._run(partial(self._sides, places, u, unit, regions))
        return "done"

    def _split(self, places: Array, u: int, k: int) -> None:
        """Split the cut faces of dimension k >= 2."""
        begin = np.array([self._list_ends(places, k, part) for part in range(self.parts)])
        end = np.array(self._run(partial(self._faces, places, u, k)))
        used = (end - begin).sum(axis=0)
        for column, dimension in enumerate((k, k - 1)):
            self.gaps[dimension] += end[-1, column] - self.ends[dimension] - used[column]
            self.ends[dimension] = end[-1, column]

    def _list_ends(self, places: Array, k: int, part: int) -> tuple[int, int]:
        """Return where the new lists of a part begin, of dimension k and k - 1."""
        # A face cut in two has at most all its facets twice, and one more; a polygon has two on the crease.
        faces, facets = (int(number) for number in places[part, k])
        return int(self.ends[k]) + 2 * (facets + faces), int(self.ends[k - 1]) + (2 * faces if k == 2 else facets)

    # -- one part -----------------------------------------------------------------------------------------------------

    def _words(self, k: int, part: int) -> None:
        bounds = self._bounds(int(self.counts[k]), part)
        range_words(self.face, k, self.data, self.group, self.work[0], *bounds)

    def _ids(self, places: Array, k: int, part: int) -> Array:
        """Return the cut faces of dimension k."""
        place, count = int(places[part, k, 0]), int(self.found[part, k, 0])
        return self.work[1][k, place : place + count]

    def _edges(self, places: Array, u: int, unit: int, part: int) -> None:
        place = int(places[part, 1, 0])
        new = (int(self.counts[1]) + place, int(self.counts[0]) + place)
        stage = (self.group[0] + u, self.stage[0], unit)
        range_edges(
            self.face, new, self._ids(places, 1, part), self.data, stage, self.tolerance, self.keys, self.work,
            (*self.group, u),
        )  # fmt: skip

    def _faces(self, places: Array, u: int, k: int, part: int) -> tuple[int, int]:
        """Split cut faces of dimension k; return where their lists of dimension k and k - 1 end."""
        faces, ends = int(places[part, k, 0]), self._list_ends(places, k, part)
        new = (int(self.counts[k]) + faces, int(self.counts[k - 1]) + faces)
        end, low_end = range_faces(self.face, k, self._ids(places, k, part), ends, new, self.work, u)
        return int(end), int(low_end)

    def _sides(self, places: Array, u: int, unit: int, regions: int, part: int) -> None:
        new = regions + int(places[part, self.n, 0])
        range_sides(
            self.sides, self._ids(places, self.n, part), new, self.work[0][self.n], *self._bounds(regions, part), u,
            unit, self.stage[2],
        )  # fmt: skip


# Compiled loops over ranges of faces, for threads (numba; imported only when first used).

__all__ = [
    "GROUP",
    "is_well",
    "join_crossed",
    "prepare",
    "range_crossed",
    "range_edges",
    "range_faces",
    "range_sides",
    "range_words",
]


@jit
def range_words(
    face: tuple[Array, Array, Array], k: int, data: Array, group: tuple[int, int], out: Array, lo: int, hi: int
) -> None:
    """Compute the words of the faces lo..hi of dimension k; ``group``: the first column and the number of columns."""
    if k == 0:
        vertex_words(data, lo, hi, group[0], group[1], out[0])
    else:
        face_words(face, k, lo, hi, out)


@jit
def range_crossed(
    sizes: Array, counts: Array, words: Array, unit: int, part: int, parts: int, crossed: Array, found: Array
) -> int:
    """Find the faces of all dimensions that a unit cuts, of part ``part`` of the faces; return the signs it has there.

    Those of dimension k are written to ``crossed[k]`` from the first face of the part on; ``found[part, k]`` becomes
    their number and their number of facets.
    """
    for k in range(1, len(counts)):
        lo, hi = counts[k] * part // parts, counts[k] * (part + 1) // parts
        found[part, k, 0], found[part, k, 1] = crossed_faces(words[k], sizes[k], lo, hi, unit, crossed[k])
    lo, hi = counts[0] * part // parts, counts[0] * (part + 1) // parts
    return signs_met(words[0], lo, hi, unit)


@jit
def join_crossed(counts: Array, crossed: Array, found: Array) -> None:
    """Move the faces that :func:`range_crossed` found in all parts together."""
    parts = len(found)
    for k in range(1, len(counts)):
        n = found[0, k, 0]
        for part in range(1, parts):
            lo = counts[k] * part // parts
            for i in range(lo, lo + found[part, k, 0]):
                crossed[k, n] = crossed[k, i]
                n += 1


@jit
def is_well(face: tuple[Array, Array, Array], crossed: Array, words: Array, unit: int) -> bool:
    """Return whether the boundary of every cut polygon meets the crease twice."""
    level = (face[0][2], face[1][2], face[2][2])
    return odd_polygon(level, crossed, len(crossed), words[1], face[2][1], words[0], unit, False) < 0


@jit
def prepare(
    face: tuple[Array, Array, Array],
    counts: Array,
    ends: Array,
    room: tuple[int, int],
    found: Array,
    creases: Array,
    crossed: Array,
    unit: int,
) -> bool:
    """Label the new faces of dimension n - 1; False where the arrays have no capacity for all new faces."""
    n = len(counts) - 1
    n_crossed, entries = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for part in range(len(found)):
        for k in range(1, n + 1):
            n_crossed[k] += found[part, k, 0]
            entries[k] += found[part, k, 1]
    if not has_room(face, counts, ends, room[0], room[1], n_crossed, entries, False):
        return False
    label_new(creases, counts, crossed[n - 1], n_crossed, unit)
    return True


@jit
def range_edges(
    face: tuple[Array, Array, Array],
    new: tuple[int, int],
    ids: Array,
    data: Array,
    stage: tuple[int, int, int],
    tolerance: Array,
    keys: Array,
    work: tuple[Array, Array, Array, Array],
    group: tuple[int, int, int],
) -> None:
    """Cut edges; ``new``: the numbers of the first new edge and vertex. ``stage``: column, first column and unit."""
    words, _, minus, cut = work
    first_in_word, units, u = group
    edge = (face[0][1], face[1][1], face[2][1])
    cut_edges(
        edge, new[0], ids, data, new[1], stage[0], stage[1], tolerance, keys, stage[2], minus[1], cut[1], words,
        (first_in_word, units, both_bits(u)),
    )  # fmt: skip


@jit
def range_faces(
    face: tuple[Array, Array, Array],
    k: int,
    ids: Array,
    ends: tuple[int, int],
    new: tuple[int, int],
    work: tuple[Array, Array, Array, Array],
    u: int,
) -> tuple[int, int]:
    """Split faces of dimension k >= 2; ``ends`` and ``new``: where lists, and new faces, of k and k - 1 begin."""
    starts, sizes, lists = face
    words, _, minus, cut = work
    level, low = (starts[k], sizes[k], lists[k]), (starts[k - 1], sizes[k - 1], lists[k - 1])
    return split_faces(
        level, ends[0], new[0], ids, minus[k], cut[k], low, ends[1], new[1], (minus[k - 1], cut[k - 1]),
        (words[k], words[k - 1], words[k - 2]), u, both_bits(u), False,
    )  # fmt: skip


@jit
def range_sides(
    sides: Array, ids: Array, new: int, words: Array, lo: int, hi: int, u: int, unit: int, side: int
) -> None:
    """Set the sides of the regions lo..hi, of which ``ids`` are cut, and of their negative parts, from ``new`` on."""
    for c in range(len(ids)):
        for j in range(sides.shape[1]):
            sides[new + c, j] = sides[ids[c], j]
    for r in range(lo, hi):
        if mask(words[r], u) & np.uint64(1):
            sides[r, unit] = side
