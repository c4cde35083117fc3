"""Subdivision of a plane with bounded memory: few units at a time, values at vertices computed anew, not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from creases._typing import Floats, Progress
from creases.network import Network
from creases.network.program import ForwardPass
from creases.regions._plane.complex import Changing, Complex, Full, by_unit
from creases.regions._tolerance import SIGN_TOLERANCE

Points = Callable[[int, int], Tensor]


def subdivide_in_blocks(
    net: Network, part: Complex, points: Points, bend: int, memory: int, progress: Progress | None
) -> Floats:
    """Subdivide the complex, in place, by the bends from number ``bend`` on; the output (V, n_out) at its vertices.

    ``points(first, last)`` are the inputs (., n_in) at vertices first to last; ``memory`` bounds the bytes held.
    """
    rows = max(1, memory // (64 * max(net.sizes)))

    def blocks() -> Iterator[Tensor]:
        for first in range(0, len(part.vertices), rows):
            yield points(first, min(first + rows, len(part.vertices)))

    walk = ForwardPass(
        net, points(0, 4), zero=SIGN_TOLERANCE
    )  # the corners of the box: the others are run through it, block by block
    for number, step in enumerate(net.bends):
        walk.advance()
        choice = net.steps[step].op == "choice"
        terms = by_unit(walk.terms, choice=choice)[0]
        changing = Changing(SIGN_TOLERANCE * terms, choice=choice)
        for block in blocks():
            z = walk.run(block)
            walk.update_range(z)
            changing.see(by_unit(z, choice=choice))
        if number >= bend:
            _cut(part, walk, blocks, terms, changing, int(net.unit_starts[number]), choice, memory, progress)
    walk.advance()
    return torch.cat([walk.run(block).flatten(1) for block in blocks()]).numpy()


def _cut(
    part: Complex,
    walk: ForwardPass,
    blocks: Callable[[], Iterator[Tensor]],
    terms: Tensor,
    changing: Changing,
    first_unit: int,
    choice: bool,
    memory: int,
    progress: Progress | None,
) -> None:
    """Split by the units of one bend that change side, as many at a time as memory allows."""
    units, sides = changing.units(), changing.sides()
    columns = terms.shape[1] * (terms.shape[1] - 1) // 2 if choice else 1  # of one unit
    some = len(units)
    while True:
        some = max(1, min(some, memory // (8 * columns * 4 * len(part.vertices))))
        group = units[:some]
        z = torch.cat([by_unit(walk.run(block), choice=choice)[:, group] for block in blocks()])
        bound = None if some == 1 else memory  # one unit alone must do
        labels = first_unit + group
        try:
            part.cut(z, terms[group], walk.bend, labels, choice=choice, units=group, sides=sides, memory=bound)
        except Full:
            some //= 4
            continue
        if progress is not None:
            progress("finding regions", part.count, None)
        units = units[len(group) :]
        if not len(units):
            return
