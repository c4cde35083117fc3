"""Plane partitions in exact arithmetic.

Every sign of a pre-activation at a vertex is decided with respect to the float64 numbers as given (weights, offsets,
leaks, box, origin, basis): by floating point where a rigorous error bound allows it, else in integers. Vertices are
intersections of two exact lines, rounded once when they are reported. Regions of any thinness are kept, and what is
identical, parallel or concurrent is recognized as such.

The subdivision proceeds bend by bend. Signs at all vertices come from one bounded pass through the network; a region
with both signs of some test is cut along the test's exact line; a new vertex is on an edge, so most of its signs follow
from the signs at the ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from creases._program import pack_sides
from creases._typing import Floats, Progress
from creases.network import Network
from creases.regions._exact.program import ExactProgram, RegionRows
from creases.regions._plane.complex import Mesh

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


_BLOCK = 2**22  # entries of a block of signs


class SignTests:
    """The tests of one bend of a program, numbered unit by unit."""

    def __init__(self, program: ExactProgram, bend: int) -> None:
        step = program.steps[program.net.bends[bend]]
        self._program, self._bend = program, bend
        self._value = step.inputs[0]
        self._first_unit = int(program.net.unit_starts[bend])
        self.n_units = int(program.net.unit_starts[bend + 1]) - self._first_unit
        self.pairs = list(combinations(range(program.net.candidates[bend]), 2)) if step.op == "choice" else []
        self.count = self.n_units * max(1, len(self.pairs))

    def unit(self, test: int) -> int:
        """Return the unit, numbered over the whole network, of a test."""
        return self._first_unit + test // max(1, len(self.pairs))

    def signs(self, t: Floats) -> tuple[list[int], list[int], list[int]]:
        """Return the tests above zero, below zero and in doubt at points (n, 2), each rounded once: n bit sets each."""
        block = max(1, _BLOCK // max(1, self.count))
        out: tuple[list[int], list[int], list[int]] = ([], [], [])
        for start in range(0, len(t), block):
            with np.errstate(all="ignore"):  # what overflows is in doubt
                z, e = self._program.bounded(t[start : start + block], self._bend)
                if self.pairs:
                    z, e = self._differences(z, e)
                above, below = z > e, z < -e
                doubt = ~(above | below | ((z == 0) & (e == 0)))
            for sets, flags in zip(out, (above, below, doubt), strict=True):
                packed = np.packbits(flags, axis=1, bitorder="little")
                sets += [int.from_bytes(row.tobytes(), "little") for row in packed]
        return out

    def _differences(self, z: Floats, e: Floats) -> tuple[Floats, Floats]:
        p, q = np.array(self.pairs).T
        k = self._program.net.candidates[self._bend]
        z, e = z.reshape(len(z), -1, k), e.reshape(len(e), -1, k)
        gap = (z[..., p] - z[..., q]).reshape(len(z), -1)
        bound = (e[..., p] + e[..., q]).reshape(len(z), -1)
        return gap, 1.001 * (bound + 2.0**-52 * np.abs(gap))

    def line(self, rows: RegionRows, test: int) -> Triple:
        """Return a test's coefficients on the current region of ``rows``, up to a positive factor."""
        if not self.pairs:
            a, b, c = rows.rows(self._value, np.array([test]))[0]
            return remove_twos((a, b, c))
        unit, (p, q) = test // len(self.pairs), self.pairs[test % len(self.pairs)]
        first = unit * self._program.net.candidates[self._bend]
        a, b, c = np.subtract(*rows.rows(self._value, np.array([first + p, first + q])))
        return remove_twos((a, b, c))

    def crossing(self, above: int, below: int) -> int:
        """Return a test to split a region by, from the tests above and below zero somewhere on it; -1 for none."""
        both = above & below
        while both:
            test = (both & -both).bit_length() - 1
            if not self.pairs:
                return test
            unit = test // len(self.pairs)
            alive = self._alive(unit, above, below)
            first = unit * len(self.pairs)
            for k, (p, q) in enumerate(self.pairs):
                if alive[p] and alive[q] and both >> (first + k) & 1:
                    return first + k
            both &= -1 << (first + len(self.pairs))
        return -1

    def _alive(self, unit: int, above: int, below: int) -> list[bool]:
        """Return which candidates of a choice may be largest somewhere, judged by pairs; of equals the first."""
        alive = [True] * self._program.net.candidates[self._bend]
        for k, (p, q) in enumerate(self.pairs, start=unit * len(self.pairs)):
            if not below >> k & 1:
                alive[q] = False
            elif not above >> k & 1:
                alive[p] = False
        return alive

    def sides(self, above: int, below: int) -> NDArray[np.int16]:
        """Return the sides (n_units,) on a region that no test needs to split."""
        if not self.pairs:
            return self._bits(above).astype(np.int16)
        up, down = (self._bits(flags).reshape(self.n_units, -1) for flags in (above, below))
        beaten = np.zeros((self.n_units, self._program.net.candidates[self._bend]), bool)
        for k, (p, q) in enumerate(self.pairs):  # as in _alive, all units at once
            beaten[:, q] |= down[:, k] == 0
            beaten[:, p] |= (down[:, k] == 1) & (up[:, k] == 0)
        sides: NDArray[np.int16] = beaten.argmin(axis=1).astype(np.int16)
        return sides

    def _bits(self, flags: int) -> NDArray[np.uint8]:
        packed = np.frombuffer(flags.to_bytes((self.count + 7) // 8, "little"), np.uint8)
        return np.unpackbits(packed, count=self.count, bitorder="little")


@dataclass
class _Level:
    """The regions after a bend: loops of sides, the region each is part of, and the sides of the bend's units on it."""

    loops: list[list[int]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    sides: list[NDArray[np.int16]] = field(default_factory=list)


#: Regions between two reports within a bend.
STEP = 32


def exact_plane(
    net: Network, box: Floats, origin: Floats, basis: Floats, progress: Progress
) -> tuple[Mesh, NDArray[np.uint8]]:
    """Return the regions of a network on the slice ``x = origin + basis t`` for t in a box, and their patterns.

    Parameters
    ----------
    net
        Any network whose affine steps fit in memory as matrices; any bends.
    box
        (2, 2): lower and upper end of each slice coordinate.
    origin, basis
        (n_in,) and (n_in, 2).
    progress
        Called with the number of regions so far.

    Raises
    ------
    InputError
        If an affine step is too large to be written as a matrix, or a weight is not finite.
    """
    program = ExactProgram(net, origin, basis)
    mesh, rows = ExactMesh(np.asarray(box, np.float64)), RegionRows(program)
    levels = [_Level([[0, 2, 4, 6]], [0], [])]
    for bend in range(len(net.bends)):
        levels.append(_pass_bend(mesh, rows, SignTests(program, bend), levels, progress))
        progress("finding regions", len(levels[-1].loops), None)
    sides = [np.concatenate([np.zeros(0, np.int16), *_ancestors(levels, r)[1]]) for r in range(len(levels[-1].loops))]
    return _as_mesh(mesh, levels[-1].loops), pack_sides(net, np.array(sides))


def _pass_bend(mesh: ExactMesh, rows: RegionRows, tests: SignTests, levels: list[_Level], progress: Progress) -> _Level:
    """Return the regions after one more bend, children of one region next to each other."""
    mesh.positive, mesh.negative, doubt = tests.signs(mesh.coordinates())
    before, after = levels[-1], _Level()
    for region, loop in enumerate(before.loops):
        if region and region % STEP == 0:
            progress("finding regions", len(after.loops) + len(before.loops) - region, None)
        cutter = _Cutter(mesh, rows, tests, *_ancestors(levels, region))
        for part, sides in cutter.cut(loop, doubt):
            after.loops.append(part)
            after.parents.append(region)
            after.sides.append(sides)
    return after


def _ancestors(levels: list[_Level], region: int) -> tuple[tuple[int, ...], list[NDArray[np.int16]]]:
    """Return, for each bend passed, the region that this one is part of and its sides, first bend first."""
    line, sides = [], []
    for level in levels[:0:-1]:
        line.append(region)
        sides.append(level.sides[region])
        region = level.parents[region]
    return tuple(line[::-1]), sides[::-1]


class _Cutter:
    """Cuts one region by all tests of a bend."""

    def __init__(
        self, mesh: ExactMesh, rows: RegionRows, tests: SignTests, line: tuple[int, ...], sides: list[NDArray[np.int16]]
    ) -> None:
        self._mesh, self._rows, self._tests = mesh, rows, tests
        self._where = (line, sides)
        self._lines: dict[int, Triple] = {}

    def cut(self, loop: list[int], doubt: list[int]) -> list[tuple[list[int], NDArray[np.int16]]]:
        """Return the parts of the region with the sides of the bend's units; settles signs in doubt at its corners."""
        mesh, tests = self._mesh, self._tests
        stack, out = [mesh.refine(loop)], []
        self._settle(mesh.corners(stack[0]), doubt)
        while stack:
            part = mesh.refine(stack.pop())
            above = below = 0
            for v in mesh.corners(part):
                above |= mesh.positive[v]
                below |= mesh.negative[v]
            test = tests.crossing(above, below)
            if test < 0:
                out.append((part, tests.sides(above, below)))
            else:
                stack += mesh.split(part, test, self._line(test), tests.unit(test), self._sign)
        return out

    def _settle(self, corners: list[int], doubt: list[int]) -> None:
        for v in corners:
            if v >= len(doubt):  # made at this bend: nothing was left in doubt
                continue
            while doubt[v]:
                low = doubt[v] & -doubt[v]
                doubt[v] ^= low
                sign = self._sign(low.bit_length() - 1, self._mesh.points[v])
                if sign > 0:
                    self._mesh.positive[v] |= low
                elif sign < 0:
                    self._mesh.negative[v] |= low

    def _line(self, test: int) -> Triple:
        if test not in self._lines:
            self._rows.enter(*self._where)
            self._lines[test] = self._tests.line(self._rows, test)
        return self._lines[test]

    def _sign(self, test: int, point: Triple) -> int:
        a, b, c = self._line(test)
        x, y, w = point
        value = a * x + b * y + c * w
        return (value > 0) - (value < 0)


def _as_mesh(mesh: ExactMesh, loops: list[list[int]]) -> Mesh:
    """Return the mesh of some loops as arrays, with the vertices and edges that they use."""
    loops = [mesh.refine(loop) for loop in loops]
    starts = np.cumsum([0, *(len(loop) for loop in loops)])
    sides = np.array([side for loop in loops for side in loop], np.int64)
    used, edge = np.unique(sides >> 1, return_inverse=True)
    regions = np.full((len(used), 2), -1, np.int32)
    regions[edge, sides & 1] = np.repeat(np.arange(len(loops)), np.diff(starts))
    vertices, renumbered = np.unique(np.array(mesh.ends)[used], return_inverse=True)
    ends = renumbered.reshape(-1, 2).astype(np.int32)
    return Mesh(
        vertices=mesh.coordinates()[vertices],
        ends=ends,
        label=np.array(mesh.units, np.int32)[used],
        regions=regions,
        corners=ends[edge, sides & 1],
        corner_edges=edge.astype(np.int32),
        starts=starts.astype(np.int32),
    )
