"""Estimators of the model of a table: curves, planes and units that a person can read completely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from creases._options import documents
from creases._typing import Floats
from creases._validation import check_vector
from creases.errors import InputError
from creases.tables._estimators.base import Classes, TableEstimator, Values, check_weights, make_seed
from creases.tables._fit.doubtful_columns import settle_columns
from creases.tables._fit.fit_table import fit_curve_model, warn_of_columns
from creases.tables._model.table_model import TableModel
from creases.tables._reading.columns import Column, from_values
from creases.tables._reading.options import CurveConfig, ReadOptions
from creases.tables._reading.table import number_groups
from creases.tables._words.model_text import describe_model, describe_stages


@dataclass(kw_only=True, eq=False, repr=False)
class CurveOptions:
    """The parameters that the classifier and the regressor share, with the defaults of a fit."""

    shapes: Mapping[str, str] | None = None
    kinds: Mapping[str, str] | None = None
    missing_marks: Sequence[str] | None = None
    random_state: Any = None


class CurveEstimator(CurveOptions, TableEstimator):
    """The fit and the summary that the classifier and the regressor share."""

    model_: TableModel
    _lookups = True

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Fit a new model.

        Parameters
        ----------
        X
            (n, d) rows of numbers; or a DataFrame, whose categories, dates and missing values are encoded as in
            :func:`creases.tables.read_table`, so that the model is that of :func:`creases.fit_table`.
        y
            (n,) classes, or (n,) or (n, m) targets.
        sample_weight
            (n,) non-negative weights of the rows. A row of weight 2 is the same as one that occurs twice.
        groups
            (n,) whose row each is, such as a customer's: folds keep the rows of one together.
        time
            (n,) dates or numbers: each fold is a stretch of time.
        """
        return self._fit(X, y, sample_weight, None, groups, time)

    def _fit(self, X: Any, y: Any, sample_weight: Any, exposure: Any, groups: Any, time: Any) -> Self:
        options = self._options_of(CurveConfig) | {"shapes": self.shapes or {}, "test_fraction": 0.0}
        config = CurveConfig(**options, seed=make_seed(self.random_state))
        rows, targets = self._read(X, y, None, reset=True, ensure_min_samples=2)
        weight = check_weights(sample_weight, rows)
        size: Floats | None = None
        if exposure is not None:
            size = check_vector(exposure, "exposure", len(rows))
            if size.min() <= 0:
                raise InputError("exposure", "be above 0", f"{size.min():g}")
            targets = targets / size[:, None]
        more: dict[str, Any] = {"exposure": size, "is_time": time is not None}
        if groups is not None or time is not None:
            together, order = (_row_column(*each, len(rows)) for each in ((groups, "groups"), (time, "time")))
            more["groups"] = number_groups(together, order)
        if self._encoding is not None:
            table = settle_columns(self._table, config, lambda X: self._split(X, targets, weight, config, **more))
            rows, self._encoding, self._table = table.X, self._with_classes(table.encoding), None
            warn_of_columns(self._encoding)
        self.model_ = fit_curve_model(self._split(rows, targets, weight, config, **more), config, **self._model_names())
        return self

    def summary(self) -> str:
        """Return the model in words: what each column adds, and what each stage of the fit brought."""
        lines = describe_model(self.model_)
        return "\n".join([*lines, "", *describe_stages(self.model_.function)])


def _row_column(values: Any, name: str, n: int) -> Column | None:
    """Return values (n,) of the rows as a column."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(name, f"have shape ({n},)", f"{array.shape}")
    return from_values(name, array)


@documents(CurveConfig, ReadOptions)
@dataclass(kw_only=True, eq=False, repr=False)
class TableClassifier(Classes, CurveEstimator):
    """A classifier of rows that a person can read completely: the model of :func:`creases.fit_table`.

    It grows in stages: straight lines, then curves of columns, planes of pairs, units of many, each where folds of the
    rows favor it. ``summary()`` says it in words, ``explain(X)`` explains rows, ``counterfactual(row)`` says what
    would change a prediction, and ``creases.report(classifier)`` shows it all.

    Parameters
    ----------
    {options}
    random_state
        Seed of the folds.

    Attributes
    ----------
    classes_ : (n_classes,)
    n_features_in_, feature_names_in_
        Number and names of the input columns seen in ``fit``.
    model_ : creases.tables.TableModel
        The model: ``curves``, ``planes``, ``units``, ``steps``, ``edit``, ``save``.
    network_ : creases.Network
        The same as the exact piecewise-linear function it is.
    threshold_ : float
        For two classes, the probability above which the second is predicted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from creases import TableClassifier
    >>> iris = load_iris(as_frame=True)
    >>> model = TableClassifier(random_state=0).fit(iris.data, iris.target_names[iris.target])
    >>> bool(model.score(iris.data, iris.target_names[iris.target]) > 0.95)
    True
    >>> (answer,) = model.counterfactual(iris.data.iloc[120], fixed=["petal width"]).answers
    >>> [change.column for change in answer.changes]
    ['petal length']
    """

    class_weight: Any = None
    threshold: float | str = CurveConfig.threshold


@documents(CurveConfig, ReadOptions)
@dataclass(kw_only=True, eq=False, repr=False)
class TableRegressor(Values, CurveEstimator):
    """A regressor of one target or more that a person can read completely: the model of :func:`creases.fit_table`.

    It has the attributes of :class:`creases.TableClassifier` but ``classes_`` and ``threshold_``.

    Parameters
    ----------
    {options}
    random_state
        Seed of the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from creases import TableRegressor
    >>> X = np.linspace(-2, 2, 100)[:, None]
    >>> model = TableRegressor(random_state=0).fit(X, np.abs(X[:, 0]))
    >>> bool(model.score(X, np.abs(X[:, 0])) > 0.95)
    True
    """

    family: str = CurveConfig.family

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> Self:
        """Fit a new model.

        Parameters
        ----------
        X, y, sample_weight, groups, time
            As for :meth:`creases.TableClassifier.fit`.
        exposure
            (n,) what each target is for, such as the years that claims were counted in; predictions are for 1. It
            needs a family with a logarithmic link, and takes "poisson" by default.
        """
        return self._fit(X, y, sample_weight, exposure, groups, time)
