"""What every model of a table does: it predicts and explains rows by their column names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from numpy.typing import NDArray

from creases._display import Described, describe
from creases._document import Document
from creases._files import write_json
from creases._text import plural
from creases._typing import Floats
from creases.errors import InputError
from creases.tables._encoding.encoding import EncodedRows
from creases.tables._folder.folder import RunFile
from creases.tables._folder.records import write_record
from creases.tables._model.schema import RowFunction
from creases.tables._stages.families import probabilities

if TYPE_CHECKING:
    import pandas as pd

    from creases.tables._model.export import Export
    from creases.tables._scores.baselines import Baseline
    from creases.tables._split.split import TableSplit
    from creases.tables._words.card import PointsCard
    from creases.tables._words.changes import Changes
    from creases.tables._words.row_text import RowExplanations


#: Of the description of a model in its folder.
VERSION = 1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowModel(Described, RowFunction):
    """A function of the rows of a table, with the names, classes and units of its columns.

    What :class:`TableModel` (curves, planes and units) and :class:`GrownModel` (a network) share; predictions,
    explanations, reports and files need no more than this.
    """

    _title: ClassVar[str]  #: what it is called beside other models

    @abstractmethod
    def _describe(self) -> dict[str, Any]:
        """Return what the folder of the model says besides its columns, as plain data for JSON."""

    @abstractmethod
    def _write_files(self, folder: Path) -> None:
        """Write what the folder of the model holds besides its description."""

    @abstractmethod
    def card(self, *, integer: bool = False) -> PointsCard:
        """Return the whole model on a card."""

    # -- what it is ---------------------------------------------------------------------------------------------------

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
        from creases.tables._model.predictions import predict_intervals

        return predict_intervals(self, self.encode(rows).warn(), coverage, by)

    def predict_set(
        self, rows: Any, coverage: float = 0.9, *, by: str | None = None, by_class: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return for each row the classes among which its own is with a coverage, such as nine of ten.

        A set is the smaller the surer the model is, and has the most likely class always. With ``by_class`` the rows of
        each class are held with the coverage, rare ones too, and not only all rows together. ``by`` is as for
        :meth:`predict_interval`.
        """
        from creases.tables._model.predictions import predict_sets

        sets = predict_sets(self, self.encode(rows).warn(), coverage, by, by_class=by_class)
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
        """The mean absolute part of each column, each plane and the units over the rows trained on, largest first.

        Parts add up to predictions; :func:`creases.tables.importance` takes the coefficients of any network instead.
        """
        return {name: size for name, (size, _, _) in self._effects.items()}

    @cached_property
    def _effects(self) -> Mapping[str, tuple[float, float, float]]:
        """Size, least and largest effect of each part on the scores of the rows trained on, the largest first."""
        from creases.tables._words.rows import TermEffects

        if self._facts.effects is not None:
            return self._facts.effects
        assert self._rows is not None  # or it refuses
        terms = self._terms()
        return TermEffects.from_model(self, terms).to_dict(terms)

    @cached_property
    def _baselines(self) -> list[Baseline]:
        """The model, a linear one, boosted trees and a constant with their scores on each part of the rows."""
        from creases.tables._scores.baselines import baselines, load_baselines

        stored = None if self._folder is None else load_baselines(self._folder / RunFile.BASELINES, self._rows)
        return stored or baselines(self._outputs, self._rows, threshold=self.schema.threshold, name=self._form)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Accuracy, or R², of the model and of simpler ones on each part of the rows."""
        import pandas as pd

        scores: Any = self._facts.scores or {each.name: each.by_part for each in model_baselines(self)}
        return pd.DataFrame.from_dict(scores, orient="index")

    # -- rows as tables -----------------------------------------------------------------------------------------------

    def frame(
        self, rows: Any, *, budget: float = 0.0, coverage: float | None = None, by: str | None = None, **where: Any
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
        where
            ``n_jobs``, ``engine`` and ``address`` of :func:`creases.certify.margins`, which searches the distances.
        """
        from creases.tables._model.predictions import predict_frame

        return predict_frame(self, self.encode(rows).X, budget=budget, coverage=coverage, by=by, **where)

    def write_predictions(self, data: Any, out: str | Path, **options: Any) -> dict[str, Any]:
        """Write the table of :meth:`frame` for files of any size to a CSV or Parquet file, in constant memory.

        ``data`` is a file, a pattern such as ``"part-*.parquet"``, a folder, a pyarrow dataset or a stream of rows, as
        a relation of DuckDB is (see :func:`creases.fit_table`). The order of rows is kept; a column ``row`` numbers
        them. ``options`` are ``n_jobs``, ``engine`` and ``address`` as for :func:`creases.fit_table`, ``header`` of CSV
        files, and ``budget`` as for :meth:`frame`. Returned is a summary:
        ``rows``, ``outside``, what was ``predicted``, and ``notes`` on unusual cells.
        """
        from creases.tables._streaming.predict import write_predictions

        return write_predictions(self if self.data is None else self._without_rows(), data, Path(out), **options)

    # -- files and pictures --------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write the model into a folder, from which :func:`creases.load` loads it, without its rows."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._write_files(folder)
        if self.schema.encoding is not None:
            write_json(self.schema.encoding.to_dict(), folder / RunFile.ENCODING)
        write_json(model_to_dict(self), folder / RunFile.DESCRIPTION)
        return folder

    def export(self, path: str | Path, *, table: str = "rows") -> Export:
        """Write the model as a file that predicts without creases, if it predicts the same; print what it returns.

        By the suffix of its name the file is one SELECT of SQL (``.sql``) from ``table`` for SQLite, PostgreSQL and
        DuckDB, a Python module without imports but ``math`` (``.py``) with ``predict(row)``, an Excel sheet that
        calculates (``.xlsx``), or ONNX in float64 (``.onnx``).

        All read the cells of the table as :meth:`predict` does: texts with white space around them, in the case that
        counts, missing marks, unknown values. Numbers are numbers, in the unit of their column; dates and times of day
        are ISO 8601 (``2021-03-05 14:30:00``, ``08:30``). The file says so for each column. A cell that is something
        else, such as ``1.234,50 €``, has no prediction: ValueError in Python, NULL, #N/A, NaN.

        ONNX has an input ``column0``, ``column1``, ... (batch, 1) for each column, whose names are metadata, or one
        input ``X`` for a model of an array; NaN and "" are missing. Its outputs are ``prediction``, or ``label`` and
        ``probabilities``.

        The file is run in a process of its own on rows of the table, at every knot, and on cells that are padded,
        missing, unknown or no numbers, and is not written if rounding cannot explain a difference.
        """
        from creases.tables._model.export import export_model

        return export_model(self, Path(path), table=table)

    def _without_rows(self) -> Self:
        """Return the same model without the rows that it was fitted to; it keeps its importance."""
        return replace(self, data=None, _facts=replace(self._facts, effects=self._effects))

    def __repr__(self) -> str:
        schema, encoding = self.schema, self.schema.encoder
        kind = "regression" if schema.classes is None else f"{len(schema.classes)} classes"
        columns = [each for each in encoding.inputs if each.kind.codec.is_reading]
        read = f" ({', '.join(f'{each.name}: {each.kind.kind}' for each in columns)})" if columns else ""
        notes = f"; left out: {encoding.ignored}" if encoding.ignored else ""
        name, inputs = type(self).__name__, plural(len(schema.features), "input")
        return f"<{name} of {schema.target or 'classes'}: {inputs}{read}, {kind}{notes}>"

    def __str__(self) -> str:
        from creases.tables._words.model_text import describe_model

        return "\n".join(describe_model(self))

    def describe(self) -> Document:
        """Return what is said of the model: its scores beside others, the model in words, how it came about."""
        return describe(self)


def model_to_dict(model: RowModel) -> dict[str, Any]:
    """Return all of a model but its encoding and the weights of a grown network, as plain data for JSON."""
    schema = model.schema
    classes = None if schema.classes is None else list(schema.classes)
    description: dict[str, Any] = {
        "creases-model": VERSION,
        "data": model.data.source.name if model.data is not None and model.data.source is not None else "",
        "task": schema.task,
        "target": schema.targets[0] if len(schema.targets) == 1 else list(schema.targets),
        "inputs": list(schema.features),
        "classes": classes,
        "labels": None if schema.labels is None else schema.labels.tolist(),
        "outputs": "the target" if classes is None else "one for each class; the largest decides",
        "threshold": None if classes is None else schema.threshold,
        "trained_with": {"center": schema.center.tolist(), "spread": schema.spread.tolist()},
        "measure": "r2" if classes is None else "accuracy",
        "ranges": schema.ranges.tolist(),
    }
    facts = replace(model._facts, effects=None)
    if _has_table(model):
        facts = replace(facts, scores={each.name: each.by_part for each in model_baselines(model)})
    return description | write_record(facts) | model._describe()


# What the scores of a model are of, on which rows, and what to try where another model scores better.


def scored_model(model: RowModel) -> RowModel:
    """Return the model that the scores are of: this one, or the one before it was fitted again to all rows."""
    return model if model._scored is None else cast("RowModel", model._scored)


def model_baselines(model: RowModel) -> list[Baseline]:
    """Return the model, a linear one, boosted trees and a constant with their scores on each part of the rows."""
    return scored_model(model)._baselines


def has_scores(model: RowModel) -> bool:
    """Return whether a model has the rows of its table to be scored on, or was stored with its scores."""
    return model._facts.scores is not None or _has_table(model)


def _has_table(model: RowModel) -> bool:
    return model.data is not None and model.data.source is not None


def ways_to_improve(model: RowModel) -> list[str]:
    """Return what to try where another model is better, the most promising first."""
    family = model._facts.family
    set_family = f"--family auto (in Python family='auto'), as {family} was set and not chosen by held-out rows"
    ways = [set_family] if family != "auto" else []
    return [*ways, "more rows", "creases grow, which grows units of many columns"]


def count_rows(model: RowModel) -> dict[str, int]:
    """Return the numbers of rows to ``train`` on and to ``test`` with; of a table larger than memory, of all rows."""
    if model._facts.rows is not None:
        return dict(model._facts.rows)
    return {"train": len(model._rows.train), "test": len(model._rows.test)}
