"""The model of a table: it predicts and explains rows by their column names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._display import to_html
from creases._text import plural
from creases._typing import Floats, Ints, Task
from creases.errors import InputError
from creases.tables._encoding.encoding import EncodedRows, TableEncoding, number_encoding
from creases.tables._model.column_parts import explain_rows, mean_sizes
from creases.tables._model.decision import decide, probabilities
from creases.tables._model.distances import boundary_distances
from creases.tables._model.predictions import PredictionSummary
from creases.tables._stages.model import CurveModel

if TYPE_CHECKING:
    import pandas as pd

    from creases.growth import History
    from creases.network import Network
    from creases.problems import Problem
    from creases.tables._folder.saved_run import SavedRun
    from creases.tables._model.edit import Edit, Moves
    from creases.tables._scores.baselines import Baseline
    from creases.tables._split.split import TableSplit
    from creases.tables._stages.parts import Curve, Plane, Step, Units

#: Shares of its column's range by which a number may exceed it and not count as outside: rounding only.
MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class TableModel:
    """A model of a table: what :func:`creases.fit_table` fits and :func:`creases.load` loads.

    It predicts and explains rows of the table's columns: a file, a DataFrame, a mapping or a list of mappings from
    column names to cells, or an array in the order of the input columns. They are encoded as the table was: see
    :class:`creases.tables.TableEncoding`.
    """

    function: CurveModel | Network  #: of encoded rows, in the table's own units: a sum of curves, or a grown network
    features: tuple[str, ...]  #: names of the d encoded inputs
    classes: tuple[str, ...] | None  #: names of the classes; None for a regression
    targets: tuple[str, ...]  #: names of the columns to predict: one, or of a regression several
    encoding: TableEncoding | None  #: None for a built-in problem, whose columns are the features
    center: Floats  #: (d,) means of the inputs in the rows trained on
    spread: Floats  #: (d,) their standard deviations, 1 where an input is constant
    ranges: Floats  #: (d, 2) least and largest value in the rows trained on
    threshold: float = 0.5  #: probability above which the second of two classes is predicted
    labels: NDArray[Any] | None = None  #: (n_classes,) what is predicted for each class; None: as the encoding says
    regions: Mapping[str, int] = field(default_factory=dict)  #: of a grown network: rows trained on, by pattern
    same: Mapping[str, str] = field(default_factory=dict)  #: other patterns of these regions
    data: TableSplit | None = None  #: the rows, split into those trained on and those to test with; None if loaded
    run: SavedRun | None = None  #: how a network grew; None for a sum of curves, and if loaded
    facts: Mapping[str, Any] = field(
        default_factory=dict
    )  #: of a model that was loaded: scores, importance, its folder; of a table larger than memory: its rows; notes

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def additive(self) -> CurveModel | None:
        """The sum of curves, planes and units; None for a grown network (``kind="network"``)."""
        return self.function if isinstance(self.function, CurveModel) else None

    @property
    def kind(self) -> str:
        """What it is called beside other models: "curves" or "grown network"."""
        return "grown network" if self.additive is None else "curves"

    @property
    def network(self) -> Network:
        """The same function as a network of encoded rows; with classes, it has a logit for each."""
        return self.function.network if isinstance(self.function, CurveModel) else self.function

    @property
    def curves(self) -> Mapping[str, Curve]:
        """What each encoded input adds to the scores, by its name."""
        return self._sum.curves

    @property
    def planes(self) -> dict[tuple[str, str], Plane]:
        """What pairs of columns add together beyond their curves, by the two names."""
        columns = dict(zip(self.features, self.columns, strict=True))
        return {(columns[plane.features[0][0]], columns[plane.features[1][0]]): plane for plane in self._sum.planes}

    @property
    def units(self) -> Units | None:
        """What hidden units of many columns add; None if there are none."""
        return self._sum.units

    @property
    def steps(self) -> tuple[Step, ...]:
        """What each stage brought on held-out rows."""
        return self._sum.steps

    @property
    def _sum(self) -> CurveModel:
        if self.additive is None:
            raise InputError("kind", 'be "curves" for a model to have curves', '"network"', "use model.network")
        return self.additive

    @property
    def task(self) -> Task:
        """``"classification"`` or ``"regression"``."""
        return "regression" if self.classes is None else "classification"

    @property
    def target(self) -> str:
        """The name of the column to predict; of several, with commas."""
        return ", ".join(self.targets)

    @property
    def problem(self) -> Problem:
        """The table as numbers: its rows, features and classes."""
        return self._rows.problem

    @property
    def history(self) -> History | None:
        """Every epoch and growth step of a grown network; None for others."""
        return None if self.run is None else self.run.history

    @property
    def n_rows(self) -> dict[str, int]:
        """The numbers of rows to ``train`` on and to ``test`` with; of a table larger than memory, of all its rows."""
        if "rows" in self.facts:
            return dict(self.facts["rows"])
        return {"train": len(self._rows.train), "test": len(self._rows.test)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the rows: what became of equal ones in the split, and whether all of them were fitted."""
        return tuple(self.facts.get("notes", ()))

    @property
    def scored(self) -> TableModel:
        """The model that the scores are of: this one, or the one before it was fitted again to all rows."""
        model: TableModel = self.facts.get("scored", self)
        return model

    @property
    def _rows(self) -> TableSplit:
        if self.data is None:
            raise InputError("model", "have the rows that it was fitted to", "a loaded one", "fit it in this program")
        return self.data

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The table's column of each of the d encoded inputs."""
        if self.encoding is None:
            return self.features
        return tuple(feature.column for feature in self.encoding.features)

    @property
    def score_names(self) -> tuple[str, ...]:
        """What the m scores are of: the targets, the second of two classes (its log-odds), or each of more classes."""
        if self.classes is None:
            return self.targets
        return self.classes[1:] if len(self.classes) == 2 else self.classes

    # -- predictions --------------------------------------------------------------------------------------------------

    def encode(self, rows: Any, *, header: bool | None = None) -> EncodedRows:
        """Return rows as the network takes them, (n, d), and what is unusual about them.

        ``header`` says whether the first row of a CSV file has names, as in :func:`creases.tables.read_table`.
        """
        encoding = number_encoding(self.features, self.center) if self.encoding is None else self.encoding
        return encoding.transform(rows, header=header)

    def outputs(self, X: Floats) -> Floats:
        """Return what the network puts out for encoded rows X (n, d): a logit for each class, or the targets."""
        if not isinstance(self.function, CurveModel):
            return np.asarray(self.function(X)) if len(X) else np.zeros((0, self.function.n_out))
        scores = self.function.scores(X)
        return scores * [-0.5, 0.5] if self.classes is not None and len(self.classes) == 2 else scores

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the class (n,) of each row, of the type that the table has, or the values (n,), (n, m) of several."""
        return self._decide(self.outputs(self.encode(rows).X))

    def classes_of(self, X: Floats) -> Ints:
        """Return the numbers (n,) of the predicted classes of encoded rows X (n, d)."""
        return decide(self.outputs(X), self.threshold)

    def predict_proba(self, rows: Any) -> Floats:
        """Return the probability (n, n_classes) of each class, in the order of ``classes``."""
        if self.classes is None:
            raise InputError("rows", "be of a table with classes", "a regression", "predict returns values")
        return probabilities(self.outputs(self.encode(rows).X))

    def explain(self, rows: Any) -> pd.DataFrame:
        """Return what each column adds to the score of each row: a table whose rows sum to the scores.

        Its columns are the ``intercept``, each column of the table, each plane by its two columns, and ``units``. The
        score is the predicted value, or of two classes the log-odds of the second; with more classes, or several
        targets, each has such columns of its own. In a grown network the parts are integrated gradients from the mean
        row.
        """
        return explain_rows(self, self.encode(rows).X)

    @cached_property
    def importance(self) -> Mapping[str, float]:
        """The mean absolute part of each column, each plane and the units over the rows trained on, largest first."""
        if "importance" in self.facts:
            return dict(self.facts["importance"])
        data = self._rows
        used = np.sort(np.concatenate(data.parts[:2]))
        return mean_sizes(self, data.rows.X[used], data.rows.count[used])

    @cached_property
    def baselines(self) -> list[Baseline]:
        """The model, a linear one, boosted trees and a constant with their scores on each part of the rows."""
        from creases.tables._folder.folder import RunFile
        from creases.tables._scores.baselines import baselines
        from creases.tables._scores.stored import load_baselines

        if self.scored is not self:
            return self.scored.baselines
        folder = self.facts.get("folder")
        stored = None if folder is None else load_baselines(folder / RunFile.BASELINES, self._rows)
        return stored or baselines(self.outputs, self._rows, threshold=self.threshold, name=self.kind)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Accuracy, or R², of the model and of simpler ones on each part of the rows."""
        import pandas as pd

        if "scores" in self.facts:
            return pd.DataFrame.from_dict(self.facts["scores"], orient="index")
        return pd.DataFrame.from_dict({each.name: each.by_part for each in self.baselines}, orient="index")

    # -- rows as tables -----------------------------------------------------------------------------------------------

    def regions_of(self, X: Floats) -> tuple[Ints, Ints]:
        """Return the regions (n,) of encoded rows X (n, d), by number, and the training rows in each (n,).

        Regions are numbered from 1 by their number of training rows, the most first; 0 is any region without any.
        Regions with the same function are one.
        """
        number = {pattern: k for k, pattern in enumerate(self.regions, 1)}
        patterns = [pattern.tobytes().hex() for pattern in self.network.pattern(X)] if len(X) else []
        patterns = [self.same.get(pattern, pattern) for pattern in patterns]
        return (
            np.array([number.get(pattern, 0) for pattern in patterns], np.int64),
            np.array([self.regions.get(pattern, 0) for pattern in patterns], np.int64),
        )

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

    def frame(self, rows: Any, *, budget: float = 0.0) -> pd.DataFrame:
        """Return the predictions for rows as a table: what ``creases predict`` writes.

        Its columns are the prediction; the probability of each class; of a grown network ``region`` and ``rows in
        region`` (see :meth:`regions_of`); ``outside`` and ``outside in``: whether some input is outside the range of
        the training rows, and which. With a ``budget``, also the distance to the nearest input with a different
        decision, in standard deviations, and whether it is proved.

        Parameters
        ----------
        rows
            Rows.
        budget
            Seconds for the distance of one row; 0 computes none.
        """
        return self.encoded_frame(self.encode(rows).X, budget=budget)

    def encoded_frame(self, X: Floats, *, budget: float = 0.0, **where: Any) -> pd.DataFrame:
        """Return the table of :meth:`frame` for encoded rows X (n, d); ``where`` distances are searched."""
        import pandas as pd

        outputs = self.outputs(X)
        if self.classes is None:
            columns: dict[str, Any] = {f"predicted {name}": outputs[:, k] for k, name in enumerate(self.targets)}
        else:
            columns = {f"predicted {self.target or 'class'}": self._decide(outputs)}
            chances = probabilities(outputs)
            columns |= {f"probability {name}": chances[:, k] for k, name in enumerate(self.classes)}
        if self.additive is None:
            columns["region"], columns["rows in region"] = self.regions_of(X)
        outside = self.outside(X)
        columns["outside"] = ["yes" if beyond else "no" for beyond in outside]
        columns["outside in"] = [", ".join(beyond) for beyond in outside]
        if budget > 0 and self.classes is not None:
            options: dict[str, Any] = {"threshold": self.threshold, "spread": self.spread, "budget": budget}
            columns |= boundary_distances(self.network, X, **options, **where)
        return pd.DataFrame(columns)

    def summarize(self, frame: pd.DataFrame) -> dict[str, Any]:
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

    def _decide(self, outputs: Floats) -> NDArray[Any]:
        if self.classes is None:
            return np.asarray(outputs[:, 0] if len(self.targets) == 1 else outputs)
        return np.asarray(self.label_values[decide(outputs, self.threshold)])

    @property
    def label_values(self) -> NDArray[Any]:
        """The classes (n_classes,) as the table has them: strings, integers, numbers or booleans."""
        if self.labels is not None:
            return self.labels
        return np.asarray(self.classes) if self.encoding is None else self.encoding.label_values

    # -- files, changes, pictures -------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write the model into a folder, from which :func:`creases.load` loads it, without its rows."""
        from creases.tables._folder.model_saving import save_model

        return save_model(self, Path(folder))

    def to_onnx(self, path: str | Path) -> Path:
        """Write the model as an ONNX file (float64) that takes the table's columns.

        Each column is an input (batch, 1) of its name: numbers, NaN where they are missing; categories and yes/no words
        as text, "" where they are missing; of a date its parts, named as in ``features``. A model of an array takes one
        input ``X``. The outputs are ``prediction``, or ``label``, ``probabilities`` and ``logits``.
        """
        from creases.tables._model.onnx_export import write_onnx

        return write_onnx(self, Path(path))

    def edit(
        self,
        rows: Any = None,
        *,
        move: Moves | None = None,
        remove: Mapping[str, Sequence[float]] | None = None,
        flatten: Sequence[str] = (),
        forbid: Sequence[tuple[str, str]] = (),
    ) -> Edit:
        """Return another model with curves or planes changed by hand, and what the change does.

        Parameters
        ----------
        rows
            Rows to compare the models on; by default all rows of the table.
        move
            By input and knot, where the knot goes: ``{"age": {30: 35}}``, or with the value that the curve has there,
            ``{"age": {30: (35, 0.2)}}``.
        remove
            By input, knots to leave out: ``{"age": [30, 45]}``. A removed first or last knot shortens the curve, which
            is constant beyond it.
        flatten
            Columns or inputs whose curves become 0.
        forbid
            Pairs of columns without a plane: ``[("age", "town")]``.

        Examples
        --------
        >>> import creases
        >>> from creases import problems
        >>> model = creases.fit_table(problems.get("iris"))
        >>> change = model.edit(flatten=["petal width (cm)"])
        >>> bool(change.model.curves["petal width (cm)"].values.any()), len(change.flips) > 0
        (False, True)
        """
        from creases.tables._model.edit import edit_model

        return edit_model(self, rows, move=move or {}, remove=remove or {}, flatten=flatten, forbid=forbid)

    def without_rows(self) -> TableModel:
        """Return the same model without the rows that it was fitted to; it keeps its importance."""
        return replace(self, data=None, run=None, facts={**self.facts, "importance": self.importance})

    def __repr__(self) -> str:
        kind = "regression" if self.classes is None else f"{len(self.classes)} classes"
        columns = () if self.encoding is None else [each for each in self.encoding.inputs if each.kind.is_reading]
        read = f" ({', '.join(f'{each.name}: {each.kind.kind}' for each in columns)})" if columns else ""
        ignored = self.encoding.ignored if self.encoding is not None else ""
        notes = f"; left out: {ignored}" if ignored else ""
        return f"<TableModel of {self.target or 'classes'}: {plural(len(self.features), 'input')}{read}, {kind}{notes}>"

    def _repr_html_(self) -> str:
        return to_html(self)
