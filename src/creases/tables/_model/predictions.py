"""Intervals for numbers and sets of classes that hold a new row's own with a given coverage: conformal prediction.

Rows that the fits of the folds have not seen say how far predictions are off (Vovk, Gammerman and Shafer 2005; the
residuals of folds as in Barber, Candès, Ramdas and Tibshirani 2021). Nothing is assumed of the errors but that new rows
come as those of the table did.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np

from creases._files import open_npz, write_atomically
from creases._typing import Floats, Ints
from creases._validation import check_number
from creases.errors import FileError, InputError
from creases.tables._columns.levels import Lookup
from creases.tables._encoding.encoding import Unusual
from creases.tables._folder.folder import RunFile
from creases.tables._folder.records import read_record
from creases.tables._model.schema import RowFunction
from creases.tables._stages.families import probabilities

if TYPE_CHECKING:
    import pandas as pd

    from creases.tables._stages.fit import HeldOut
    from creases.tables._stages.model import CurveModel

#: Rows that are kept at most, and rows of a group that has errors of its own at least.
MOST_ROWS, GROUP_ROWS = 5_000, 30

#: Rows for each part of the predictions' range over which the size of errors may differ, and parts at most.
PART_ROWS, MOST_PARTS = 50, 8

#: Parts of the distances of later rows in which squared errors are averaged, and steps in which their growth is fitted.
GROWTH_PARTS, GROWTH_STEPS = 20, 10


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows with what they are, what fits that have not seen them predict, and what the model itself does."""

    predictions: Annotated[Floats, "n", "k"]  #: values, or the probability of each class
    fitted: Annotated[Floats, "n", "k"]  #: the same by the model itself, which has seen the rows
    truth: Annotated[Floats, "n"]  #: values, or numbers of classes
    weight: Annotated[Floats, "n"]
    groups: Mapping[str, Annotated[Ints, "n"]]  #: by column of categories or yes/no: the row's value; -1 if unknown
    ahead: Annotated[Floats, "a"] = field(default_factory=lambda: np.zeros(0))  #: how far the fit ends before the row
    clock: Annotated[Floats, "c"] = field(
        default_factory=lambda: np.zeros(0)
    )  #: which input is the time, its last value

    def save(self, path: Path) -> None:
        """Write the rows."""
        plain: dict[str, Any] = {name: array for name, array in vars(self).items() if name != "groups"}
        plain |= {f"group {name}": codes for name, codes in self.groups.items()}
        with write_atomically(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **plain)

    @classmethod
    def load(cls, path: Path) -> HeldRows:
        """Read what :meth:`save` wrote."""
        try:
            with open_npz(path) as arrays:
                stored = {name: arrays[name] for name in arrays}
            groups = {name.removeprefix("group "): stored[name] for name in stored if name.startswith("group ")}
            return read_record(cls, stored | {"groups": groups}, "the file")
        except (OSError, ValueError) as problem:
            raise FileError(f"cannot read {path} ({problem}); fit the model again") from None


def hold_rows(model: RowFunction, function: CurveModel, held: HeldOut) -> HeldRows:
    """Return rows of a model's table with held-out outputs: of numbers in the order of time, with forecasts."""
    assert model.data is not None
    forecasts = held.forecasts if model.classes is None else None
    rows, weight, scores = held.rows, held.weight, held.scores
    ahead, clock = np.zeros(0), np.zeros(0)
    if forecasts is not None:
        rows, scores, ahead = forecasts.rows, forecasts.scores, forecasts.ahead
        weight, clock = model.data.rows.weight[rows], np.array([forecasts.feature, forecasts.last])
    if len(rows) > MOST_ROWS:
        some = np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.int64)
        scores, rows, weight, ahead = scores[some], rows[some], weight[some], ahead[some[: len(ahead)]]
    outputs = function.to_outputs(scores)
    X, y = model.data.rows.X[rows], np.asarray(model.data.rows.y[rows], np.float64)
    predictions, fitted = (
        each if model.classes is None else probabilities(each) for each in (outputs, model._outputs(X))
    )
    weight = weight / model.data.rows.weight[rows] * model.data.rows.count[rows]  # without the weights of classes
    groups = {name: group_codes(model, X, name) for name in _group_columns(model)}
    return HeldRows(predictions, fitted, y.reshape(len(y), -1)[:, 0], weight, groups, ahead, clock)


def _group_columns(model: RowFunction) -> list[str]:
    return [column.name for column in model.schema.encoder.inputs if column.kind.codec.is_discrete]


def group_codes(model: RowFunction, X: Floats, by: str) -> Ints:
    """Return the number of the value (n,) that a column of categories or yes/no has in encoded rows X (n, d)."""
    names = _group_columns(model)
    if by not in names:
        listing = ", ".join(names) or "none"
        raise InputError("by", "name a column of categories or of yes and no", repr(by), f"they are: {listing}")
    own = X[:, [j for j, feature in enumerate(model.schema.encoder.features) if feature.column == by]]
    column = next(column for column in model.schema.encoder.inputs if column.name == by)
    if isinstance(column.kind.codec, Lookup):
        return own[:, 0].astype(np.int64) - 1
    if column.kind.codec.has_levels:
        return np.where(own.any(axis=1), own.argmax(axis=1), -1)
    return np.where(np.isin(own[:, 0], (0.0, 1.0)), own[:, 0], -1).astype(np.int64)


def held_rows(model: RowFunction) -> HeldRows:
    """Return the held-out rows of a model, which its folder has if it was loaded."""
    if model._held is not None:
        return cast("HeldRows", model._held)
    folder = model._folder
    if folder is None or not (folder / RunFile.HELD).exists():
        hint = "fit it again with creases.fit_table or creases fit"
        raise InputError("model", "have predictions of held-out rows", "a grown network, or an older folder", hint)
    return HeldRows.load(folder / RunFile.HELD)


def predict_intervals(model: RowFunction, X: Floats, coverage: float, by: str | None) -> Floats:
    """Return the least and largest value (n, 2) of encoded rows X (n, d); see :meth:`RowModel.predict_interval`."""
    if model.classes is not None or len(model.schema.targets) > 1:
        got = "classes" if model.classes is not None else "several targets"
        raise InputError("rows", "be of a table with one target of numbers", got, "of classes predict sets")
    held = held_rows(model)
    predicted, center = model._outputs(X)[:, 0], held.predictions[:, 0]
    errors = np.abs(held.truth - center)
    if len(held.ahead):
        sizes, new = (values if model._largest is not None else np.ones(len(values)) for values in (center, predicted))
        growth = _error_growth(held.ahead, errors / sizes.clip(1e-300), held.weight)
        j, last = int(held.clock[0]), held.clock[1]
        sizes, new = sizes * growth(held.ahead), new * growth(np.maximum(X[:, j] - last, 0.0))
    else:
        scale = _error_sizes(center, errors, held.weight)
        sizes, new = scale(center), scale(predicted)
    reach = _quantiles(model, held, errors / sizes, X, coverage, by) * new
    low, high = predicted - reach, predicted + reach
    if model._largest is not None:  # a logarithmic link: no value is negative
        low = np.maximum(low, 0.0)
    return np.stack([low, high], axis=1)


def predict_sets(
    model: RowFunction, X: Floats, coverage: float, by: str | None, *, by_class: bool = False
) -> list[Ints]:
    """Return the numbers of the classes of encoded rows X (n, d); see :meth:`RowModel.predict_set`.

    Where rows have few different values, many share one probability. The fits of the folds differ a little in it, so a
    limit by their errors alone may leave all of these rows out: the limit is at least that by the model's own.
    With ``by_class`` each class has a limit by its own rows; one without rows is in every set.
    """
    if model.classes is None:
        raise InputError("rows", "be of a table with classes", "a regression", "of numbers predict intervals")
    held = held_rows(model)
    chances = probabilities(model._outputs(X))
    own = np.arange(len(held.truth)), held.truth.astype(np.int64)
    errors = np.stack([1 - held.predictions[own], 1 - held.fitted[own]])
    limits = np.ones(chances.shape)
    for k in range(chances.shape[1]) if by_class else [slice(None)]:
        rows = own[1] == k if by_class else np.ones(len(own[1]), bool)
        if rows.any():
            groups = {name: codes[rows] for name, codes in held.groups.items()}
            part = replace(held, weight=held.weight[rows], groups=groups)
            limits.T[k] = np.max([_quantiles(model, part, each[rows], X, coverage, by) for each in errors], axis=0)
    is_likely = (1 - chances <= limits) | (chances == chances.max(axis=1, keepdims=True))
    return [np.flatnonzero(row) for row in is_likely]


def _quantiles(
    model: RowFunction, held: HeldRows, errors: Floats, X: Floats, coverage: float, by: str | None
) -> Floats:
    """Return the error (n,) that the coverage allows for encoded rows X (n, d): of all rows, or of those of a group."""
    check_number(coverage, "coverage", above=0, below=1)
    result = np.full(len(X), conformal_quantile(errors, held.weight, coverage))
    if by is None:
        return result
    codes = group_codes(model, X, by)
    for code in np.unique(codes):
        own = held.groups[by] == code
        if own.sum() >= GROUP_ROWS:
            result[codes == code] = conformal_quantile(errors[own], held.weight[own], coverage)
    return result


def conformal_quantile(errors: Floats, weight: Floats, coverage: float) -> float:
    """Return the least bound that errors (n,) and that of one more row stay below with a probability.

    That is the ``ceil((n + 1) coverage)``-th least error; the largest where there are too few.

    Examples
    --------
    >>> conformal_quantile(np.arange(1.0, 10.0), np.ones(9), 0.9)
    9.0
    >>> conformal_quantile(np.arange(1.0, 20.0), np.ones(19), 0.5)
    10.0
    """
    order = np.argsort(errors, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum() * len(errors) / (len(errors) + 1)
    place = int(np.searchsorted(share, coverage * (1 - 1e-12)))
    return float(errors[order[min(place, len(errors) - 1)]])


def _error_sizes(center: Floats, errors: Floats, weight: Floats) -> Any:
    """Return a function of predictions (n,): the usual size of errors there, straight between means of equal parts."""
    count = int(np.clip(len(center) // PART_ROWS, 1, MOST_PARTS))
    parts = np.array_split(np.argsort(center, kind="stable"), count)
    places, means = ([np.average(values[part], weights=weight[part]) for part in parts] for values in (center, errors))
    sizes = np.maximum(means, 0.05 * (float(np.average(errors, weights=weight)) or 1.0))
    return lambda values: np.interp(values, places, sizes)


def _error_growth(ahead: Floats, errors: Floats, weight: Floats) -> Callable[[Floats], Floats]:
    """Return a function of how far ahead rows are (n,): the usual size of errors there.

    Their squares are a constant, as of noise, and parts that grow with the distance, as of a random walk, and with its
    square, as of a slope; none is negative. Short distances count more, as there are more of them that do not overlap.
    """
    unit = float(ahead.max())
    parts = np.array_split(np.argsort(ahead, kind="stable"), min(GROWTH_PARTS, max(len(ahead) // GROUP_ROWS, 1)))
    places, squares = (
        np.array([np.average(values[part], weights=weight[part]) for part in parts]) for values in (ahead, errors**2)
    )
    forms = (places[:, None] / unit) ** np.arange(3)
    least = 1e-3 * squares.mean() or 1.0
    size = np.full(len(places), squares.mean() or 1.0)
    for _ in range(GROWTH_STEPS):
        share = 1 / (size * np.sqrt(places))
        fits = []
        for chosen in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]):
            found = np.linalg.lstsq(forms[:, chosen] * share[:, None], squares * share, rcond=None)[0]
            if (found >= 0).all():
                shares = np.zeros(3)
                shares[chosen] = found
                fits.append(
                    (float(((forms @ shares - squares) * share) @ ((forms @ shares - squares) * share)), shares)
                )
        shares = min(fits, key=lambda fit: fit[0])[1]
        size = np.maximum(forms @ shares, least)
    return lambda distance: np.sqrt(np.maximum((distance[:, None] / unit) ** np.arange(3) @ shares, least))


# Predictions as a table, and what is said of them.


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
