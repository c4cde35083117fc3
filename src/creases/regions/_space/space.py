"""All regions of a box in n dimensions, exactly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from creases._program import pack_sides
from creases._typing import Floats, Progress
from creases._validation import check_box, check_choice, check_count, check_number
from creases.errors import LimitError
from creases.network import Network, NetworkLike, as_network
from creases.regions._resources import MemoryLimit, no_progress
from creases.regions._space import vertices as space_vertices
from creases.regions._space.lattice import Lattice, join_lattices, number_faces
from creases.regions._space.partition import SpacePartition
from creases.regions._space.vertices import (
    TimeLimitError,
    box_block,
    finish_block,
    finish_blocks,
    load_kernels,
    split_block,
)

Method = Literal["auto", "vertices", "lp"]

#: Up to this many dimensions method="auto" computes vertices.
VERTEX_DIMENSIONS = 6

#: Bytes held in all, as a multiple of those of lattices: lattices are joined, and faces numbered, in copies.
COPIES = 6


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
        Number of processes that share the work, with the same result.
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
    net = as_network(net)
    check_choice(method, ["auto", "vertices", "lp"], "method")
    by_vertices = net.n_in <= VERTEX_DIMENSIONS if method == "auto" else method == "vertices"
    job = _Job(
        net,
        check_box([(-1.0, 1.0)] * net.n_in if box is None else box, net.n_in),
        check_count(n_jobs, "n_jobs"),
        None if max_regions is None else check_count(max_regions, "max_regions"),
        None if max_seconds is None else check_number(max_seconds, "max_seconds", above=0),
        MemoryLimit(max_memory, ""),
        progress or no_progress,
    )
    if max_seconds is not None and by_vertices:
        load_kernels()  # compilation, on a fresh machine, does not count
    job.deadline = np.inf if max_seconds is None else time.time() + max_seconds
    return job.by_vertices() if by_vertices else job.by_facets()


@dataclass
class _Job:
    """The computation of a partition, with its limits."""

    net: Network
    box: Floats
    n_jobs: int
    max_regions: int | None
    max_seconds: float | None
    memory: MemoryLimit
    progress: Progress
    deadline: float = np.inf
    ended: str = ""  #: why not all regions were found
    held: int = 0  #: bytes of finished regions
    count: int = 0  #: their number

    @cached_property
    def work(self) -> Network:
        """The network as the computation takes it."""
        return self.net.to("cpu").to(torch.float64)

    def by_vertices(self) -> SpacePartition:
        """Return the partition from the face lattice of the box, cut unit by unit."""
        parts: list[Lattice] = []
        try:
            for lattice in self._finish():
                self.held += lattice.nbytes
                self.memory.check(COPIES * self.held, "")
                is_full = self.max_regions is not None and self.count + lattice.count > self.max_regions
                if self.max_regions is not None and is_full:
                    self.ended = f"max_regions={self.max_regions} reached"
                    lattice = lattice.part(np.arange(self.max_regions - self.count))
                self.count += lattice.count
                self.progress("finding regions", self.count, self.max_regions)
                if lattice.count:
                    parts.append(lattice)
                if is_full:
                    break
        except LimitError:
            self.ended = f"{self.memory} reached"
        except KeyboardInterrupt:
            if not parts:
                raise
            self.ended = "interrupted"
        if not parts:
            parts.append(box_block(self.work, self.box).lattice.part(np.zeros(0, np.int64)))
        return self._from_lattice(join_lattices(parts))

    def _finish(self) -> Iterator[Lattice]:
        """Yield finished parts of the box; sets ``ended`` where the time is over."""
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

    def _from_lattice(self, lattice: Lattice) -> SpacePartition:
        n, faces = self.net.n_in, number_faces(lattice)
        corners, starts = faces.corners(n)
        data = lattice.data[: lattice.n_vertices]
        vertices, values = data[:, :n].copy(), data[:, n:].copy()
        inner = faces.centers(vertices, corners, starts)
        beside = faces.cofaces(n)
        shared = beside[:, 0] != beside[:, 1]
        creases = lattice.creases[: len(beside), 0].copy()
        sides = lattice.sides[: lattice.count]
        return SpacePartition(
            self.net, self.box, vertices, values, corners, starts, pack_sides(self.net, sides), beside[shared],
            creases[shared], inner, not self.ended, self.ended, *faces, creases,
        )  # fmt: skip

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
        n, m = self.net.n_in, self.net.n_out
        patterns = np.frombuffer(b"".join(region.pattern for region in regions), np.uint8).reshape(len(regions), -1)
        empty = np.zeros(0, np.int32)
        return SpacePartition(
            self.net, self.box, np.zeros((0, n)), np.zeros((0, m)), empty, np.zeros(len(regions) + 1, np.int64),
            patterns, np.array(list(facets), np.int64).reshape(-1, 2), np.array(list(facets.values()), np.int32),
            np.array([region.inner for region in regions]), not self.ended, self.ended, np.zeros(n + 1, np.int64),
            np.zeros(1, np.int64), empty, empty,
        )  # fmt: skip
