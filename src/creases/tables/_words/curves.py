"""A curve in words: slopes of few pieces, or its values at the places that matter; and where planes bend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from creases._text import format_change
from creases._typing import Floats
from creases.tables._columns.axes import Axis
from creases.tables._stages.model import Plane

#: Pieces of a curve that are told by their slopes; one with more by its values at so many places.
PIECES, PLACES = 3, 5

#: A change below this share of the curve's range is flat; a place nearer than that to the others' line is left out.
FLAT, NEAR = 0.005, 0.03


def curve_text(
    knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str] = format_change
) -> str:
    """Return a piecewise-linear function with values (k,) at knots (k,) in words; "" if it is constant.

    ``change`` writes what is added.
    """
    if not np.ptp(values) > 1e-12 * max(float(np.abs(values).max(initial=0.0)), 1e-300):
        return ""
    if axis.cycle:
        values = np.interp(axis.cycle, knots, values)
        low, high = int(values.argmin()), int(values.argmax())
        lowest = f"lowest {axis.at} {axis.place(axis.cycle[low])} ({change(values[low])}{unit})"
        return f"{lowest}, highest {axis.at} {axis.place(axis.cycle[high])} ({change(values[high])})"
    if axis.levels:
        return places_text(np.array(axis.levels), np.interp(axis.levels, knots, values), axis, unit, change)
    bends = choose_places(knots, values, 1e-9)  # without knots at which the curve goes straight on
    knots, values = knots[bends], values[bends]
    if len(knots) - 1 > PIECES:
        return places_text(knots, values, axis, unit, change)
    return _slopes_text(knots, values, axis, unit, change)


def choose_places(knots: Floats, values: Floats, share: float, most: int = 1_000_000) -> list[int]:
    """Return the knots between which straight lines are within a share of the range, or the best so many.

    The knot farthest from the lines so far is added until none is far (Douglas and Peucker 1973).
    """
    kept = [0, len(knots) - 1]
    while len(kept) < most:
        distance = np.abs(np.interp(knots, knots[kept], values[kept]) - values)
        farthest = int(distance.argmax())
        if distance[farthest] <= share * np.ptp(values) or farthest in kept:
            break
        kept = sorted([*kept, farthest])
    return kept


def plane_knots(plane: Plane, j: int, cells: Sequence[Mapping[int, float]] | None = None) -> Floats:
    """Return where a plane can bend along the number j, alone or where its other variable has certain cells.

    Cells are values by input, those of other inputs are 0; by default they are all levels of the other variable.
    """
    hinges = plane.hinges
    if cells is None:
        other = next(each for each in hinges.variables if j not in each.features)
        cells = [] if other.kind == "number" else [{level: 1.0} for level in other.features.tolist()]
    places = [plane.margins[j].knots] if j in plane.margins else []
    for i, k, (a, b, c) in zip(hinges.first.tolist(), hinges.second.tolist(), hinges.weights, strict=True):
        key, level_key, slope, factor = (i, k, a, b) if hinges.feature_of(i) == j else (k, i, b, a)
        for knots, values in hinges.branches(key):
            places.append(knots)
            for level in {cell.get(hinges.feature_of(level_key), 0.0) for cell in cells}:
                height = slope * values + factor * max(level, 0.0) + c
                before = np.flatnonzero(height[:-1] * height[1:] < 0)
                share = height[before] / (height[before] - height[before + 1])
                places.append(knots[before] + share * np.diff(knots)[before])
    return np.unique(np.concatenate(places))


def places_text(knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str]) -> str:
    """Return the values of a function at the places between which it is nearly straight."""
    kept = choose_places(knots, values, NEAR, PLACES)
    shown = [f"{change(values[k])} {axis.at} {axis.place(knots[k])}" for k in kept]
    if unit:
        shown[0] = shown[0].replace(f" {axis.at} ", f"{unit} {axis.at} ", 1)
    return ", ".join(shown)


def _slopes_text(knots: Floats, values: Floats, axis: Axis, unit: str, change: Callable[[float], str]) -> str:
    """Return the slopes of a few pieces: ``-1.2 mpg per 100 lb up to 2,750 lb, -0.6 above``."""
    words, named = [], False
    last = len(knots) - 2
    for k in range(last + 1):
        a, b, rise = knots[k], knots[k + 1], values[k + 1] - values[k]
        if abs(rise) < FLAT * np.ptp(values):
            text = "flat"
        elif b - a < axis.step and last:  # too short for a slope: nearly a jump
            words.append(f"{change(rise)}{'' if named else unit} from {axis.place(a)} to {axis.place(b)}")
            continue
        else:
            text = change(rise / (b - a) * axis.step)
            text += "" if named else f"{unit} per {axis.step_name}"
            named = True
        if last and k == last:
            text += f" {axis.beyond}"
        elif last:
            text += f" {axis.until} {axis.place(b)}"
        words.append(text)
    return ", ".join(words)
