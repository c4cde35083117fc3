"""What is said of predictions: how many, of what, outside of what is known. Imports no reader of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creases.tables._encoding.encoding import Unusual

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PredictionSummary:
    """What is said of predictions; sums over blocks."""

    rows: int = 0
    outside: int = 0
    in_new_regions: int | None = None
    classes: Counter[str] | None = None  #: how often each class was predicted
    values: tuple[float, float, float] | None = None  #: of a regression: least, sum, largest
    unusual: tuple[Unusual, ...] = ()

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, has_classes: bool, unusual: Sequence[Unusual] = ()) -> PredictionSummary:
        """Return the summary of a table of predictions: see :meth:`TableModel.frame`."""
        predicted = frame.iloc[:, 0]
        new = int((frame["region"] == 0).sum()) if "region" in frame else None
        outside = int((frame["outside"] == "yes").sum())
        if has_classes:
            counts = Counter({str(name): int(n) for name, n in predicted.value_counts().items()})
            return cls(len(frame), outside, new, classes=counts, unusual=tuple(unusual))
        values = (float(predicted.min()), float(predicted.sum()), float(predicted.max())) if len(frame) else None
        return cls(len(frame), outside, new, values=values, unusual=tuple(unusual))

    def __add__(self, other: PredictionSummary) -> PredictionSummary:
        regions = [each.in_new_regions for each in (self, other) if each.in_new_regions is not None]
        classes = [each.classes for each in (self, other) if each.classes is not None]
        values = [each.values for each in (self, other) if each.values is not None]
        return PredictionSummary(
            self.rows + other.rows,
            self.outside + other.outside,
            sum(regions) if regions else None,
            sum(classes, Counter()) if classes else None,
            (min(v[0] for v in values), sum(v[1] for v in values), max(v[2] for v in values)) if values else None,
            _add_unusual(self.unusual, other.unusual),
        )

    def to_dict(self, out: Path | None = None) -> dict[str, Any]:
        """Return the summary as plain values; ``out`` is the file that has the predictions."""
        plain: dict[str, Any] = {"file": out and str(out), "rows": self.rows, "outside": self.outside}
        if self.in_new_regions is not None:
            plain["in_new_regions"] = self.in_new_regions
        predicted: dict[str, Any] = {}
        if self.classes is not None:
            predicted = dict(self.classes.most_common())
        elif self.values is not None:
            predicted = dict(zip(("least", "mean", "largest"), self.values, strict=True))
            predicted["mean"] /= self.rows
        return plain | {"predicted": predicted, "notes": [str(each) for each in self.unusual]}


def _add_unusual(first: tuple[Unusual, ...], second: tuple[Unusual, ...]) -> tuple[Unusual, ...]:
    merged: dict[tuple[str, str], Unusual] = {}
    for each in (*first, *second):
        known = merged.get((each.column, each.what))
        merged[each.column, each.what] = each if known is None else replace(known, count=known.count + each.count)
    return tuple(merged.values())
