"""What all estimators share: rows and targets of any kind, and what is said of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from creases._display import to_html
from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.network import Network
from creases.problems import Problem
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._model.row_model import RowModel
from creases.tables._reading.table import read_inputs
from creases.tables._split.split import TableSplit
from creases.tables._words.changes import RowChanges, find_changes
from creases.tables._words.row_text import RowExplanations

if TYPE_CHECKING:
    from creases.growth import GrowthConfig
    from creases.tables._reading.options import CurveConfig

# Checks of what an estimator is given: rows, targets and weights.


def is_frame(X: Any) -> bool:
    """Return whether rows are a DataFrame."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def check_targets(y: Any, task: str) -> Any:
    """Return targets that come with a DataFrame as an array of one type; missing ones are refused."""
    import pandas as pd

    if task == "regression":
        return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    values = np.asarray(y)
    if (gaps := pd.isna(values)).any():
        got = f"{int(gaps.sum())} missing, the first in row {int(gaps.reshape(len(values), -1).any(axis=1).argmax())}"
        raise InputError("y", "have no missing values", got, "drop those rows before fitting")
    is_one_type = values.dtype == object and len({type(value) for value in values.ravel()}) == 1
    return np.array(values.tolist()) if is_one_type else values


def check_weights(sample_weight: Any, X: Floats) -> Floats:
    """Return the weights (n,) of rows; negative ones, and weights that are all 0, are refused."""
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise InputError("sample_weight", "have at least one positive entry")
    return weight


def make_seed(random_state: Any) -> int:
    """Return the seed of a fit, drawn if the random state is not an integer."""
    is_random = not isinstance(random_state, Integral)
    return int(check_random_state(random_state).randint(2**31 - 1) if is_random else random_state)


class TableEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """A model of rows and their targets, by scikit-learn's conventions."""

    _task: Literal["classification", "regression"]
    _lookups = False  # whether a category of very many values is one number
    kinds: Mapping[str, str] | None
    missing_marks: Sequence[str] | None
    model_: RowModel

    _checks: Mapping[str, Any] = {}  #: options of scikit-learn's checks of y
    _known: Any = None  #: the classes (n_classes,) seen in fit; None for a regression
    _columns = 0  #: of the targets of a regression, if they are a table
    _table: Any = None  #: the DataFrame of a fit, as a problem

    @property
    def _n_outputs(self) -> int:
        """Outputs of the network."""
        return self._columns or 1 if self._known is None else len(self._known)

    @abstractmethod
    def _make_targets(self, y: Any, classes: Any) -> Floats:
        """Return y as numbers (n, m)."""

    # -- results ------------------------------------------------------------------------------------------------------

    @property
    def network_(self) -> Network:
        """The fitted function, scaling included, as a :class:`creases.Network`: its regions, pieces, boundaries."""
        check_is_fitted(self, "model_")
        return self.model_.network

    def explain(self, X: ArrayLike) -> RowExplanations:
        """Return why rows get their predictions: what each column adds, in words and as a table; print it.

        See :meth:`creases.tables.TableModel.explain`.
        """
        check_is_fitted(self, "model_")
        return RowExplanations(self.model_, self._encode(X))

    def counterfactual(
        self,
        row: Any,
        *,
        to: str | None = None,
        fixed: Collection[str] = (),
        count: int = 1,
        budget: float = 5.0,
    ) -> RowChanges:
        """Return the smallest changes of a row after which it is predicted otherwise, with what is proved; print it.

        The row (d,) is of a DataFrame also a Series or a dictionary; the options are those of
        :meth:`creases.tables.TableModel.changes`, and a class is given as text.
        """
        check_is_fitted(self, "model_")
        x = np.asarray(row, np.float64).reshape(-1) if self._encoding is None else self._encoding.transform(row).X[0]
        return find_changes(self.model_, x, to=to, fixed=fixed, count=count, budget=budget)

    def _repr_html_inner(self) -> str:  # by scikit-learn's _repr_html_, unless its display is text
        return to_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    def _outputs(self, X: ArrayLike) -> Floats:
        """Return the outputs (n, m) for rows of the user's data."""
        check_is_fitted(self, "model_")
        return self.model_._outputs(self._encode(X))

    def _options_of(self, config: type[Any]) -> dict[str, Any]:
        """Return the parameters that a configuration, a dataclass, has too; they are checked there."""
        known = {entry.name for entry in fields(config)}
        return {name: value for name, value in self.get_params(deep=False).items() if name in known}

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _model_names(self) -> dict[str, Any]:
        """Return what a :class:`creases.tables.TableModel` is told of the table."""
        m = self._n_outputs
        targets = ("y",) if self._known is not None or m == 1 else tuple(f"y{k}" for k in range(m))
        return {
            "features": tuple(self._names_of_features()),
            "classes": self._known,
            "targets": targets,
            "encoding": self._encoding,
            "labels": None if self._known is None else np.asarray(self.classes_),
        }

    def _read(self, X: Any, y: Any, classes: Any, *, reset: bool, **checks: Any) -> tuple[Floats, Floats]:
        """Return rows (n, d) and targets (n, m) as numbers; ``reset`` fits the encoding of a DataFrame."""
        if not (is_frame(X) if reset else self._encoding is not None):
            for name in ("kinds", "missing_marks") if reset else ():
                if getattr(self, name):
                    raise InputError(name, "be given for a DataFrame only", f"rows of type {type(X).__name__}")
            self._encoding: TableEncoding | None = None
            try:
                rows, y = validate_data(self, X, y, dtype=np.float64, reset=reset, **checks, **self._checks)
                return rows, self._make_targets(y, classes)
            except ValueError as problem:
                advice = ""
                if "NaN" in str(problem) and "Input X" in str(problem):
                    advice = "A DataFrame may have missing values: pass one to fit, or use "
                elif "could not convert string" in str(problem):
                    advice = "Text belongs into a DataFrame: pass one to fit, or use "
                if not advice:
                    raise
                advice += "creases.fit_table(table, target)"
                if "Text" in advice and self._task == "regression":
                    advice += ", and classes to predict need a classifier"
                raise ValueError(f"{problem}\n{advice}.") from None
        validate_data(self, X, reset=reset, skip_check_array=True)
        check_consistent_length(X, y)
        targets = self._make_targets(check_targets(y, self._task), classes)
        if not reset:
            return self._encode(X), targets
        if len(X) < 2:
            raise InputError("X", "have at least 2 rows", f"{len(X)}")
        self._column_names = [str(name) for name in X.columns]
        options: dict[str, Any] = {"kinds": self.kinds, "missing_marks": self.missing_marks, "lookups": self._lookups}
        table = read_inputs(X, "y", **options)
        self._encoding, self._table = self._with_classes(table.encoding), table
        return table.X, targets

    def _with_classes(self, encoding: TableEncoding) -> TableEncoding:
        names = None if self._known is None else tuple(map(str, self._known))
        return replace(encoding, task=self._task, classes=names)

    def _encode(self, X: Any) -> Floats:
        """Return rows of the user's data as numbers (n, d)."""
        if self._encoding is None:
            rows: Floats = validate_data(self, X, dtype=np.float64, reset=False)
            return rows
        validate_data(self, X, reset=False, skip_check_array=True)
        if not is_frame(X):
            import pandas as pd

            X = pd.DataFrame(np.asarray(X), columns=self._column_names)
        return self._encoding.transform(X).warn()

    def _split(
        self,
        X: Floats,
        y: Floats,
        weight: Floats,
        config: CurveConfig | GrowthConfig,
        held: Ints | None = None,
        exposure: Floats | None = None,
        groups: Ints | None = None,
        is_time: bool = False,
    ) -> TableSplit:
        """Return the rows, split; of one target with the names that a report needs."""
        names = self._model_names()
        source = None
        if y.shape[1] == 1 and X.shape[1] == len(names["features"]):
            classes = None if self._known is None else tuple(map(str, self._known))
            target = y[:, 0] if classes is None else y[:, 0].astype(np.int64)
            about: dict[str, Any] = {"target": "y", "encoding": self._encoding, "description": "rows given to fit"}
            source = Problem("X, y", X, target, names["features"], classes, **about)
        split: dict[str, Any] = {"weight": weight, "task": self._task, "n_outputs": self._n_outputs, "config": config}
        split |= {"exposure": exposure, "groups": groups, "is_time": is_time}
        data = TableSplit.from_arrays(X, y, **split, validation=held, classes=self._known, source=source)
        if self._task == "classification" and (data.rows.y == data.rows.y[0]).all():
            raise InputError("sample_weight", "leave rows of at least 2 classes with a positive weight", "one class")
        return data

    def _names_of_features(self) -> list[str]:
        if self._encoding is not None:
            return [feature.name for feature in self._encoding.features]
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(self.n_features_in_)])
        return [str(name) for name in names]


# What estimators predict: classes with probabilities, or values.


class Classes(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """An estimator of classes."""

    _task = "classification"

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class (n,) of each row."""
        outputs = self._outputs(X)
        return self.model_.schema.decide(outputs)

    @property
    def threshold_(self) -> float:
        """For two classes, the probability above which the second is predicted."""
        check_is_fitted(self, "model_")
        return self.model_.schema.threshold

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the logits (n, n_classes) of each row; for two classes the log-odds (n,) of the second."""
        logits = self._outputs(X)
        return np.asarray(logits[:, 1] - logits[:, 0]) if logits.shape[1] == 2 else logits

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return probabilities (n, n_classes)."""
        return np.asarray(softmax(self._outputs(X), axis=1))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Return the logarithms of the probabilities (n, n_classes)."""
        return np.asarray(log_softmax(self._outputs(X), axis=1))

    def _make_targets(self, y: Any, classes: Any) -> Floats:
        labels = np.asarray(y).ravel()
        kinds = {isinstance(label, str): label for label in labels} if labels.dtype == object else {}
        if len(kinds) > 1:
            raise InputError(
                "y", "have labels that are all text or all numbers", f"{kinds[True]!r} and {kinds[False]!r}"
            )
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        self.classes_ = self._known = np.unique(y if classes is None else classes)
        if len(self.classes_) < 2:
            raise InputError("y", "have at least 2 classes", f"one class, {self.classes_[0]!r}")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise InputError("y", f"have classes among {self.classes_}", f"{unknown}")
        return np.asarray(np.searchsorted(self.classes_, y)[:, None], np.float64)


class Values(RegressorMixin, TableEstimator):  # type: ignore[misc]
    """An estimator of one value or more."""

    _task = "regression"
    _checks: Mapping[str, Any] = {"multi_output": True, "y_numeric": True}

    def predict(self, X: ArrayLike) -> Floats:
        """Return targets (n,), or (n, m) if there were several in fitting."""
        outputs = self._outputs(X)
        return outputs if self._columns else outputs[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _make_targets(self, y: Any, classes: Any) -> Floats:
        self._columns = y.shape[1] if y.ndim > 1 else 0
        return np.asarray(y, np.float64).reshape(len(y), -1)
