"""Number the regions that hold rows of a table: those with the same function are one, the first has the most rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from creases._typing import Floats, Ints
from creases.tables._explain.table import Table

#: Functions whose coefficients differ by less than this, relative to the outputs, are the same.
SAME = 1e-11


class RegionNumbers(NamedTuple):
    """The regions of a table's rows."""

    patterns: Any  #: (p, n_bytes) the different patterns
    pattern_of: Ints  #: (n,) the pattern of each row, by its number
    region_of_pattern: Ints  #: (p,) the region of each pattern, from 0


def number_regions(table: Table) -> RegionNumbers:
    """Return the regions that hold rows, in the order of their numbers."""
    packed = table.net.pattern(table.to_network(table.X)).reshape(len(table.X), -1)
    patterns, first, pattern_of = _unique_rows(packed)
    merged = _merge_functions(*table.pieces(table.X[first]), table)
    counts = np.bincount(merged[pattern_of], minlength=merged.max() + 1)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(counts), np.int64)
    rank[order] = np.arange(len(counts))
    return RegionNumbers(patterns, pattern_of, rank[merged])


def _unique_rows(packed: Any) -> tuple[Any, Ints, Ints]:
    """Return the different patterns, the first row of each, and the pattern of each row."""
    if not packed.shape[1]:  # a network without units has one region
        return packed[:1], np.zeros(1, np.int64), np.zeros(len(packed), np.int64)
    unique, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return unique, first, inverse.reshape(-1)


def _merge_functions(J: Floats, offset: Floats, table: Table) -> Ints:
    """Return for each piece J (k, q, d), offset (k, q) the number of its function; equal ones have the same."""
    center = table.X.mean(axis=0)
    scale = np.abs(table.X - center).max(axis=0)
    terms = np.concatenate([J * scale, (offset + J @ center)[..., None]], axis=2).reshape(len(J), -1)
    size = max(float(np.abs(table.values).max()), float(np.abs(terms).max()))
    direction = np.random.default_rng(0).normal(size=terms.shape[1])
    order = np.argsort(terms @ direction, kind="stable")  # equal functions are neighbors
    apart = np.abs(np.diff(terms[order], axis=0)).max(axis=1, initial=0) > SAME * size
    number = np.empty(len(J), np.int64)
    number[order] = np.append(0, np.cumsum(apart))
    return number
