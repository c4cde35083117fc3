"""Texts that are read as numbers and shown as texts again: times, durations, fractions, intervals, ordered words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from creases._schema import BOOL, COUNT, NAMES, STRING, check_entries, expect, is_number
from creases._typing import Floats
from creases.tables._reading.columns import Column
from creases.tables._reading.numbers import MIN_CELLS, MOSTLY
from creases.tables._reading.quantities import FractionFormat, IntervalFormat, find_fractions, find_intervals
from creases.tables._reading.scales import ScaleFormat, find_scale, order_words
from creases.tables._reading.times import DurationFormat, TimeFormat, find_durations, find_times

Notation = TimeFormat | DurationFormat | FractionFormat | IntervalFormat | ScaleFormat

#: What finds a notation in texts with their counts and the name of their column, in the order in which they are tried.
FINDERS: dict[str, Callable[[Mapping[str, int], str], Notation | None]] = {
    "time": find_times,
    "duration": find_durations,
    "share": find_fractions,
    "interval": find_intervals,
    "ordinal": find_scale,
}

#: Cells from which it is seen that a column of text has a notation.
PROBE = 200


def find_notation(column: Column, kinds: tuple[str, ...] = tuple(FINDERS)) -> tuple[Notation, Floats] | None:
    """Return the notation of a column of text, and its numbers (n,); None if it has none of these kinds.

    As of numbers, nearly all cells must be readable, and of a few all of them.
    """
    texts = column.present.tolist()
    probe = Counter(texts[:: max(1, len(texts) // PROBE)])
    counts: Counter[str] | None = None
    for need in (1.0, MOSTLY) if len(texts) >= MIN_CELLS else (1.0,):
        for kind in kinds:
            if _share(FINDERS[kind](probe, column.name), probe) < 2 * need - 1:
                continue
            counts = Counter(texts) if counts is None else counts
            notation = FINDERS[kind](counts, column.name)
            if notation is not None and _share(notation, counts) >= need:
                return notation, notation.parse(column.values.tolist())
    return None


def _share(notation: Notation | None, counts: Mapping[str, int]) -> float:
    """Return the share of cells that a notation reads."""
    if notation is None:
        return 0.0
    read = ~np.isnan(notation.parse([*counts]))
    sizes = np.array([*counts.values()])
    return float(sizes[read].sum() / sizes.sum())


def impose_notation(column: Column, kind: str) -> Notation | None:
    """Return the notation of a column that a user says has one, in which unreadable cells may be more."""
    counts = Counter(column.present.tolist())
    if kind == "time":
        return find_times(counts, "") or TimeFormat(seconds=True)
    return order_words(counts) if kind == "ordinal" else FINDERS[kind](counts, column.name)


def read_notation(value: Mapping[str, Any] | None) -> Notation | None:
    """Return the notation of plain data; data that are none raise an error of Python's."""
    if value is None:
        return None
    options = {name: _as_tuples(entry) for name, entry in value.items() if name != "kind"}
    forms: dict[str, type[Notation]] = {form.kind: form for form in get_args(Notation)}
    return forms[value["kind"]](**options)


def _as_tuples(entry: Any) -> Any:
    return tuple(map(_as_tuples, entry)) if isinstance(entry, list | tuple) else entry


def check_notation(notation: Notation, where: str) -> None:
    """Raise ValueError where the parts of a notation that was read from a file are not what its class declares."""
    what = f"{where} has a damaged notation of {notation.plural}"
    if isinstance(notation, TimeFormat):
        check_entries(notation, what, half_days=BOOL, seconds=BOOL)
    elif isinstance(notation, DurationFormat):
        check_entries(notation, what, unit=STRING, clock=BOOL, seconds=BOOL)
        expect(not notation.unit or notation.parse([f"1 {notation.unit}"])[0] > 0, what)
    elif isinstance(notation, FractionFormat):
        check_entries(notation, what, below=COUNT, common=BOOL)
        expect(notation.below > 0, what)
    elif isinstance(notation, IntervalFormat):
        check_entries(notation, what, unit=STRING, labels=NAMES)
        expect(is_number(notation.width) and 0 <= notation.width < np.inf, what)
        expect(not np.isnan(notation.parse(notation.labels)).any(), what)
    else:
        expect(isinstance(notation.levels, tuple) and len(notation.levels) > 1, what)
        expect(all(NAMES.allows(words) and words for words in notation.levels), what)
