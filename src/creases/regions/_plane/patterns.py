"""Packed patterns of the regions of a plane, from the signs that every subdivision left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from creases._program import bit_widths, pack_sides
from creases._typing import Ints
from creases.network import Network
from creases.regions._plane.complex import Signs, column_sides, region_bytes, region_count, region_sides, signs_on


def region_patterns(net: Network, signs: Sequence[Signs], memory: int) -> NDArray[np.uint8]:
    """Return the patterns (R, n_bytes) of all regions; ``memory`` bounds the bytes that are held beside them."""
    if not signs:
        return np.zeros((1, 0), np.uint8)
    bends = [
        (int(units), 0 if net.steps[i].op == "relu" else candidates)
        for units, i, candidates in zip(np.diff(net.unit_starts), net.bends, net.candidates, strict=True)
    ]
    if all(units % 8 == 0 for units, _ in bends) and all(each.units is None for each in signs):
        return region_bytes(signs, [units // 8 for units, _ in bends])
    block = max(1, memory // (4 * net.n_units))
    parts = np.array_split(np.arange(region_count(signs)), 1 + region_count(signs) // block)
    if all(each.units is not None for each in signs):
        return np.concatenate([_set_changing_bits(net, signs, bends, part) for part in parts])
    return np.concatenate([pack_sides(net, np.concatenate(region_sides(signs, bends, part), axis=1)) for part in parts])


def _set_changing_bits(
    net: Network, signs: Sequence[Signs], bends: Sequence[tuple[int, int]], regions: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Return patterns (R, n_bytes) of some regions: the bits of units that keep their side once, then the others."""
    from creases.regions._plane import pattern_kernel

    widths = bit_widths(net)
    starts = np.cumsum(widths) - widths
    kept = np.zeros(net.n_units, np.int16)
    for each in signs:
        kept[net.unit_starts[each.bend] : net.unit_starts[each.bend + 1]] = cast(NDArray[np.int16], each.sides)
    changing = [net.unit_starts[each.bend] + cast(Ints, each.units) for each in signs]
    for units in changing:
        kept[units] = 0
    patterns = np.repeat(pack_sides(net, kept[None]), len(regions), axis=0)
    for units, each in zip(changing, signs_on(signs, regions), strict=True):
        candidates = bends[each.bend][1]
        if candidates:
            pattern_kernel.set_sides(patterns, column_sides(each, len(units), candidates), starts[units])
        else:
            pattern_kernel.set_positive(patterns, each.positive, starts[units])
    return patterns
