"""All regions of a box in n dimensions, exactly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from creases._text import plural
from creases._typing import Floats, Progress
from creases._validation import check_box, check_choice, check_count, check_number, check_points
from creases.errors import InputError, LimitError
from creases.network import Network, NetworkLike, Piece, as_network
from creases.network.program import pack_sides, pattern_pieces
from creases.regions import _archive as archive
from creases.regions._limits import MemoryLimit, no_progress
from creases.regions._locate import PatternIndex, near_regions, pattern_at
from creases.regions._space import vertices as space_vertices
from creases.regions._space.boundary import SpaceBoundary, space_boundary
from creases.regions._space.lattice import Faces, Lattice, join_lattices, number_faces
from creases.regions._space.vertices import (
    TimeLimitError,
    box_block,
    finish_block,
    finish_blocks,
    load_kernels,
    split_block,
)

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes

Method = Literal["auto", "vertices", "lp"]

#: Up to this many dimensions method="auto" computes vertices.
VERTEX_DIMENSIONS = 6


#: Bytes held in all, as a multiple of those of lattices: lattices are joined, and faces numbered, in copies.
COPIES = 6


@dataclass(frozen=True, eq=False)
class SpacePartition:
    """The regions of a network in a box; all of them if ``complete``.

    With ``method="lp"`` regions have no vertices: the arrays of vertices and faces are empty.
    """

    net: Network
    box: Floats  #: (n, 2)
    vertices: Floats  #: (V, n)
    values: Floats  #: (V, n_out) the network's output there
    corners: NDArray[np.int32]  #: (C,) vertices of all regions, in no order
    starts: NDArray[np.int64]  #: (R + 1,) region r is corners[starts[r] : starts[r + 1]]
    patterns: NDArray[np.uint8]  #: (R, n_bytes)
    pairs: NDArray[np.int64]  #: (A, 2) regions that share a facet
    facet_units: NDArray[np.int32]  #: (A,) the unit whose crease that facet is on
    inner: Floats  #: (R, n) a point inside every region
    complete: bool  #: whether these are all regions of the box
    ended: str  #: why not, "" when complete
    face_counts: NDArray[np.int64]  #: (n + 1,) faces of dimension 0, ..., n
    face_starts: NDArray[np.int64]  #: (faces + 1,) faces of all dimensions numbered through, vertices first
    face_lists: NDArray[np.int32]  #: facets of face f are face_lists[face_starts[f] : face_starts[f + 1]]
    creases: NDArray[np.int32]  #: for each face of dimension n - 1 its unit, -1 for a side of the box

    @property
    def count(self) -> int:
        """Number of regions."""
        return len(self.patterns)

    def __repr__(self) -> str:
        ended = "" if self.complete else f", incomplete: {self.ended}"
        return f"SpacePartition({plural(self.count, 'region')} in {plural(len(self.box), 'dimension')}{ended})"

    @property
    def flat(self) -> Faces:
        """The faces of all dimensions."""
        return Faces(self.face_counts, self.face_starts, self.face_lists)

    def _need_vertices(self, what: str) -> None:
        if self.count and not len(self.vertices):
            raise InputError("method", f"be 'vertices' for {what}", "'lp', whose regions have no vertices")

    def f_vector(self) -> tuple[int, ...]:
        """Return the number of faces of dimension 0 (vertices), 1 (edges), ..., n (regions)."""
        self._need_vertices("f_vector")
        return tuple(int(count) for count in self.face_counts)

    def volumes(self) -> Floats:
        """Return the volume of every region: (R,)."""
        self._need_vertices("volumes")
        return self.flat.volumes(self.vertices)

    def sides(self) -> NDArray[np.int16]:
        """Return the side of every unit on every region: (R, n_units)."""
        return self.net.unpack(self.patterns)

    @cached_property
    def _net(self) -> Network:
        return self.net.to("cpu").to(torch.float64)

    def pieces(self) -> Piece:
        """Return the affine function on every region: J (R, n_out, n) and y (R, n_out), in float64."""
        n = len(self.box)
        return pattern_pieces(self._net, self.patterns, np.zeros(n), np.eye(n))

    def locate(self, points: Any) -> NDArray[np.int64]:
        """Return the region of each point (k, n): (k,), -1 outside the box or where no region is known.

        On a crease it is one of the adjacent regions.
        """
        x = check_points(points, len(self.box))
        region = np.full(len(x), -1, np.int64)
        inside = np.flatnonzero(((x >= self.box[:, 0]) & (x <= self.box[:, 1])).all(axis=1))
        if not self.count or not len(inside):
            return region
        region[inside] = self._index.find(pattern_at(self._net, torch.from_numpy(x[inside])))
        # On a crease, or where a unit is zero up to rounding, no region may have the pattern.
        lost = inside[region[inside] < 0]
        if len(lost):
            region[lost] = near_regions(self._net, self.sides(), x[lost])
        return region

    @cached_property
    def _index(self) -> PatternIndex:
        return PatternIndex(self.patterns)

    def boundary(self) -> SpaceBoundary:
        """Return the decision boundary: where the two largest outputs tie, or a single output is zero."""
        self._need_vertices("boundary")
        return space_boundary(self)

    def to_networkx(self) -> networkx.Graph[int]:
        """Return a graph with regions as nodes (``inner``: a point inside) and shared facets as edges (unit)."""
        import networkx

        graph: networkx.Graph[int] = networkx.Graph()
        for region, inner in enumerate(self.inner.tolist()):
            graph.add_node(region, inner=tuple(inner))
        for (a, b), unit in zip(self.pairs.tolist(), self.facet_units.tolist(), strict=True):
            graph.add_edge(a, b, unit=unit)
        return graph

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the partition, in three dimensions: see :func:`creases.show.plot_space`."""
        from creases.show import plot_space

        return plot_space(self, ax=ax, **options)

    def _repr_html_(self) -> str:
        from creases.show.notebook import to_html

        return to_html(self)

    def save(self, path: str | Path) -> Path:
        """Write the partition to a ``.npz`` file, with its network."""
        return archive.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> SpacePartition:
        """Read a partition that :meth:`save` wrote."""
        return archive.load(cls, path)


def space(
    net: NetworkLike,
    box: Any = None,
    *,
    method: Method = "auto",
    n_jobs: int = 1,
    max_regions: int | None = None,
    max_seconds: float | None = None,
    max_memory: float | None = None,
    progress: Progress | None = None,
) -> SpacePartition:
    """Return all regions of a network in a box of its input space.

    Parameters
    ----------
    net
        A network, torch module or file name.
    box
        ``(lo, hi)`` for all inputs, or a pair for each; [-1, 1] on every axis by default.
    method
        ``"vertices"`` subdivides the box with all its faces, without linear programs: fast up to about six dimensions.
        ``"lp"`` traverses regions across facets, for more dimensions; its regions have no vertices. ``"auto"`` chooses
        by the dimension.
    n_jobs
        Number of processes that share the work. Each uses as many threads as torch does for large partitions, with the
        same result.
    max_regions, max_seconds, max_memory
        Stop at this number of regions, seconds, or bytes held (about): the result has the regions so far, ``complete``
        is False and ``ended`` says why. So does Ctrl-C, once some regions are finished: with ``"lp"`` one, with
        ``"vertices"`` a block of them.
    progress
        Called with the number of regions so far and ``max_regions``, now and then; with one process also of blocks that
        are not finished.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 0]), ([[1, 1, 1]], [0])])
    >>> creases.space(net, box=(-1, 1)).f_vector()
    (27, 54, 36, 8)
    """
    job = _Job(net, box, method, n_jobs, max_regions, max_seconds, max_memory, progress)
    return job.by_facets() if job.method == "lp" else job.by_vertices()


def iter_space(
    net: NetworkLike,
    box: Any = None,
    *,
    n_jobs: int = 1,
    max_regions: int | None = None,
    max_seconds: float | None = None,
) -> Iterator[SpacePartition]:
    """Yield the regions of :func:`space` (method ``"vertices"``) in blocks, with bounded memory.

    Each block is a partition of its own, of regions that no other block has, with the pairs among them; ``complete`` is
    False except for a block that is the whole box. If a limit ends the stream, the ``ended`` of its last block says so.
    Arguments are those of :func:`space`.
    """
    yield from _Job(net, box, "vertices", n_jobs, max_regions, max_seconds, None, None).blocks()


class _Job:
    """The computation of a partition: validated arguments and limits."""

    def __init__(
        self,
        net: NetworkLike,
        box: Any,
        method: str,
        n_jobs: int,
        max_regions: int | None,
        max_seconds: float | None,
        max_memory: float | None,
        progress: Progress | None,
    ) -> None:
        net = as_network(net)
        check_choice(method, ["auto", "vertices", "lp"], "method")
        n_jobs = check_count(n_jobs, "n_jobs")
        max_regions = None if max_regions is None else check_count(max_regions, "max_regions")
        max_seconds = None if max_seconds is None else check_number(max_seconds, "max_seconds", above=0)
        self.net, self.n = net, net.n_in
        self.work = net.to("cpu").to(torch.float64)
        self.box = check_box([(-1.0, 1.0)] * self.n if box is None else box, self.n)
        self.method = ("vertices" if self.n <= VERTEX_DIMENSIONS else "lp") if method == "auto" else method
        self.n_jobs, self.max_regions, self.max_seconds = n_jobs, max_regions, max_seconds
        self.memory = MemoryLimit(max_memory, "")
        self.held = self.count = 0  # bytes and number of finished regions
        self.progress: Progress = progress or no_progress
        if max_seconds is not None and self.method == "vertices":
            load_kernels()  # compilation, on a fresh machine, does not count
        self.deadline = np.inf if max_seconds is None else time.time() + max_seconds
        self.ended = ""

    # -- by vertices --------------------------------------------------------------------------------------------------

    def by_vertices(self) -> SpacePartition:
        """Return the partition from the face lattice of the box, cut unit by unit."""
        parts: list[Lattice] = []
        try:
            parts.extend(self._lattices())
        except KeyboardInterrupt:
            if not parts:
                raise
            self.ended = "interrupted"
        return self._from_lattice(join_lattices(parts) if parts else self._empty(), self.ended)

    def blocks(self) -> Iterator[SpacePartition]:
        """Yield partitions of parts of the box."""
        last: Lattice | None = None
        for i, lattice in enumerate(self._lattices()):
            if last is not None:
                yield self._from_lattice(last, f"block {i - 1} of a stream")
            last = lattice
            number = i
        if last is None:
            yield self._from_lattice(self._empty(), self.ended)
        else:
            yield self._from_lattice(last, self.ended or (f"block {number} of a stream" if number else ""))

    def _lattices(self) -> Iterator[Lattice]:
        """Yield finished parts of the box, at most ``max_regions`` regions in all; sets ``ended``."""
        for lattice in self._parts():
            if self.max_regions is not None and self.count + lattice.count > self.max_regions:
                self.ended = f"max_regions={self.max_regions} reached"
                lattice = lattice.part(np.arange(self.max_regions - self.count))
            self.count += lattice.count
            self.progress("finding regions", self.count, self.max_regions)
            if lattice.count:
                yield lattice
            if self.ended.startswith("max_regions"):
                return

    def _parts(self) -> Iterator[Lattice]:
        """Yield finished parts until memory is full."""
        try:
            for lattice in self._finish():
                self.held += lattice.nbytes
                self.memory.check(COPIES * self.held, "")
                yield lattice
        except LimitError:
            self.ended = f"{self.memory} reached"

    def _finish(self) -> Iterator[Lattice]:
        limit = space_vertices.BLOCK
        if self.max_regions or self.max_seconds:  # finish something early
            limit = min(1024, self.max_regions or limit)
        elif np.isfinite(self.memory.bytes):  # joining many small blocks would take more memory than they do
            limit = min(8192, limit)
        block = box_block(self.work, self.box)
        late = f"max_seconds={self.max_seconds} reached"
        if self.n_jobs == 1:
            blocks = finish_blocks(self.work, [block], limit=limit, deadline=self.deadline, watch=self._watch)
            try:
                yield from (done.lattice for done in blocks)
            except TimeLimitError:
                self.ended = late
            return
        from joblib import Parallel, delayed

        todo = split_block(self.work, block, 8 * self.n_jobs)
        with Parallel(n_jobs=self.n_jobs) as run:
            while todo:
                # In rounds: a job that was started is finished, so with a limit only a few are started at a time.
                size = 2 * self.n_jobs if self.max_regions or np.isfinite(self.memory.bytes) else len(todo)
                batch, todo = todo[:size], todo[size:]
                for lattice, in_time in run(delayed(finish_block)(self.work, b, limit, self.deadline) for b in batch):
                    if not in_time:
                        self.ended = late
                    if lattice is not None:
                        yield lattice

    def _watch(self, regions: int, held: int) -> None:
        """Report the regions of all blocks, finished or not; stop where they take too much memory."""
        self.memory.check(COPIES * (self.held + held), "")
        if self.max_regions is None:
            self.progress("finding regions", self.count + regions, None)

    def _empty(self) -> Lattice:
        return box_block(self.work, self.box).lattice.part(np.zeros(0, np.int64))

    def _from_lattice(self, lattice: Lattice, ended: str) -> SpacePartition:
        faces = number_faces(lattice)
        corners, starts = faces.corners(self.n)
        data = lattice.data[: lattice.n_vertices]
        vertices, values = data[:, : self.n].copy(), data[:, self.n :].copy()
        inner = faces.centers(vertices, corners, starts)
        beside = faces.cofaces(self.n)
        shared = beside[:, 0] != beside[:, 1]
        creases = lattice.creases[: len(beside), 0].copy()
        sides = lattice.sides[: lattice.count]
        return SpacePartition(
            self.net, self.box, vertices, values, corners, starts, pack_sides(self.net, sides), beside[shared],
            creases[shared], inner, not ended, ended, *faces, creases,
        )  # fmt: skip

    # -- by linear programs -------------------------------------------------------------------------------------------

    def by_facets(self) -> SpacePartition:
        """Return the partition by traversing regions across facets, with linear programs."""
        from creases.regions._space.facets import TraversedRegion, traverse_regions

        regions: list[TraversedRegion] = []
        try:
            for region in traverse_regions(self.work, self.box, n_jobs=self.n_jobs, deadline=self.deadline):
                if region is None:
                    self.ended = f"max_seconds={self.max_seconds} reached"
                    break
                if len(regions) == self.max_regions:
                    self.ended = f"max_regions={self.max_regions} reached"
                    break
                self.held += region.nbytes
                if self.held > self.memory.bytes:
                    self.ended = f"{self.memory} reached"
                    break
                regions.append(region)
                self.progress("finding regions", len(regions), self.max_regions)
        except KeyboardInterrupt:
            if not regions:
                raise
            self.ended = "interrupted"
        number = {region.pattern: i for i, region in enumerate(regions)}
        facets = {
            (min(i, number[other]), max(i, number[other])): unit
            for i, region in enumerate(regions)
            for unit, other in zip(region.units, region.beyond, strict=True)
            if other in number
        }
        n, m = self.n, self.net.n_out
        patterns = np.frombuffer(b"".join(region.pattern for region in regions), np.uint8).reshape(len(regions), -1)
        empty = np.zeros(0, np.int32)
        return SpacePartition(
            self.net, self.box, np.zeros((0, n)), np.zeros((0, m)), empty, np.zeros(len(regions) + 1, np.int64),
            patterns, np.array(list(facets), np.int64).reshape(-1, 2), np.array(list(facets.values()), np.int32),
            np.array([region.inner for region in regions]), not self.ended, self.ended, np.zeros(n + 1, np.int64),
            np.zeros(1, np.int64), empty, empty,
        )  # fmt: skip
