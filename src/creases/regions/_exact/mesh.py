"""A planar mesh with exact vertices, its convex regions split by lines without any rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from creases._typing import Floats

#: A line ``a x + b y + c = 0``, or the point ``(a / c, b / c)`` with ``c > 0``, in integers.
Triple = tuple[int, int, int]


class ExactMesh:
    """Vertices, edges and loops of edges; an edge that is split remembers its halves, so neighbors see one vertex.

    A loop lists the sides of a region counter-clockwise as ``2 e`` (edge e from its first end to its second) or
    ``2 e + 1`` (the other way round). Signs are of the tests of the bend at work: bit k of ``positive[v]`` is set where
    test k is greater than zero at vertex v, of ``negative[v]`` where it is less.
    """

    def __init__(self, box: Floats) -> None:
        (x0, x1), (y0, y1) = [[float(end).as_integer_ratio() for end in side] for side in box]
        lines = [(0, y0[1], -y0[0]), (-x1[1], 0, x1[0]), (0, -y1[1], y1[0]), (x0[1], 0, -x0[0])]
        self.points: list[Triple] = [intersect(lines[i - 1], lines[i]) for i in range(4)]
        self.positive: list[int] = [0] * 4
        self.negative: list[int] = [0] * 4
        self.ends: list[tuple[int, int]] = [(0, 1), (1, 2), (2, 3), (3, 0)]
        self.lines: list[Triple] = lines
        self.units: list[int] = [-1] * 4  #: behind each edge; -1 for a side of the box
        self.halves: list[int] = [-1] * 4  #: first of the two edges that an edge was split into, -1 if whole

    def coordinates(self) -> Floats:
        """Return all vertices (V, 2), each coordinate rounded once."""
        return np.array([(x / w, y / w) for x, y, w in self.points], dtype=np.float64)

    def refine(self, loop: list[int]) -> list[int]:
        """Return a loop with every split edge replaced by its halves."""
        halves = self.halves
        if all(halves[side >> 1] < 0 for side in loop):
            return loop
        out: list[int] = []
        stack = loop[::-1]
        while stack:
            side = stack.pop()
            first = halves[side >> 1]
            if first < 0:
                out.append(side)
            elif side & 1:
                stack += [2 * first + 1, 2 * first + 3]
            else:
                stack += [2 * first + 2, 2 * first]
        return out

    def corners(self, loop: list[int]) -> list[int]:
        """Return the vertex where each side of a loop begins."""
        ends = self.ends
        return [ends[side >> 1][side & 1] for side in loop]

    def split(
        self, loop: list[int], test: int, line: Triple, unit: int, sign: Callable[[int, Triple], int]
    ) -> tuple[list[int], list[int]]:
        """Cut a region by the line of a test that has both signs on it, into the positive part and the negative one.

        ``sign(k, point)`` decides test k of the region at a new point exactly.
        """
        bit = 1 << test
        sides: list[int] = []  # the loop, with a vertex on the line wherever it crosses
        for side in loop:
            a, b = self.ends[side >> 1]
            pa, na = self.positive[a], self.negative[a]
            pb, nb = self.positive[b], self.negative[b]
            if (pa & nb | na & pb) & bit:
                self._cut(side >> 1, line, bit, sign)
                first = self.halves[side >> 1]
                sides += [2 * first + 3, 2 * first + 1] if side & 1 else [2 * first, 2 * first + 2]
            else:
                sides.append(side)
        starts = self.corners(sides)
        above = [bool(self.positive[v] & bit) for v in starts]
        below = [bool(self.negative[v] & bit) for v in starts]
        n = len(sides)
        # The line leaves the positive part in corner p and enters it in corner q, both exactly on it.
        p = next(i for i in range(n) if above[i - 1] and not above[i])
        q = next(i for i in range(n) if below[i - 1] and not below[i])
        chord = self._edge(starts[p], starts[q], line, unit)
        around = sides[p:] + sides[:p]  # from corner p: first the negative part, then the positive one
        turn = (q - p) % n
        return [2 * chord, *around[turn:]], [2 * chord + 1, *around[:turn]]

    def _cut(self, edge: int, line: Triple, bit: int, sign: Callable[[int, Triple], int]) -> None:
        """Split an edge where it crosses a line; every test's sign there follows from the ends or is decided."""
        a, b = self.ends[edge]
        point = intersect(self.lines[edge], line)
        pa, na, pb, nb = self.positive[a], self.negative[a], self.positive[b], self.negative[b]
        positive, negative = (pa & ~nb) | (pb & ~na), (na & ~pb) | (nb & ~pa)
        open_tests = ((pa & nb) | (na & pb)) & ~bit
        while open_tests:
            low = open_tests & -open_tests
            open_tests ^= low
            s = sign(low.bit_length() - 1, point)
            if s > 0:
                positive |= low
            elif s < 0:
                negative |= low
        middle = len(self.points)
        self.points.append(point)
        self.positive.append(positive)
        self.negative.append(negative)
        self.halves[edge] = self._edge(a, middle, self.lines[edge], self.units[edge])
        self._edge(middle, b, self.lines[edge], self.units[edge])

    def _edge(self, a: int, b: int, line: Triple, unit: int) -> int:
        self.ends.append((a, b))
        self.lines.append(line)
        self.units.append(unit)
        self.halves.append(-1)
        return len(self.ends) - 1

    def dissolve(self, loops: list[list[int]], group: list[int]) -> list[list[int]]:
        """Join the regions of each group into one: drop the edges within it, and the vertices where nothing meets.

        Groups are numbered from 0 in the order of their first region.
        """
        loops = [self.refine(loop) for loop in loops]
        owner = {side: g for loop, g in zip(loops, group, strict=True) for side in loop}
        joined: list[dict[int, int]] = [{} for _ in range(max(group) + 1)]  # side by the corner where it begins
        used: set[int] = set()
        for side, g in owner.items():
            if owner.get(side ^ 1) != g:
                joined[g][self.ends[side >> 1][side & 1]] = side
                used.add(side >> 1)
        degree: dict[int, int] = {}
        for edge in used:
            for v in self.ends[edge]:
                degree[v] = degree.get(v, 0) + 1
        straight = {v for v, d in degree.items() if d == 2 and v > 3}  # vertices 0..3 are the box's corners
        edges: dict[tuple[int, int], int] = {}
        return [self._straighten(sides, straight, edges) for sides in joined]

    def _straighten(self, sides: dict[int, int], straight: set[int], edges: dict[tuple[int, int], int]) -> list[int]:
        """Return the loop of sides, with sides that continue each other through a straight vertex joined."""
        first = v = next(v for v in sides if v not in straight)
        loop: list[int] = []
        while True:
            side, start = sides[v], v
            v = self.ends[side >> 1][~side & 1]
            if v in straight:
                while v in straight:
                    v = self.ends[sides[v] >> 1][~sides[v] & 1]
                if (v, start) in edges:
                    loop.append(2 * edges[v, start] + 1)
                else:
                    edges[start, v] = self._edge(start, v, self.lines[side >> 1], self.units[side >> 1])
                    loop.append(2 * edges[start, v])
            else:
                loop.append(side)
            if v == first:
                return loop


def intersect(p: Triple, q: Triple) -> Triple:
    """Return the point where two lines meet, without common factors of two."""
    a, b, c = p
    d, e, f = q
    x, y, w = b * f - c * e, c * d - a * f, a * e - b * d
    return remove_twos((x, y, w) if w > 0 else (-x, -y, -w))


def remove_twos(triple: Triple) -> Triple:
    """Divide a triple by the largest power of two that divides all of it."""
    a, b, c = triple
    both = a | b | c
    twos = (both & -both).bit_length() - 1
    return triple if twos <= 0 else (a >> twos, b >> twos, c >> twos)
