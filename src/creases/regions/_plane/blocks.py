"""Subdivision of a plane with bounded memory: a few units at a time, values at vertices recomputed, not stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from creases._program import ForwardPass
from creases._typing import Floats, Progress
from creases.network import Network
from creases.regions._plane.complex import BendUnits, ChangingUnits, Complex, flatten_units
from creases.regions._plane.forward_pass import PlaneForwardPass
from creases.regions._plane.split import MemoryLimitError
from creases.regions._tolerance import SIGN_TOLERANCE

Points = Callable[[int, int], Tensor]


def subdivide_by_changing_units(
    net: Network, part: Complex, origin: Floats, basis: Floats, box: Floats, memory: int, progress: Progress | None
) -> PlaneForwardPass:
    """Subdivide the complex, in place, by the units that change side, and return the forward pass at its end."""
    forward = PlaneForwardPass(net, origin, basis, box)
    with torch.no_grad():
        while (found := forward.advance(part.vertices)) is not None:
            cut_in_groups(part, found, lambda group: forward.pre_activations(part.vertices, group), memory, progress)
    return forward


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
            units = changing.units()
            found = BendUnits(number, int(net.unit_starts[number]), choice, units, terms[units], changing.sides())
            cut_in_groups(part, found, partial(_pre_activations, forward, blocks, found), memory, progress)
    forward.advance()
    return torch.cat([forward.run(block).flatten(1) for block in blocks()]).numpy()


def _pre_activations(
    forward: ForwardPass, blocks: Callable[[], Iterator[Tensor]], found: BendUnits, group: slice
) -> Tensor:
    units = found.units[group]
    return torch.cat([flatten_units(forward.run(block), choice=found.choice)[:, units] for block in blocks()])


def cut_in_groups(
    part: Complex,
    found: BendUnits,
    pre_activations: Callable[[slice], Tensor],
    memory: int,
    progress: Progress | None,
) -> None:
    """Split by the units of one bend that change side, as many at a time as memory allows.

    ``pre_activations(group)`` are those of a part of the units at all vertices of the complex: (V, n) or (V, n, K).
    """
    first, size = 0, len(found.units)
    while True:
        size = max(1, min(size, memory // (8 * found.columns * 4 * len(part.vertices))))
        group = slice(first, first + size)
        units = found.units[group]
        bound = None if size == 1 else memory  # a single unit is always cut
        try:
            part.cut(
                pre_activations(group),
                found.terms[group],
                found.bend,
                found.first_unit + units,
                choice=found.choice,
                units=units,
                sides=found.sides,
                memory=bound,
            )
        except MemoryLimitError:
            size //= 4
            continue
        if progress is not None:
            progress("finding regions", part.count, None)
        first += len(units)
        if first >= len(found.units):
            return
