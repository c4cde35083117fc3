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

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from creases._program import pack_sides
from creases._typing import Floats, Progress
from creases.network import Network
from creases.regions._exact.mesh import ExactMesh, Triple
from creases.regions._exact.program import ExactProgram
from creases.regions._exact.rows import RegionRows
from creases.regions._exact.sign_tests import SignTests
from creases.regions._limits import no_progress
from creases.regions._plane.mesh import Mesh
from creases.regions._plane.plane import PlanePartition


@dataclass
class _Level:
    """The regions after a bend: loops of sides, the region each is part of, and the sides of the bend's units on it."""

    loops: list[list[int]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    sides: list[NDArray[np.int16]] = field(default_factory=list)


#: Regions between two reports within a bend.
STEP = 32


def exact_plane(
    net: Network, box: Floats, origin: Floats, basis: Floats, progress: Progress = no_progress
) -> PlanePartition:
    """Return all regions of a network on the slice ``x = origin + basis t`` for t in a box, exactly.

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

    Returns
    -------
    PlanePartition
        Its vertices are rounded once; its ``values`` are the network's outputs there.

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
    return PlanePartition.from_mesh(
        net, box, origin, basis, _as_mesh(mesh, levels[-1].loops), pack_sides(net, np.array(sides))
    )


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
    return _join_parts(mesh, after) if tests.pairs else after


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


def _join_parts(mesh: ExactMesh, level: _Level) -> _Level:
    """Join parts of one region with equal sides: a choice was cut along lines that only part of it needs."""
    numbers: dict[tuple[int, bytes], int] = {}
    group, first = [], []
    for region, (parent, sides) in enumerate(zip(level.parents, level.sides, strict=True)):
        key = (parent, sides.tobytes())
        if key not in numbers:
            numbers[key] = len(numbers)
            first.append(region)
        group.append(numbers[key])
    loops = mesh.dissolve(level.loops, group)
    return _Level(loops, [level.parents[r] for r in first], [level.sides[r] for r in first])


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
