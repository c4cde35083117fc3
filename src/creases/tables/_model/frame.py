"""Predictions as a table, and what is said of them: how many, of what, outside of what is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creases._typing import Floats
from creases._validation import check_number
from creases.errors import InputError
from creases.tables._encoding.encoding import Unusual
from creases.tables._model.intervals import predict_intervals, predict_sets
from creases.tables._model.schema import RowFunction
from creases.tables._stages.families import probabilities

if TYPE_CHECKING:
    import pandas as pd


def predict_frame(
    model: RowFunction,
    X: Floats,
    *,
    budget: float = 0.0,
    coverage: float | None = None,
    by: str | None = None,
    **where: Any,
) -> pd.DataFrame:
    """Return the predictions for encoded rows X (n, d) as a table: see :meth:`RowModel.frame`.

    Distances from another decision are in standard deviations; ``budget`` is the time for each row, in seconds.
    """
    import pandas as pd

    schema, outputs = model.schema, model._outputs(X)
    if schema.classes is None:
        columns: dict[str, Any] = {f"predicted {name}": outputs[:, k] for k, name in enumerate(schema.targets)}
    else:
        columns = {f"predicted {schema.target or 'class'}": schema.decide(outputs)}
        chances = probabilities(outputs)
        columns |= {f"probability {name}": chances[:, k] for k, name in enumerate(schema.classes)}
    if coverage is None and by is not None:
        raise InputError("by", "come with a coverage", repr(by), "add {0}", [("coverage", 0.9)])
    if coverage is not None:
        share = f"{100 * check_number(coverage, 'coverage', above=0, below=1):g} %"
        if schema.classes is None:
            low, high = predict_intervals(model, X, coverage, by).T
            columns |= {f"least {schema.target} at {share}": low, f"largest {schema.target} at {share}": high}
        else:
            sets = predict_sets(model, X, coverage, by)
            columns[f"classes at {share}"] = ["; ".join(str(schema.classes[k]) for k in numbers) for numbers in sets]
    columns |= model._place(X)
    outside = schema.outside(X)
    columns["outside"] = ["yes" if beyond else "no" for beyond in outside]
    columns["outside in"] = [", ".join(beyond) for beyond in outside]
    if budget > 0 and schema.classes is not None:
        names = ("boundary distance", "boundary distance at least", "distance proved")
        columns |= {name: [] for name in names}
        if len(X):
            from creases.certify import margins  # imports torch

            net = schema.decision_network(model.network)
            safe = margins(net, X, weights=1 / schema.spread, budget=budget, **where)
            proved = ["yes" if is_proved else "no" for is_proved in safe.proved]
            columns |= dict(zip(names, (safe.distance, safe.lower_bound, proved), strict=True))
    return pd.DataFrame(columns)


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
        """Return the summary of a table of predictions: see :func:`predict_frame`."""
        predicted = frame.iloc[:, 0]
        new = int((frame["region"] == 0).sum()) if "region" in frame else None
        outside = int((frame["outside"] == "yes").sum())
        if has_classes:
            counts = Counter({str(name): int(n) for name, n in predicted.value_counts().items()})
            return cls(len(frame), outside, new, classes=counts, unusual=tuple(unusual))
        values = (float(predicted.min()), float(predicted.sum()), float(predicted.max())) if len(frame) else None
        return cls(len(frame), outside, new, values=values, unusual=tuple(unusual))

    def __add__(self, other: PredictionSummary) -> PredictionSummary:
        merged: dict[tuple[str, str], Unusual] = {}
        for each in (*self.unusual, *other.unusual):
            known = merged.get((each.column, each.what), replace(each, count=0))
            example = each if each.like and not known.like else known
            merged[each.column, each.what] = replace(example, count=known.count + each.count)
        regions = [each.in_new_regions for each in (self, other) if each.in_new_regions is not None]
        classes = [each.classes for each in (self, other) if each.classes is not None]
        values = [each.values for each in (self, other) if each.values is not None]
        return PredictionSummary(
            self.rows + other.rows,
            self.outside + other.outside,
            sum(regions) if regions else None,
            sum(classes, Counter()) if classes else None,
            (min(v[0] for v in values), sum(v[1] for v in values), max(v[2] for v in values)) if values else None,
            tuple(merged.values()),
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
