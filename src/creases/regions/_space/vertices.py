"""Partitions in n dimensions without linear programs: the face lattice, cut unit by unit, in blocks.

A complex that has grown large is taken apart, and its parts are finished one after another, depth first: memory stays
bounded, finished regions stream out, and parts can go to other processes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from creases._typing import Floats
from creases.network import Network
from creases.regions._space.lattice import Lattice, box_lattice, joined, merged
from creases.regions._space.stations import Stations
from creases.regions._tolerance import SIGN_TOLERANCE

#: A complex with more regions than this is taken apart.
BLOCK = 100_000


class Expired(Exception):
    """The time is up."""


@dataclass
class Block:
    """A part of the box on its way through the network."""

    lattice: Lattice
    station: int  #: the bend it stands at; -1 the input, ``len(net.bends)`` the end
    unit: int = 0  #: the next unit of that bend to cut by
    tolerance: Floats | None = None  #: of the bend's units, once it has begun


def load_kernels() -> None:
    """Have the compiled loops ready: on a machine that never ran them they take seconds to compile."""
    box_lattice(np.array([[-1.0, 1.0]]), 1).cut(0, 0, 1, np.zeros(1), 0, 1)


def whole_box(net: Network, box: Floats) -> Block:
    """The box (n, 2) before the first bend."""
    kind = np.uint8 if max(net.candidates, default=2) <= 256 else np.uint16
    lattice = box_lattice(box, net.n_units, kind)
    rows = lattice.data[: lattice.n_vertices]
    lattice.with_data(np.concatenate([rows, rows], axis=1))  # coordinates, then the rows at the station: the input
    return Block(lattice, -1)


def finished(net: Network, todo: list[Block], *, limit: int = BLOCK, deadline: float = np.inf) -> Iterator[Block]:
    """Finish blocks, the last first, taking apart those that grow over ``limit`` regions; ``todo`` is used up.

    Raises :class:`Expired` when the clock passes ``deadline`` (``time.time``).
    """
    stations = Stations(net)
    with torch.no_grad():
        while todo:
            block = todo.pop()
            parts = _work(stations, block, limit, deadline)
            if parts is None:
                yield block
            else:
                todo.extend(parts)


def opened(net: Network, block: Block, parts: int) -> list[Block]:
    """The block taken on, bend after bend, until it can be taken apart into about so many parts."""
    stations = Stations(net)
    todo, done = [block], list[Block]()
    with torch.no_grad():
        while todo and len(todo) + len(done) < parts:
            todo.sort(key=lambda b: b.lattice.count)
            block = todo.pop()
            new = _work(stations, block, max(4, 2 * parts), np.inf)
            if new is None:
                done.append(block)
            else:
                todo.extend(new)
    return done + todo


def _work(stations: Stations, block: Block, limit: int, deadline: float) -> list[Block] | None:
    """Take a block to the network's end in place (None), or until it is too large: then its parts."""
    net = stations.net
    while block.station < len(net.bends):
        if block.tolerance is None:
            if block.lattice.count > limit:
                return _parts(block)
            _begin(stations, block)
            if block.station == len(net.bends):
                break
            block.lattice.compact()
        bend = block.station
        if net.steps[net.bends[bend]].op == "choice":
            _choose(stations, block, deadline)
        elif not _cut(stations, block, limit, deadline):
            return _parts(block)
        block.unit, block.tolerance = 0, None
    return None


def _parts(block: Block) -> list[Block]:
    return [Block(part, block.station, block.unit, block.tolerance) for part in block.lattice.halves()]


def _begin(stations: Stations, block: Block) -> None:
    """Go to the next bend: its pre-activations at the vertices; those within rounding of 0 become 0."""
    lattice, n = block.lattice, block.lattice.n
    data = lattice.data[: lattice.n_vertices]
    rows, terms = stations.advance(block.station, torch.from_numpy(data[:, n:]))
    lattice.with_data(np.concatenate([data[:, :n], rows.numpy()], axis=1))
    block.station += 1
    if block.station < len(stations.net.bends):
        columns = stations.pre_activations(block.station)
        block.tolerance = SIGN_TOLERANCE * terms[columns].numpy()
        if stations.net.steps[stations.net.bends[block.station]].op == "relu":
            _flatten(lattice.data[: len(data), n + columns.start : n + columns.stop], block.tolerance)


def _flatten(values: Floats, tolerance: Floats) -> None:
    values[np.abs(values) <= tolerance] = 0.0


def _cut(stations: Stations, block: Block, limit: int, deadline: float) -> bool:
    """Cut by the units of a relu bend; False when the complex has grown over the limit before the last."""
    lattice, tolerance = block.lattice, block.tolerance
    assert tolerance is not None
    column = lattice.n + stations.pre_activations(block.station).start
    start = int(stations.net.unit_starts[block.station])
    while block.unit < len(tolerance):
        if lattice.count > limit:
            return False
        if time.time() > deadline:
            raise Expired
        stop = min(block.unit + _stride(lattice, limit, deadline), len(tolerance))
        lattice.cut(column, start, 1, tolerance, block.unit, stop)
        block.unit = stop
    return True


def _stride(lattice: Lattice, limit: int, deadline: float) -> int:
    """Units to cut by before the limit and the clock are looked at again: one cut at most doubles a complex."""
    if lattice.count > 1000 and np.isfinite(deadline):
        return 1
    return max(1, min(64, limit // (4 * lattice.count)))


def _choose(stations: Stations, block: Block, deadline: float) -> None:
    """Cut by a choice bend, and unite regions that differ only in who won before the last round."""
    assert block.tolerance is not None
    columns, n, K = stations.pre_activations(block.station), block.lattice.n, stations.net.candidates[block.station]
    first = int(stations.net.unit_starts[block.station])
    tournament(block.lattice, slice(n + columns.start, n + columns.stop), K, block.tolerance, first, deadline)
    if K > 2:
        block.lattice = merged(block.lattice)


def tournament(
    lattice: Lattice, columns: slice, K: int, tolerance: Floats, first_unit: int, deadline: float = np.inf
) -> None:
    """Cut where the largest of each K columns changes: candidate k against the largest before it, k = 1, 2, ...

    ``max(c_0, .., c_k) = m + relu(c_k - m)`` with ``m = max(c_0, .., c_k-1)``: each round is a relu bend, and the side
    of a unit is the last candidate that won. Rounds also cut where neither candidate is the largest of all in the end.
    """
    lattice.mark_walls()
    terms = tolerance.reshape(-1, K)
    width = lattice.data.shape[1]
    for k in range(1, K):
        rows = lattice.data[: lattice.n_vertices, :width]
        candidates = rows[:, columns].reshape(len(rows), -1, K)
        lead = candidates[..., k] - candidates[..., :k].max(axis=2)
        limits = terms[:, k] + terms[:, :k].max(axis=1)
        _flatten(lead, limits)
        lattice.with_data(np.concatenate([rows, lead], axis=1))
        for unit in range(len(limits)):
            if time.time() > deadline:
                raise Expired
            lattice.cut(width, first_unit, k, limits, unit, unit + 1)
    lattice.with_data(lattice.data[: lattice.n_vertices, :width])


def finish_all(net: Network, block: Block, limit: int, deadline: float) -> tuple[Lattice | None, bool]:
    """One block finished (what another process does): its complex, and whether the time sufficed."""
    done: list[Lattice] = []
    try:
        done.extend(part.lattice for part in finished(net, [block], limit=limit, deadline=deadline))
    except Expired:
        return (joined(done) if done else None), False
    return joined(done), True
