"""In how many rows each text is, in bounded memory: frequent texts of a column that has very many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

#: Different values of a column that are counted at once.
MOST_VALUES = 20_000


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Rows with each value; of more than ``MOST_VALUES`` values those that may be frequent.

    The algorithm of Misra and Gries: of too many values the counts of all are lowered until few enough are left, and
    those at 0 go. Every value in more than one of ``MOST_VALUES`` rows stays, and its count is too low by at most that
    share of the rows. Counts of blocks add up; in a fixed order the result is always the same.
    """

    counts: Counter[Any]  #: rows with each value, without those that are missing
    n_missing: int = 0  #: rows with ""
    n_others: int = 0  #: rows that no count has
    other: Any = None  #: the first in order of the values that went

    @classmethod
    def from_values(cls, rows: Counter[Any], among: Collection[Any] | None = None) -> ValueCounts:
        """Return the counts of the values of a block, or of some of them; ``rows`` with each value are changed."""
        n_missing, n = rows.pop("", 0), rows.total()
        if among is not None:
            rows = Counter({value: count for value, count in rows.items() if value in among})
        return cls(rows, n_missing, n - rows.total())._lower()

    def __add__(self, other: ValueCounts) -> ValueCounts:
        gone = [each for each in (self.other, other.other) if each is not None]
        n_missing, n_others = self.n_missing + other.n_missing, self.n_others + other.n_others
        return ValueCounts(self.counts + other.counts, n_missing, n_others, min(gone, default=None))._lower()

    def _lower(self) -> ValueCounts:
        """Return the counts of few enough values."""
        if len(self.counts) + (self.other is not None) <= MOST_VALUES:
            return self
        least = sorted(self.counts.values())[-MOST_VALUES]
        kept = Counter({value: count - least for value, count in self.counts.items() if count > least})
        gone = min(value for value, count in self.counts.items() if count <= least)
        n_others = self.n_others + self.counts.total() - kept.total()
        return ValueCounts(kept, self.n_missing, n_others, gone if self.other is None else min(gone, self.other))

    @property
    def candidates(self) -> frozenset[Any] | None:
        """The values that may be frequent, and one that is not; None if all values are counted."""
        return frozenset(self.counts) | {self.other} if self.n_others else None
