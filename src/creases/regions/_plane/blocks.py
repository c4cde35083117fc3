"""Subdivision of a plane with bounded memory: a few units at a time, values at vertices recomputed, not stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from creases._typing import Floats, Progress
from creases.network import Network
from creases.network.program import ForwardPass
from creases.regions._plane.complex import ChangingUnits, Complex, flatten_units
from creases.regions._plane.split import MemoryLimitError
from creases.regions._tolerance import SIGN_TOLERANCE

Points = Callable[[int, int], Tensor]


def subdivide_in_blocks(
    net: Network, part: Complex, points: Points, bend: int, memory: int, progress: Progress | None
) -> Floats:
    """Subdivide the complex, in place, by the bends from ``bend`` on, and return the output (V, n_out) at its vertices.

    ``points(first, last)`` are the inputs (., n_in) at vertices first to last; ``memory`` bounds the bytes held.
    """
    rows = max(1, memory // (64 * max(net.sizes)))

    def blocks() -> Iterator[Tensor]:
        for first in range(0, len(part.vertices), rows):
            yield points(first, min(first + rows, len(part.vertices)))

    # The corners of the box; the other vertices are run through it block by block.
    forward = ForwardPass(net, points(0, 4), zero=SIGN_TOLERANCE)
    for number, step in enumerate(net.bends):
        forward.advance()
        choice = net.steps[step].op == "choice"
        terms = flatten_units(forward.terms, choice=choice)[0]
        changing = ChangingUnits(SIGN_TOLERANCE * terms, choice=choice)
        for block in blocks():
            z = forward.run(block)
            forward.update_range(z)
            changing.update(flatten_units(z, choice=choice))
        if number >= bend:
            _cut(part, forward, blocks, terms, changing, int(net.unit_starts[number]), choice, memory, progress)
    forward.advance()
    return torch.cat([forward.run(block).flatten(1) for block in blocks()]).numpy()


def _cut(
    part: Complex,
    forward: ForwardPass,
    blocks: Callable[[], Iterator[Tensor]],
    terms: Tensor,
    changing: ChangingUnits,
    first_unit: int,
    choice: bool,
    memory: int,
    progress: Progress | None,
) -> None:
    """Split by the units of one bend that change side, as many at a time as memory allows."""
    units, sides = changing.units(), changing.sides()
    columns = terms.shape[1] * (terms.shape[1] - 1) // 2 if choice else 1  # of one unit
    size = len(units)
    while True:
        size = max(1, min(size, memory // (8 * columns * 4 * len(part.vertices))))
        group = units[:size]
        z = torch.cat([flatten_units(forward.run(block), choice=choice)[:, group] for block in blocks()])
        bound = None if size == 1 else memory  # a single unit is always cut
        labels = first_unit + group
        try:
            part.cut(z, terms[group], forward.bend, labels, choice=choice, units=group, sides=sides, memory=bound)
        except MemoryLimitError:
            size //= 4
            continue
        if progress is not None:
            progress("finding regions", part.count, None)
        units = units[len(group) :]
        if not len(units):
            return
