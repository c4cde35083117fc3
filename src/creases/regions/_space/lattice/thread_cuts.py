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
        from creases.regions._space.lattice import range_kernel

        self.kernel: Any = range_kernel
        self.parts = threads
        self.face, self.counts, self.ends, self.data, self.keys = face, counts, ends, data, keys
        self.creases, self.sides, self.work, self.stage, self.tolerance = creases, sides, work, stage, tolerance
        self.gaps, self.n = gaps, len(counts) - 1
        #: (parts, n + 1, 2): cut faces of each dimension in each part, and their facets.
        self.found = np.zeros((self.parts, self.n + 1, 2), np.int64)

    def cut(self, start: int, stop: int, limit: int) -> tuple[int, bool]:
        """Cut by units; see :func:`creases.regions._space.lattice.lattice_kernel.cut_by_units`."""
        units = min(stop - start, self.kernel.GROUP)
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
                    return self._cut_alone(start + u)
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
        crossed, regions = self.work[1], int(self.counts[self.n])
        met = np.bitwise_or.reduce(self._run(partial(self._crossed, u)))
        if not met & 1:
            return "done"
        if met == 1:
            self.sides[:regions, unit] = self.stage[2]
            return "done"
        self.kernel.join_crossed(self.counts, crossed, self.found)
        places = np.cumsum(self.found, axis=0) - self.found  # before each part: cut faces, and their facets
        if met & 4 or not all(self._run(partial(self._is_well, places, u))):
            return "alone"
        room = (len(self.data), len(self.sides))
        if not self.kernel.prepare(self.face, self.counts, self.ends, room, self.found, self.creases, crossed, unit):
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

    def _cut_alone(self, unit: int) -> tuple[int, bool]:
        """Cut by one unit on one thread: a vertex lies on its crease, or rounding gave a polygon impossible signs."""
        from creases.regions._space.lattice.lattice_kernel import cut_by_units

        return cut_by_units(
            self.face, self.counts, self.ends, self.data, self.keys, self.creases, self.sides, self.work, self.stage,
            self.tolerance, unit, unit + 1, np.iinfo(np.int64).max,
        )  # fmt: skip

    # -- one part -----------------------------------------------------------------------------------------------------

    def _words(self, k: int, part: int) -> None:
        bounds = self._bounds(int(self.counts[k]), part)
        self.kernel.range_words(self.face, k, self.data, self.group, self.work[0], *bounds)

    def _crossed(self, u: int, part: int) -> int:
        words, crossed = self.work[:2]
        met = self.kernel.range_crossed(self.face[1], self.counts, words, u, part, self.parts, crossed, self.found)
        return int(met)

    def _ids(self, places: Array, k: int, part: int) -> Array:
        """Return the cut faces of dimension k."""
        place, count = int(places[part, k, 0]), int(self.found[part, k, 0])
        return self.work[1][k, place : place + count]

    def _is_well(self, places: Array, u: int, part: int) -> bool:
        return bool(self.n == 1 or self.kernel.is_well(self.face, self._ids(places, 2, part), self.work[0], u))

    def _edges(self, places: Array, u: int, unit: int, part: int) -> None:
        place = int(places[part, 1, 0])
        new = (int(self.counts[1]) + place, int(self.counts[0]) + place)
        stage = (self.group[0] + u, self.stage[0], unit)
        self.kernel.range_edges(
            self.face, new, self._ids(places, 1, part), self.data, stage, self.tolerance, self.keys, self.work,
            (*self.group, u),
        )  # fmt: skip

    def _faces(self, places: Array, u: int, k: int, part: int) -> tuple[int, int]:
        """Split cut faces of dimension k; return where their lists of dimension k and k - 1 end."""
        faces, ends = int(places[part, k, 0]), self._list_ends(places, k, part)
        new = (int(self.counts[k]) + faces, int(self.counts[k - 1]) + faces)
        end, low_end = self.kernel.range_faces(self.face, k, self._ids(places, k, part), ends, new, self.work, u)
        return int(end), int(low_end)

    def _sides(self, places: Array, u: int, unit: int, regions: int, part: int) -> None:
        new = regions + int(places[part, self.n, 0])
        self.kernel.range_sides(
            self.sides, self._ids(places, self.n, part), new, self.work[0][self.n], *self._bounds(regions, part), u,
            unit, self.stage[2],
        )  # fmt: skip
