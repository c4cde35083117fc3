"""The cells that a row could have instead of its own, with what each change counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

import numpy as np

from creases._typing import Floats
from creases.tables._words.ranges import InputRanges, date_options, days_input
from creases.tables._words.terms import ColumnTerm

#: What any change of a column counts, and a change of a category or of yes and no in all.
CHANGE, SWITCH = 0.1, 1.0

#: Numbers move by at most this share of their range, in round steps.
STEP = 1 / 200


@dataclass(frozen=True, eq=False)
class Options:
    """The cells that one column could have; the first is the row's own."""

    term: ColumnTerm
    values: Floats  #: (n, inputs of the column)
    costs: Floats  #: (n,) rising from 0

    def __len__(self) -> int:
        """Return the number of options."""
        return len(self.costs)


def column_options(term: ColumnTerm, x: Floats, ranges: InputRanges, *, fixed: bool) -> Options:
    """Return what a column of an encoded row x (d,) could be.

    A number moves in round steps within the range of the table, at most as fine as the table writes it; a date by whole
    days; a category to any of its values. What is missing remains missing, and nothing becomes missing.
    """
    own = x[term.inputs]
    values, costs = np.zeros((0, len(own))), np.zeros(0)
    if not fixed and not _is_missing(term, own):
        if term.column.is_category:
            levels = [k for k, feature in enumerate(term.features) if feature.level and not own[k]]
            values = np.eye(len(own))[levels]
            costs = np.full(len(values), SWITCH)
        elif term.column.kind.date is not None:
            days, parts = date_options(term, x, ranges)
            values = np.repeat(own[None], len(parts), axis=0)
            values[:, : parts.shape[1]] = parts
            costs = CHANGE + days / ranges.spread[days_input(term)]
        else:
            values, costs = _numbers(term, own, ranges)
    order = np.argsort(costs, kind="stable")
    return Options(term, np.concatenate([own[None], values[order]]), np.append(0.0, costs[order]))


def _is_missing(term: ColumnTerm, own: Floats) -> bool:
    """Return whether a column is missing in a row, or has a value that the table did not have."""
    if term.column.is_category:
        return not own.any() or term.level_name(term.features[int(own.argmax())]) == "missing"
    return term.indicator is not None and bool(own[-1])


def _numbers(term: ColumnTerm, own: Floats, ranges: InputRanges) -> tuple[Floats, Floats]:
    """Return other numbers, or the other of yes and no, and their costs."""
    j = int(term.inputs[0])
    low, high = float(ranges.low[j]), float(ranges.high[j])
    if term.features[0].kind == "yes/no":
        values = np.array([1.0 - own[0]]) if low < high else np.zeros(0)
        costs = np.full(len(values), SWITCH)
    elif (notation := term.column.kind.notation) is not None:
        values = notation.grid(low, high, round(1 / STEP))
        values = values[np.abs(values - own[0]) > 1e-9 * (high - low)]
        costs = CHANGE + np.abs(values - own[0]) / ranges.spread[j]
    else:
        step = max(round_down(STEP * (high - low)), float(ranges.unit[j])) if high > low else 1.0
        values = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
        values = np.array([float(f"{value:.12g}") for value in np.clip(values, low, high)])
        values = values[np.abs(values - own[0]) > step / 1000]
        costs = CHANGE + np.abs(values - own[0]) / ranges.spread[j]
    rows = np.repeat(own[None], len(values), axis=0)
    rows[:, 0] = values
    return rows, costs


def round_down(value: float) -> float:
    """Return the largest of 1, 2, 5, 10, ... (or their tenths, hundredths, ...) that is at most a value.

    Examples
    --------
    >>> round_down(17.6), round_down(0.5), round_down(0.037)
    (10.0, 0.5, 0.02)
    """
    power = 10.0 ** floor(log10(value) + 1e-12)
    return float(f"{power * max(k for k in (1, 2, 5) if k * power <= value * (1 + 1e-12)):.12g}")
