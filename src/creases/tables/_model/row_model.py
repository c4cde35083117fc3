"""What every model of a table does: it predicts and explains rows by their column names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from creases._display import to_html
from creases._text import plural
from creases._typing import Floats, Ints, Task
from creases.errors import InputError
from creases.tables._encoding.encoding import EncodedRows, TableEncoding, Unusual, number_encoding
from creases.tables._stages.families import apply_link

if TYPE_CHECKING:
    import pandas as pd

    from creases.network import Network
    from creases.tables._model.export import Export
    from creases.tables._scores.baselines import Baseline
    from creases.tables._split.split import TableSplit
    from creases.tables._words.card import PointsCard
    from creases.tables._words.changes import Changes
    from creases.tables._words.row_text import RowExplanations
    from creases.tables._words.terms import Terms


# How far rows are from the nearest input with another decision.


def boundary_distances(
    net: Network, X: Floats, *, threshold: float, spread: Floats, budget: float, **where: Any
) -> dict[str, list[Any]]:
    """Return the distances of encoded rows X (n, d), in units of ``spread`` (d,), as columns of a table.

    ``threshold`` is the probability above which a network of two classes decides for the second, ``budget`` the time
    for each row, in seconds; ``where`` has the engine, n_jobs and address of :func:`creases.certify.margins`.
    """
    from creases.certify import margins
    from creases.tables._fit.threshold import shift_decision

    names = ("boundary distance", "boundary distance at least", "distance proved")
    if not len(X):
        return {name: [] for name in names}
    safe = margins(shift_decision(net, threshold), X, weights=1 / spread, budget=budget, **where)
    proved = ["yes" if proved else "no" for proved in safe.proved]
    return dict(zip(names, (safe.distance.tolist(), safe.lower_bound.tolist(), proved), strict=True))


# What is said of predictions: how many, of what, outside of what is known. Imports no reader of files.


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


# Classes and probabilities from the outputs of a model.


def decide(outputs: Floats, threshold: float = 0.5) -> Ints:
    """Return the classes (n,) for the network's outputs (n, n_classes), one logit for each class.

    Of two classes, the second is decided where its probability is above the threshold; of more, the largest output
    decides.
    """
    if outputs.shape[1] == 2 and threshold != 0.5:
        return (outputs[:, 1] - outputs[:, 0] > log_odds(threshold)).astype(np.int64)
    return np.asarray(outputs.argmax(axis=1), np.int64)


def log_odds(probability: float) -> float:
    """Return the logit of a probability."""
    return float(np.log(probability) - np.log1p(-probability))


def probabilities(outputs: Floats) -> Floats:
    """Return the probability (n, n_classes) of each class for the outputs (n, n_classes), one logit for each."""
    powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


# What each column of a table adds to the scores of a model, exactly.

INTERCEPT = "intercept"


def column_parts(model: RowModel, X: Floats) -> dict[str, Floats]:
    """Return the intercept, and what each column, each plane and the units add to the scores of rows X, (n, m) each.

    A sum of curves is divided as it is, a network by integrated gradients from the mean row, which add up exactly too.
    """
    columns = model.schema.columns
    start, by_input = model._input_parts(X)
    inputs = dict(zip(model.schema.features, columns, strict=True))
    parts: dict[str, Floats] = {column: np.zeros_like(start) for column in dict.fromkeys(columns)}
    mixed: dict[str, Floats] = {}
    for name, part in by_input.items():
        if name in inputs:
            parts[inputs[name]] += part
        else:
            mixed[_unused_name(name, [*parts, *mixed])] = part
    return {_unused_name(INTERCEPT, [*parts, *mixed]): start} | parts | mixed


def explain_rows(model: RowModel, X: Floats) -> pd.DataFrame:
    """Return the parts as a table with a row for each of the rows; of several scores each has columns of its own."""
    import pandas as pd

    parts = column_parts(model, X)
    if len(model.schema.score_names) == 1:
        return pd.DataFrame({name: part[:, 0] for name, part in parts.items()})
    keys = [(score, name) for score in model.schema.score_names for name in parts]
    values = [part[:, k] for k in range(len(model.schema.score_names)) for part in parts.values()]
    return pd.DataFrame(np.stack(values, axis=1), columns=pd.MultiIndex.from_tuples(keys))


def _unused_name(name: str, used: list[str]) -> str:
    while name in used:  # a column may have this name
        name += "'"
    return name


#: Shares of its column's range by which a number may exceed it and not count as outside: rounding only.
MARGIN = 1e-9


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowSchema:
    """How rows of a table become the d inputs of a model, and its outputs become predictions."""

    features: tuple[str, ...]  #: names of the d encoded inputs
    classes: tuple[str, ...] | None  #: names of the classes; None for a regression
    targets: tuple[str, ...]  #: names of the columns to predict: one, or of a regression several
    encoding: TableEncoding | None  #: None for a built-in problem, whose columns are the features
    center: Floats  #: (d,) means of the inputs in the rows trained on
    spread: Floats  #: (d,) their standard deviations, 1 where an input is constant
    ranges: Floats  #: (d, 2) least and largest value in the rows trained on
    threshold: float = 0.5  #: probability above which the second of two classes is predicted
    labels: NDArray[Any] | None = None  #: (n_classes,) what is predicted for each class; None: as the encoding says

    @property
    def task(self) -> Task:
        """``"classification"`` or ``"regression"``."""
        return "regression" if self.classes is None else "classification"

    @property
    def target(self) -> str:
        """The name of the column to predict; of several, with commas."""
        return ", ".join(self.targets)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The table's column of each of the d encoded inputs."""
        if self.encoding is None:
            return self.features
        return tuple(feature.column for feature in self.encoding.features)

    @cached_property
    def encoder(self) -> TableEncoding:
        """The encoding of rows; of a built-in problem that of numbers, whose means stand for missing ones."""
        return number_encoding(self.features, self.center) if self.encoding is None else self.encoding

    @property
    def score_names(self) -> tuple[str, ...]:
        """What the m scores are of: the targets, the second of two classes (its log-odds), or each of more classes."""
        if self.classes is None:
            return self.targets
        return self.classes[1:] if len(self.classes) == 2 else self.classes

    @property
    def label_values(self) -> NDArray[Any]:
        """The classes (n_classes,) as the table has them: strings, integers, numbers or booleans."""
        if self.labels is not None:
            return self.labels
        return np.asarray(self.classes) if self.encoding is None else self.encoding.label_values

    def encode(self, rows: Any, *, header: bool | None = None) -> EncodedRows:
        """Return rows as a network takes them, (n, d), and what is unusual about them."""
        return self.encoder.transform(rows, header=header)

    def decide(self, outputs: Floats) -> NDArray[Any]:
        """Return the classes (n,), of the type that the table has, or the values of a model's outputs (n, k)."""
        if self.classes is None:
            return np.asarray(outputs[:, 0] if len(self.targets) == 1 else outputs)
        return np.asarray(self.label_values[decide(outputs, self.threshold)])

    def outside(self, X: Floats) -> list[tuple[str, ...]]:
        """Return, for each encoded row of X (n, d), the inputs that are outside the range of the training rows.

        A row with none is inside. A category that the table did not have is 0 in all its columns or among the other
        values, so it is not detected here; ``encode`` reports it.
        """
        low, high = self.ranges.T
        slack = MARGIN * (high - low)
        beyond = (low - slack > X) | (high + slack < X)
        result: list[tuple[str, ...]] = [()] * len(X)
        for i in np.flatnonzero(beyond.any(axis=1)):
            result[i] = tuple(self.features[j] for j in np.flatnonzero(beyond[i]))
        return result

    def __repr__(self) -> str:
        inputs = plural(len(self.features), "input")
        return f"<RowSchema of {self.target or 'classes'}: {inputs} of {plural(len(set(self.columns)), 'column')}>"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowModel(ABC):
    """A function of the rows of a table, with the names, classes and units of its columns.

    What :class:`TableModel` (curves, planes and units) and :class:`GrownModel` (a network) share; predictions,
    explanations, reports and files need no more than this.
    """

    _title: ClassVar[str]  #: what it is called beside other models

    schema: RowSchema  #: names, ranges and units of inputs and targets
    data: TableSplit | None = None  #: the rows, split into those trained on and those to test with; None if loaded
    _facts: Mapping[str, Any] = field(
        default_factory=dict
    )  #: of a model that was loaded: scores, effects, its folder; of a table larger than memory: its rows; notes

    # -- what differs -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def network(self) -> Network:
        """The function as a network of encoded rows; with classes, it has a logit for each."""

    @abstractmethod
    def _outputs(self, X: Floats) -> Floats:
        """Return what the network puts out for encoded rows X (n, d): a logit for each class, or the targets."""

    @property
    def _largest(self) -> float | None:
        """With a logarithmic link, whose network puts out logarithms of targets, the largest prediction; else None."""
        return None

    def _read_network(self, outputs: Floats) -> Floats:
        """Return what ``_outputs`` are of the network's own (n, k)."""
        return outputs if self._largest is None else apply_link(outputs, "log", self._largest)

    @abstractmethod
    def _input_parts(self, X: Floats) -> tuple[Floats, dict[str, Floats]]:
        """Return the scores (n, m) that rows X (n, d) start from, and what each input or group of inputs adds."""

    @abstractmethod
    def _layers(self) -> list[tuple[Floats, Floats]]:
        """Return weights and biases of the network's layers, with a ReLU between them."""

    @abstractmethod
    def _describe(self) -> dict[str, Any]:
        """Return what the folder of the model says besides its columns, as plain data for JSON."""

    @abstractmethod
    def _write_files(self, folder: Path) -> None:
        """Write what the folder of the model holds besides its description."""

    @abstractmethod
    def card(self, *, integer: bool = False) -> PointsCard:
        """Return the whole model on a card."""

    @abstractmethod
    def _terms(self) -> Terms:
        """Return what the columns add, with their names and units, for words."""

    def _place(self, X: Floats) -> dict[str, Any]:
        """Return where rows X (n, d) are, as further columns of their predictions."""
        return {}

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the classes; None for a regression."""
        return self.schema.classes

    @property
    def _n_rows(self) -> dict[str, int]:
        """The numbers of rows to ``train`` on and to ``test`` with; of a table larger than memory, of all its rows."""
        if "rows" in self._facts:
            return dict(self._facts["rows"])
        return {"train": len(self._rows.train), "test": len(self._rows.test)}

    @property
    def _scored(self) -> RowModel:
        """The model that the scores are of: this one, or the one before it was fitted again to all rows."""
        model: RowModel = self._facts.get("scored", self)
        return model

    @property
    def _rows(self) -> TableSplit:
        if self.data is None:
            raise InputError("model", "have the rows that it was fitted to", "a loaded one", "fit it in this program")
        return self.data

    @property
    def _form(self) -> str:
        """What the model is called beside others."""
        return self._title

    # -- predictions --------------------------------------------------------------------------------------------------

    def encode(self, rows: Any, *, header: bool | None = None) -> EncodedRows:
        """Return rows as the network takes them, (n, d), and what is unusual about them.

        ``header`` says whether the first row of a CSV file has names, as in :func:`creases.tables.read_table`.
        """
        return self.schema.encode(rows, header=header)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the class (n,) of each row, of the type that the table has, or the values (n,), (n, m) of several.

        Cells that cannot be read count as missing; a :class:`creases.errors.ColumnWarning` names them.
        """
        return self.schema.decide(self._outputs(self.encode(rows).warn()))

    def _classes_of(self, X: Floats) -> Ints:
        """Return the numbers (n,) of the predicted classes of encoded rows X (n, d)."""
        return decide(self._outputs(X), self.schema.threshold)

    def predict_proba(self, rows: Any) -> Floats:
        """Return the probability (n, n_classes) of each class, in the order of ``classes``."""
        if self.classes is None:
            raise InputError("rows", "be of a table with classes", "a regression", "predict returns values")
        return probabilities(self._outputs(self.encode(rows).warn()))

    def predict_interval(self, rows: Any, coverage: float = 0.9, *, by: str | None = None) -> Floats:
        """Return intervals (n, 2) that hold the values of new rows with a coverage, such as nine of ten.

        They are as wide as the errors on rows that the fits of the folds have not seen ask for, wider where predictions
        of such a size are less exact. ``by`` names a column of categories or of yes and no: the coverage then holds
        within each of its values that has rows enough.
        """
        from creases.tables._model.intervals import check_coverage, predict_intervals

        return predict_intervals(self, self.encode(rows).warn(), check_coverage(coverage), by)

    def predict_set(self, rows: Any, coverage: float = 0.9, *, by: str | None = None) -> list[tuple[Any, ...]]:
        """Return for each row the classes among which its own is with a coverage, such as nine of ten.

        A set is the smaller the surer the model is; it is empty where a row is less typical of every class than rows
        of the table were of theirs. ``by`` is as for :meth:`predict_interval`.
        """
        from creases.tables._model.intervals import check_coverage, predict_sets

        sets = predict_sets(self, self.encode(rows).warn(), check_coverage(coverage), by)
        return [tuple(self.schema.label_values[numbers].tolist()) for numbers in sets]

    def explain(self, rows: Any) -> RowExplanations:
        """Return why rows get their predictions: what each column adds, in words and as a table.

        Print it, or take ``explain(rows)[0]`` for one row and ``explain(rows).parts`` for the table, each row of which
        sums to the scores. Its columns are the ``intercept``, each column of the table, each plane by its two columns,
        and ``units``. The score is the predicted value, with a logarithmic link its logarithm, or of two classes the
        log-odds of the second; with more
        classes, or several targets, each has such columns of its own. In a grown network the parts are integrated
        gradients from the mean row.
        """
        from creases.tables._words.row_text import RowExplanations

        return RowExplanations(self, self.encode(rows).warn())

    def changes(
        self,
        rows: Any,
        *,
        to: str | None = None,
        fixed: Collection[str] = (),
        count: int = 1,
        budget: float = 5.0,
    ) -> Changes:
        """Return the smallest changes of rows after which they are predicted otherwise, with what is proved; print it.

        The changed rows could occur: a category has one value, the parts of a date are those of one day, what is
        missing remains missing, numbers have no more decimals than in the table and are within its range.

        Parameters
        ----------
        rows
            Rows of the table; ``changes(rows)[0]`` has the answers for the first.
        to
            The class to reach, or of a regression a bound such as ``">= 30"``; by default any other class.
        fixed
            Names of columns that cannot change.
        count
            Number of answers: each further one leaves out the column that the one before changed most.
        budget
            Seconds for each answer.
        """
        from creases.tables._words.changes import Changes, find_changes

        X = self.encode(rows).X
        return Changes(tuple(find_changes(self, x, to=to, fixed=fixed, count=count, budget=budget) for x in X))

    @cached_property
    def importance(self) -> Mapping[str, float]:
        """The mean absolute part of each column, each plane and the units over the rows trained on, largest first."""
        return {name: size for name, (size, _, _) in self._effects.items()}

    @cached_property
    def _effects(self) -> Mapping[str, list[float]]:
        """Size, least and largest effect of each part on the scores of the rows trained on, the largest first."""
        from creases.tables._words.terms import TermEffects

        if "effects" in self._facts:
            return dict(self._facts["effects"])
        assert self._rows is not None  # or it refuses
        terms = self._terms()
        return TermEffects.from_model(self, terms).to_dict(terms)

    @cached_property
    def _baselines(self) -> list[Baseline]:
        """The model, a linear one, boosted trees and a constant with their scores on each part of the rows."""
        from creases.tables._folder.folder import RunFile
        from creases.tables._scores.baselines import baselines
        from creases.tables._scores.stored import load_baselines

        if self._scored is not self:
            return self._scored._baselines
        folder = self._facts.get("folder")
        stored = None if folder is None else load_baselines(folder / RunFile.BASELINES, self._rows)
        return stored or baselines(self._outputs, self._rows, threshold=self.schema.threshold, name=self._form)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Accuracy, or R², of the model and of simpler ones on each part of the rows."""
        import pandas as pd

        if "scores" in self._facts:
            return pd.DataFrame.from_dict(self._facts["scores"], orient="index")
        return pd.DataFrame.from_dict({each.name: each.by_part for each in self._baselines}, orient="index")

    # -- rows as tables -----------------------------------------------------------------------------------------------

    def frame(
        self, rows: Any, *, budget: float = 0.0, coverage: float | None = None, by: str | None = None
    ) -> pd.DataFrame:
        """Return the predictions for rows as a table: what ``creases predict`` writes.

        Its columns are the prediction; the probability of each class; of a grown network ``region`` and ``rows in
        region``, how many rows trained on are in the same region; ``outside`` and ``outside in``: whether some input is
        outside the range of the training rows, and which. With a ``budget``, also the distance to the
        nearest input with a different decision, in standard deviations, and whether it is proved.

        Parameters
        ----------
        rows
            Rows.
        budget
            Seconds for the distance of one row; 0 computes none.
        coverage
            Adds the interval of :meth:`predict_interval`, or the classes of :meth:`predict_set`, with this coverage.
        by
            Column whose values have a coverage of their own.
        """
        return self._encoded_frame(self.encode(rows).X, budget=budget, coverage=coverage, by=by)

    def _encoded_frame(
        self, X: Floats, *, budget: float = 0.0, coverage: float | None = None, by: str | None = None, **where: Any
    ) -> pd.DataFrame:
        """Return the table of :meth:`frame` for encoded rows X (n, d); ``where`` distances are searched."""
        import pandas as pd

        outputs = self._outputs(X)
        if self.classes is None:
            columns: dict[str, Any] = {f"predicted {name}": outputs[:, k] for k, name in enumerate(self.schema.targets)}
        else:
            columns = {f"predicted {self.schema.target or 'class'}": self.schema.decide(outputs)}
            chances = probabilities(outputs)
            columns |= {f"probability {name}": chances[:, k] for k, name in enumerate(self.classes)}
        columns |= self._bound(X, coverage, by) | self._place(X)
        outside = self.schema.outside(X)
        columns["outside"] = ["yes" if beyond else "no" for beyond in outside]
        columns["outside in"] = [", ".join(beyond) for beyond in outside]
        if budget > 0 and self.classes is not None:
            threshold, spread = self.schema.threshold, self.schema.spread
            columns |= boundary_distances(self.network, X, threshold=threshold, spread=spread, budget=budget, **where)
        return pd.DataFrame(columns)

    def _bound(self, X: Floats, coverage: float | None, by: str | None) -> dict[str, Any]:
        """Return intervals or sets of encoded rows X (n, d) as columns of a table."""
        from creases.tables._model.intervals import check_coverage, predict_intervals, predict_sets

        if coverage is None:
            if by is not None:
                raise InputError("by", "come with a coverage", repr(by), "add {0}", [("coverage", 0.9)])
            return {}
        share = f"{100 * check_coverage(coverage):g} %"
        if self.classes is None:
            low, high = predict_intervals(self, X, coverage, by).T
            return {f"least {self.schema.target} at {share}": low, f"largest {self.schema.target} at {share}": high}
        sets = predict_sets(self, X, coverage, by)
        return {f"classes at {share}": ["; ".join(str(self.classes[k]) for k in numbers) for numbers in sets]}

    def _summarize(self, frame: pd.DataFrame) -> dict[str, Any]:
        """Return how many rows a table of :meth:`frame` has, how many ``outside``, and what was ``predicted``."""
        return PredictionSummary.from_frame(frame, self.classes is not None).to_dict()

    def write_predictions(self, data: Any, out: str | Path, **options: Any) -> dict[str, Any]:
        """Write the table of :meth:`frame` for files of any size to a CSV or Parquet file, in constant memory.

        ``data`` is a file, a pattern such as ``"part-*.parquet"``, a folder, a pyarrow dataset or a stream of rows, as
        a relation of DuckDB is (see :func:`creases.fit_table`). The order of rows is kept; a column ``row`` numbers
        them. ``options`` are ``n_jobs``, ``engine`` and ``address`` as for :func:`creases.fit_table`, ``header`` of CSV
        files, and ``budget`` as for :meth:`frame`. Returned is a summary:
        ``rows``, ``outside``, what was ``predicted``, and ``notes`` on unusual cells.
        """
        from creases.tables._streaming.predict import write_predictions

        return write_predictions(self, data, Path(out), **options)

    # -- files and pictures --------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write the model into a folder, from which :func:`creases.load` loads it, without its rows."""
        from creases.tables._folder.folder import save_model

        return save_model(self, Path(folder))

    def export(self, path: str | Path, *, table: str = "rows") -> Export:
        """Write the model as a file that predicts without creases, and compare the two; print what it returns.

        By the suffix of its name the file is one SELECT of SQL (``.sql``) from ``table``, a Python module without
        imports but ``math`` (``.py``) with ``predict(row)``, an Excel sheet that calculates (``.xlsx``), or ONNX in
        float64 (``.onnx``). All take the columns of the table: numbers, in the unit of their column; words as text;
        dates as text such as ``2021-03-05 14:30:00``; nothing, or in ONNX NaN and "", where a value is missing.
        ONNX has an input (batch, 1) for each column, or one input ``X`` for a model of an array, and the outputs
        ``prediction``, or ``label``, ``probabilities`` and ``logits``.
        """
        from creases.tables._model.export import export_model

        return export_model(self, Path(path), table=table)

    def _without_rows(self) -> Self:
        """Return the same model without the rows that it was fitted to; it keeps its importance."""
        return replace(self, data=None, _facts={**self._facts, "effects": self._effects})

    def __repr__(self) -> str:
        schema, encoding = self.schema, self.schema.encoding
        kind = "regression" if schema.classes is None else f"{len(schema.classes)} classes"
        columns = () if encoding is None else [each for each in encoding.inputs if each.kind.is_reading]
        read = f" ({', '.join(f'{each.name}: {each.kind.kind}' for each in columns)})" if columns else ""
        notes = f"; left out: {encoding.ignored}" if encoding is not None and encoding.ignored else ""
        name, inputs = type(self).__name__, plural(len(schema.features), "input")
        return f"<{name} of {schema.target or 'classes'}: {inputs}{read}, {kind}{notes}>"

    def __str__(self) -> str:
        from creases.tables._words.model_text import describe_model

        return "\n".join(describe_model(self))

    def _repr_html_(self) -> str:
        return to_html(self)
