"""Every region of a box in n dimensions, exactly."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from creases._typing import Floats, Progress
from creases._validation import check_box, check_choice, check_count, check_number, check_points
from creases.errors import InputError
from creases.network import Network, Piece, as_network
from creases.network.program import pack_sides, pattern_pieces
from creases.regions import _archive as archive
from creases.regions._locate import PatternIndex, near_regions, pattern_at
from creases.regions._space import vertices as space_vertices
from creases.regions._space.boundary import SpaceBoundary, space_boundary
from creases.regions._space.lattice import Faces, Lattice, faces_of, joined
from creases.regions._space.vertices import Expired, finish_all, finished, load_kernels, opened, whole_box

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes

Method = Literal["auto", "vertices", "lp"]

#: Up to this many dimensions "auto" keeps all vertices.
VERTEX_DIMENSIONS = 6


@dataclass(frozen=True, eq=False)
class SpacePartition:
    """All regions of a network in a box, or those that were found (``complete``).

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
        return f"SpacePartition({self.count} regions in {len(self.box)} dimensions{ended})"

    @property
    def flat(self) -> Faces:
        """The faces of all dimensions."""
        return Faces(self.face_counts, self.face_starts, self.face_lists)

    def _need_vertices(self, what: str) -> None:
        if self.count and not len(self.vertices):
            raise InputError("method", f"be 'vertices' for {what}", "'lp', whose regions have no vertices")

    def f_vector(self) -> tuple[int, ...]:
        """Number of faces of dimension 0 (vertices), 1 (edges), ..., n (regions)."""
        self._need_vertices("f_vector")
        return tuple(int(count) for count in self.face_counts)

    def volumes(self) -> Floats:
        """Volume of every region: (R,)."""
        self._need_vertices("volumes")
        return self.flat.volumes(self.vertices)

    def sides(self) -> NDArray[np.int16]:
        """Side of every unit on every region: (R, n_units)."""
        return self.net.unpack(self.patterns)

    @cached_property
    def _net(self) -> Network:
        return self.net.to("cpu").to(torch.float64)

    def pieces(self) -> Piece:
        """The affine function on every region: J (R, n_out, n) and y (R, n_out), in float64."""
        n = len(self.box)
        return pattern_pieces(self._net, self.patterns, np.zeros(n), np.eye(n))

    def locate(self, points: Any) -> NDArray[np.int64]:
        """Region of each point (k, n): (k,), -1 outside the box or where no region was found.

        On a crease: one of the regions beside it.
        """
        x = check_points(points, len(self.box))
        found = np.full(len(x), -1, np.int64)
        inside = np.flatnonzero(((x >= self.box[:, 0]) & (x <= self.box[:, 1])).all(axis=1))
        if not self.count or not len(inside):
            return found
        found[inside] = self._index.find(pattern_at(self._net, torch.from_numpy(x[inside])))
        # A point on a crease, or a unit that is zero but for rounding: the pattern may be no region's.
        lost = inside[found[inside] < 0]
        if len(lost):
            found[lost] = near_regions(self._net, self.sides(), x[lost])
        return found

    @cached_property
    def _index(self) -> PatternIndex:
        return PatternIndex(self.patterns)

    def boundary(self) -> SpaceBoundary:
        """The decision boundary: where the two largest outputs tie (one output: where it is zero)."""
        self._need_vertices("boundary")
        return space_boundary(self)

    def to_networkx(self) -> networkx.Graph[int]:
        """Regions as nodes (inner, a point inside), shared facets as edges (unit)."""
        import networkx

        graph: networkx.Graph[int] = networkx.Graph()
        for region, inner in enumerate(self.inner.tolist()):
            graph.add_node(region, inner=tuple(inner))
        for (a, b), unit in zip(self.pairs.tolist(), self.facet_units.tolist(), strict=True):
            graph.add_edge(a, b, unit=unit)
        return graph

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw it, in three dimensions: see :func:`creases.show.plot_space`."""
        from creases.show import plot_space

        return plot_space(self, ax=ax, **options)

    def save(self, path: str | Path) -> Path:
        """Write to a ``.npz`` file, the network included."""
        return archive.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> SpacePartition:
        """Read back what :meth:`save` wrote."""
        return archive.load(cls, path)


def space(
    net: Network,
    box: Sequence[Sequence[float]] | Floats | None = None,
    *,
    method: Method = "auto",
    n_jobs: int = 1,
    max_regions: int | None = None,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> SpacePartition:
    """Every region of the network in a box of its input space.

    Parameters
    ----------
    net
        From :func:`creases.read`.
    box
        ``[(lo, hi)] * n``, one pair for every input; [-1, 1] on every axis unless given.
    method
        ``"vertices"`` subdivides the box with all its faces, no linear program, quick up to about six dimensions.
        ``"lp"`` goes from region to region across facets, for more; its regions have no vertices. ``"auto"`` chooses by
        the dimension.
    n_jobs
        Number of processes that share the work.
    max_regions, max_seconds
        Stop there: the result has the regions found so far, ``complete`` is False and ``ended`` says why.
    progress
        Called with the number of regions so far and ``max_regions``, now and then.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.network._reading.arrays import from_arrays
    >>> from creases.regions._space.space import space
    >>> net = from_arrays([(np.eye(3), np.zeros(3)), (np.ones((1, 3)), np.zeros(1))])
    >>> space(net, box=[(-1, 1)] * 3).f_vector()
    (27, 54, 36, 8)
    """
    job = _Job(net, box, method, n_jobs, max_regions, max_seconds, progress)
    return job.by_facets() if job.method == "lp" else job.by_vertices()


def iter_space(
    net: Network,
    box: Sequence[Sequence[float]] | Floats | None = None,
    *,
    n_jobs: int = 1,
    max_regions: int | None = None,
    max_seconds: float | None = None,
) -> Iterator[SpacePartition]:
    """The regions of :func:`space` (method ``"vertices"``) in blocks as they are finished, with bounded memory.

    Each block is a partition of its own, of regions that no other block has, with the pairs among them; ``complete`` is
    False but for a block that is the whole box. When the budget ends the stream, its last block's ``ended`` says so.
    """
    yield from _Job(net, box, "vertices", n_jobs, max_regions, max_seconds, None).blocks()


class _Job:
    """A partition to be made: checked arguments, the clock, the budget."""

    def __init__(
        self,
        net: Network,
        box: Any,
        method: str,
        n_jobs: int,
        max_regions: int | None,
        max_seconds: float | None,
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
        self.progress: Progress = progress or (lambda what, done, total: None)
        if max_seconds is not None and self.method == "vertices":
            load_kernels()  # compiling, on a fresh machine, is not on the clock
        self.deadline = np.inf if max_seconds is None else time.time() + max_seconds
        self.ended = ""

    # -- by vertices --------------------------------------------------------------------------------------------------

    def by_vertices(self) -> SpacePartition:
        """The partition from the face lattice of the box, cut unit by unit."""
        parts = list(self._lattices())
        return self._from_lattice(joined(parts) if parts else self._nothing(), self.ended)

    def blocks(self) -> Iterator[SpacePartition]:
        """The same as a stream of partitions of parts of the box."""
        last: Lattice | None = None
        for i, lattice in enumerate(self._lattices()):
            if last is not None:
                yield self._from_lattice(last, f"block {i - 1} of a stream")
            last = lattice
            number = i
        if last is None:
            yield self._from_lattice(self._nothing(), self.ended)
        else:
            yield self._from_lattice(last, self.ended or (f"block {number} of a stream" if number else ""))

    def _lattices(self) -> Iterator[Lattice]:
        """Finished parts of the box, no more regions in all than asked for; sets ``ended``."""
        found = 0
        for lattice in self._parts():
            if self.max_regions is not None and found + lattice.count > self.max_regions:
                self.ended = f"max_regions={self.max_regions} reached"
                lattice = lattice.part(np.arange(self.max_regions - found))
            found += lattice.count
            self.progress("finding regions", found, self.max_regions)
            if lattice.count:
                yield lattice
            if self.ended.startswith("max_regions"):
                return

    def _parts(self) -> Iterator[Lattice]:
        limit = space_vertices.BLOCK
        if self.max_regions is not None or self.max_seconds is not None:  # finish something early
            limit = min(1024, self.max_regions or limit)
        block = whole_box(self.work, self.box)
        late = f"max_seconds={self.max_seconds} reached"
        if self.n_jobs == 1:
            try:
                yield from (done.lattice for done in finished(self.work, [block], limit=limit, deadline=self.deadline))
            except Expired:
                self.ended = late
            return
        from joblib import Parallel, delayed

        todo = opened(self.work, block, 8 * self.n_jobs)
        with Parallel(n_jobs=self.n_jobs) as run:
            while todo:
                # In rounds: what is handed out is finished, so with a budget of regions little is handed out at a time.
                size = len(todo) if self.max_regions is None else 2 * self.n_jobs
                batch, todo = todo[:size], todo[size:]
                for lattice, in_time in run(delayed(finish_all)(self.work, b, limit, self.deadline) for b in batch):
                    if not in_time:
                        self.ended = late
                    if lattice is not None:
                        yield lattice

    def _nothing(self) -> Lattice:
        return whole_box(self.work, self.box).lattice.part(np.zeros(0, np.int64))

    def _from_lattice(self, lattice: Lattice, ended: str) -> SpacePartition:
        faces = faces_of(lattice)
        corners, starts = faces.corners(self.n)
        data = lattice.data[: lattice.n_vertices]
        vertices, values = data[:, : self.n].copy(), data[:, self.n :].copy()
        sizes = np.diff(starts)
        inner = np.add.reduceat(vertices[corners], starts[:-1]) / sizes[:, None] if len(sizes) else vertices[:0]
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
        """The partition found from region to region, by linear programs."""
        from creases.regions._space.facets import Found, regions_by_facets

        found: list[Found] = []
        for one in regions_by_facets(self.work, self.box, n_jobs=self.n_jobs, deadline=self.deadline):
            if one is None:
                self.ended = f"max_seconds={self.max_seconds} reached"
            elif len(found) == self.max_regions:
                self.ended = f"max_regions={self.max_regions} reached"
            else:
                found.append(one)
                self.progress("finding regions", len(found), self.max_regions)
                continue
            break
        number = {one.pattern: i for i, one in enumerate(found)}
        facets = {
            (min(i, number[other]), max(i, number[other])): unit
            for i, one in enumerate(found)
            for unit, other in zip(one.units, one.beyond, strict=True)
            if other in number
        }
        n, m = self.n, self.net.n_out
        patterns = np.frombuffer(b"".join(one.pattern for one in found), np.uint8).reshape(len(found), -1)
        nothing = np.zeros(0, np.int32)
        return SpacePartition(
            self.net, self.box, np.zeros((0, n)), np.zeros((0, m)), nothing, np.zeros(len(found) + 1, np.int64),
            patterns, np.array(list(facets), np.int64).reshape(-1, 2), np.array(list(facets.values()), np.int32),
            np.array([one.inner for one in found]), not self.ended, self.ended, np.zeros(n + 1, np.int64),
            np.zeros(1, np.int64), nothing, nothing,
        )  # fmt: skip
