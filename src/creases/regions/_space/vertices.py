"""Partitions in n dimensions without linear programs: the face lattice, cut unit by unit, in blocks.

A complex that has grown large is split, and its parts are finished one after another, depth first: memory stays
bounded, finished regions are yielded early, and parts can go to other processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import torch

from creases._program import propagate
from creases._typing import Floats
from creases.network import Network
from creases.regions._space.lattice import Lattice, box_lattice, join_lattices, merge_regions
from creases.regions._tolerance import SIGN_TOLERANCE


class ForwardRows:
    """Takes rows from one bend to the next; bends are numbered from 0, -1 is the input, ``len(net.bends)`` the end."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self._stops = [0, *net.bends, len(net.steps)]
        live = {0}
        self._live = [[0]]
        for start, stop in zip(self._stops[:-1], self._stops[1:], strict=True):
            for i in range(start, stop):
                live = (live | {i + 1}) - set(net.last_uses[i])
            self._live.append(sorted(live))
        self._live[-1] = [len(net.steps)]

    def pre_activations(self, bend: int) -> slice:
        """Return the columns of the rows at a bend that enter it."""
        value = self.net.steps[self._stops[bend + 1]].inputs[0]
        live = self._live[bend + 1]
        start = sum(prod(self.net.shapes[v]) for v in live[: live.index(value)])
        return slice(start, start + prod(self.net.shapes[value]))

    def advance(self, bend: int, rows: Floats) -> tuple[Floats, Floats]:
        """Take rows (V, columns) from a bend to the next, and return them with the size of their terms.

        The size (columns,) bounds, over all points, the sum of the magnitudes of each value's terms, counted from the
        bend passed.
        """
        net, values, offset = self.net, {}, 0
        data = torch.from_numpy(rows)
        for value in self._live[bend + 1]:
            shape = net.shapes[value]
            values[value] = data[:, offset : offset + prod(shape)].reshape(-1, *shape)
            offset += prod(shape)
        start, stop = self._stops[bend + 1], self._stops[bend + 2]
        if bend >= 0:  # through the bend itself
            values = propagate(net, values, lambda i, inputs: net.steps[i].apply(inputs), start, start + 1)
            start += 1
        sizes = {value: torch.linalg.vector_norm(x, torch.inf, 0, keepdim=True) for value, x in values.items()}
        values = propagate(net, values, lambda i, inputs: net.steps[i].apply(inputs), start, stop)
        sizes = propagate(net, sizes, lambda i, inputs: net.steps[i].magnitude(inputs), start, stop)
        size = [sizes[value].numpy().ravel() for value in self._live[bend + 2]]
        entries = [values[value].numpy().reshape(len(rows), -1) for value in self._live[bend + 2]]
        return (entries[0], size[0]) if len(size) == 1 else (np.hstack(entries), np.hstack(size))


#: A complex with more regions than this is split.
BLOCK = 100_000

#: Units that cut a large complex before Ctrl-C can be noticed.
STRIDE = 8

Watch = Callable[[int, int], None]


class TimeLimitError(Exception):
    """The deadline has passed."""


@dataclass
class Block:
    """A part of the box, subdivided up to some bend of the network."""

    lattice: Lattice
    bend: int  #: the current bend; -1 is the input, ``len(net.bends)`` the end
    unit: int = 0  #: the next unit of that bend
    tolerance: Floats | None = None  #: of the bend's units, once the bend is entered


def load_kernels() -> None:
    """Load the compiled loops: on a machine that never ran them they take seconds to compile."""
    box_lattice(np.array([[-1.0, 1.0], [-1.0, 1.0]]), 1).cut(0, 0, 1, np.zeros(1), 0, 1)


def box_block(net: Network, box: Floats) -> Block:
    """Return the box (n, 2) before the first bend."""
    kind = np.uint8 if max(net.candidates, default=2) <= 256 else np.uint16
    lattice = box_lattice(box, net.n_units, kind)
    rows = lattice.data[: lattice.n_vertices]
    lattice.set_data(np.concatenate([rows, rows], axis=1))  # coordinates, then the row: the input
    return Block(lattice, -1)


def finish_blocks(
    net: Network,
    todo: list[Block],
    *,
    limit: int = BLOCK,
    deadline: float = np.inf,
    watch: Watch = lambda regions, held: None,
) -> Iterator[Block]:
    """Finish blocks, the last first, splitting those with more than ``limit`` regions; empties ``todo``.

    ``watch`` is called now and then with the regions of all blocks that are not finished, and their bytes. Raises
    :class:`TimeLimitError` when ``time.time()`` passes ``deadline``.
    """
    forward = ForwardRows(net)
    with torch.no_grad():
        while todo:
            block = todo.pop()
            regions, held = sum(b.lattice.count for b in todo), sum(b.lattice.nbytes for b in todo)

            def report(lattice: Lattice, regions: int = regions, held: int = held) -> None:
                watch(regions + lattice.count, held + lattice.nbytes)

            parts = _advance(forward, block, limit, deadline, report)
            if parts is None:
                yield block
            else:
                todo.extend(parts)


def split_block(net: Network, block: Block, parts: int) -> list[Block]:
    """Advance a block, bend after bend, until it can be split into about so many parts."""
    forward = ForwardRows(net)
    todo, done = [block], list[Block]()
    with torch.no_grad():
        while todo and len(todo) + len(done) < parts:
            todo.sort(key=lambda b: b.lattice.count)
            block = todo.pop()
            new = _advance(forward, block, max(4, 2 * parts), np.inf, lambda lattice: None)
            if new is None:
                done.append(block)
            else:
                todo.extend(new)
    return done + todo


def _advance(
    forward: ForwardRows, block: Block, limit: int, deadline: float, watch: Callable[[Lattice], None]
) -> list[Block] | None:
    """Advance a block to the network's end, in place (None), or until it is too large, and return its parts."""
    net = forward.net
    while block.bend < len(net.bends):
        if block.tolerance is None:
            if block.lattice.count > limit:
                return _parts(block)
            _enter_bend(forward, block)
            if block.bend == len(net.bends):
                break
            block.lattice.compact()
        if net.steps[net.bends[block.bend]].op == "choice":
            columns, n, K = forward.pre_activations(block.bend), block.lattice.n, forward.net.candidates[block.bend]
            entries, first = slice(n + columns.start, n + columns.stop), int(forward.net.unit_starts[block.bend])
            assert block.tolerance is not None
            tournament(block.lattice, entries, K, block.tolerance, first, deadline)
            if K > 2:
                block.lattice = merge_regions(block.lattice)  # those that differ only in intermediate winners
        elif not _cut(forward, block, limit, deadline, watch):
            return _parts(block)
        block.unit, block.tolerance = 0, None
    return None


def _parts(block: Block) -> list[Block]:
    return [Block(part, block.bend, block.unit, block.tolerance) for part in block.lattice.split()]


def _enter_bend(forward: ForwardRows, block: Block) -> None:
    """Go to the next bend: its pre-activations at the vertices; those within the tolerance of 0 become 0."""
    lattice, n = block.lattice, block.lattice.n
    data = lattice.data[: lattice.n_vertices]
    rows, terms = forward.advance(block.bend, data[:, n:])
    lattice.set_data(data[:, :n], rows)
    block.bend += 1
    if block.bend < len(forward.net.bends):
        columns = forward.pre_activations(block.bend)
        block.tolerance = SIGN_TOLERANCE * terms[columns]
        if forward.net.steps[forward.net.bends[block.bend]].op == "relu":
            _snap_to_zero(lattice.data[: len(data), n + columns.start : n + columns.stop], block.tolerance)


def _snap_to_zero(values: Floats, tolerance: Floats) -> None:
    values[np.abs(values) <= tolerance] = 0.0


def _cut(forward: ForwardRows, block: Block, limit: int, deadline: float, watch: Callable[[Lattice], None]) -> bool:
    """Cut by the units of a relu bend; False when the complex exceeds the limit before the last."""
    lattice, tolerance = block.lattice, block.tolerance
    assert tolerance is not None
    column = lattice.n + forward.pre_activations(block.bend).start
    start = int(forward.net.unit_starts[block.bend])
    while block.unit < len(tolerance):
        if lattice.count > limit:
            return False
        if time.time() > deadline:
            raise TimeLimitError
        stride = 1 if np.isfinite(deadline) else STRIDE
        stop = min(block.unit + max(stride, 1000 * stride // lattice.count), len(tolerance))
        block.unit = lattice.cut(column, start, 1, tolerance, block.unit, stop, limit)
        watch(lattice)
    return True


def tournament(
    lattice: Lattice, columns: slice, K: int, tolerance: Floats, first_unit: int, deadline: float = np.inf
) -> None:
    """Cut where the largest of each K columns changes: candidate k against the largest before it, k = 1, 2, ...

    ``max(c_0, .., c_k) = m + relu(c_k - m)`` with ``m = max(c_0, .., c_k-1)``: each round is a relu bend, and the side
    of a unit is the last candidate that won. Rounds also cut where neither candidate is the largest in the end.
    """
    lattice.mark_walls()
    terms = tolerance.reshape(-1, K)
    width = lattice.data.shape[1]
    for k in range(1, K):
        rows = lattice.data[: lattice.n_vertices, :width]
        candidates = rows[:, columns].reshape(len(rows), -1, K)
        lead = candidates[..., k] - candidates[..., :k].max(axis=2)
        limits = terms[:, k] + terms[:, :k].max(axis=1)
        _snap_to_zero(lead, limits)
        lattice.set_data(np.concatenate([rows, lead], axis=1))
        for unit in range(len(limits)):
            if time.time() > deadline:
                raise TimeLimitError
            lattice.cut(width, first_unit, k, limits, unit, unit + 1)
    lattice.set_data(lattice.data[: lattice.n_vertices, :width])


def finish_block(net: Network, block: Block, limit: int, deadline: float) -> tuple[Lattice | None, bool]:
    """Finish one block, in another process: its complex, and whether it was done before the deadline."""
    done: list[Lattice] = []
    try:
        done.extend(part.lattice for part in finish_blocks(net, [block], limit=limit, deadline=deadline))
    except TimeLimitError:
        return (join_lattices(done) if done else None), False
    return join_lattices(done), True
