"""Estimators of a network that grows on a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import nn

from creases.growth import Budget, GrowthConfig, History
from creases.growth.methods import GrowthMethod
from creases.network import read
from creases.tables._estimators.base import Classes, TableEstimator, Values, check_weights, make_seed
from creases.tables._fit.experiment import Experiment
from creases.tables._fit.fit_table import warn_of_columns
from creases.tables._model.grown_model import GrownModel, make_grown_model

#: Samples to validate with: rows and their classes or targets.
Validation = tuple[ArrayLike, ArrayLike]


@dataclass(kw_only=True, eq=False, repr=False)
class GrowthOptions:
    """The parameters that the classifier and the regressor share: those of growth with its defaults, and of rows."""

    kinds: Mapping[str, str] | None = None
    missing_marks: Sequence[str] | None = None
    loop: str = GrowthConfig.loop
    how: str | GrowthMethod = GrowthConfig.how
    hidden: str | int | Sequence[int] = GrowthConfig.hidden
    max_units: int | None = GrowthConfig.max_units
    max_parameters: int | None = GrowthConfig.max_parameters
    weight_decay: str | float = GrowthConfig.weight_decay
    lr: str | float = GrowthConfig.lr
    batch_size: str | int | None = GrowthConfig.batch_size
    budget: str | float | Budget = GrowthConfig.budget
    growth_share: str | float = GrowthConfig.growth_share
    growth_patience: int | None = GrowthConfig.growth_patience
    early_stopping: bool = True
    validation_fraction: float = GrowthConfig.validation_fraction
    standardize: bool = GrowthConfig.standardize
    random_state: Any = None
    verbose: bool = False


class GrowingEstimator(GrowthOptions, TableEstimator):
    """The growth and its summary that the classifier and the regressor share."""

    model_: GrownModel
    module_: nn.Sequential
    history_: History

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: Validation | None = None,
    ) -> Self:
        """Grow a new network.

        Parameters
        ----------
        X
            (n, d) rows of numbers; or a DataFrame, whose categories, dates and missing values are encoded as in
            :func:`creases.tables.read_table`, so that the network is that of :func:`creases.tables.grow_table`.
        y
            (n,) classes, or (n,) or (n, m) targets.
        sample_weight
            (n,) non-negative weights of the rows. A row of weight 2 is the same as one that occurs twice.
        validation
            Rows and their classes or targets for early stopping, ``(X, y)``; by default ``validation_fraction`` of the
            rows are held out.
        """
        options = self._options_of(GrowthConfig) | {"standardize": bool(self.standardize), "test_fraction": 0.0}
        options |= {} if self.early_stopping else {"validation_fraction": 0.0}
        config = GrowthConfig(**options, seed=make_seed(self.random_state))
        rows, targets = self._read(X, y, None, reset=True, ensure_min_samples=2)
        weight = check_weights(sample_weight, rows)
        if self._encoding is not None:
            self._table = None
            warn_of_columns(self._encoding)
        held = None
        if validation is not None:
            held_rows, held_targets = self._read(*validation, self._known, reset=False)
            held = np.arange(len(rows), len(rows) + len(held_rows))
            weight = np.concatenate([weight, np.full(len(held), weight.max())])
            rows, targets = np.vstack([rows, held_rows]), np.vstack([targets, held_targets])
        data = self._split(rows, targets, weight, config, held)
        experiment = Experiment(data, config)
        self.history_ = experiment.run(progress=bool(self.verbose))
        self.n_iter_ = len(self.history_.epochs)
        self.loss_curve_ = [epoch["loss"] for epoch in self.history_.epochs]
        self.module_ = data.scaling.fold_into(experiment.model)
        self._scaling = data.scaling
        named = self._model_names() | {"threshold": experiment.threshold}
        self.model_ = make_grown_model(read(self.module_), data, **named)._without_rows()
        return self

    @property
    def hidden_(self) -> tuple[int, ...]:
        """Widths of the hidden layers as they are now."""
        check_is_fitted(self, "model_")
        return tuple(layer.out_features for layer in self.module_.modules() if isinstance(layer, nn.Linear))[:-1]

    def summary(self) -> str:
        """Return how the network grew: its size, each growth step with its reason, and why growth ended."""
        check_is_fitted(self, "model_")
        widths = "-".join(map(str, [self.network_.n_in, *self.hidden_, self._n_outputs]))
        features = self._names_of_features() if self._encoding is None else self._encoding.input_names
        names: dict[str, Any] = {"features": features, "scaling": self._scaling, "instance": "row"}
        names |= {} if self._known is None else {"classes": [str(name) for name in self._known]}
        return f"The network is {widths} (inputs, hidden units, outputs).\n\n{self.history_.explain(**names)}"


@dataclass(kw_only=True, eq=False, repr=False)
class GrowingClassifier(Classes, GrowingEstimator):
    """A classifier of rows by a network that starts as a linear model and grows as long as that helps.

    It is a ReLU network that starts as the linear model. Up to 20,000 rows (and 200,000
    numbers) it grows one unit at a time: each folds the network at a typical misprediction, all are trained to
    convergence, and held-out rows confirm the unit or it is undone; units that held-out rows do not need are taken
    away, and the network is trained on all rows.

    Larger tables, and ``loop="sized"``, grow by size in stages that widen layers, and are undone where held-out rows do
    not confirm them; where the network does not beat the logistic regression by 1.5 standard errors, it is that.

    Columns are scaled inside. ``summary()`` says why each unit is there, ``network_`` is the exact piecewise-linear
    function for rows in the data's own units. The parameters are those of :class:`creases.growth.GrowthConfig`, with
    its defaults.

    Parameters
    ----------
    kinds, missing_marks
        For a DataFrame: see :func:`creases.tables.read_table`.
    early_stopping, validation_fraction
        Whether to hold out a fraction of 10 rows or more to judge growth stages and to choose the network to return.
    random_state
        Seed of the initial network, of the order of rows and of which rows are held out.
    verbose
        Whether to show progress on stderr.

    Attributes
    ----------
    classes_ : (n_classes,)
    n_features_in_, feature_names_in_
        Number and names of the input columns seen in ``fit``.
    model_ : creases.tables.GrownModel
        The network with the names of the table.
    module_ : torch.nn.Sequential
        The network, for rows in the data's own units (float64).
    network_ : creases.Network
        The same as the exact piecewise-linear function it is.
    hidden_ : tuple of int
        Widths of the hidden layers now.
    history_ : creases.growth.History
        Every epoch and growth step; ``history_.to_json()``.
    n_iter_, loss_curve_
        Epochs on the way to the result, without those of stages that were undone, and the mean training loss of each.
    threshold_ : float
        For two classes, the probability above which the second is predicted.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from creases import GrowingClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)  # logistic regression: 0.87
    >>> bool(GrowingClassifier(random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    class_weight: Any = None
    threshold: float | str = GrowthConfig.threshold


@dataclass(kw_only=True, eq=False, repr=False)
class GrowingRegressor(Values, GrowingEstimator):
    """A regressor of one target or more by a network that starts as a linear model and grows as long as that helps.

    Parameters and training are those of :class:`creases.GrowingClassifier`, with ridge regression (its penalty chosen
    by leave-one-out errors) as the linear model; the loss is the squared error. Targets are scaled inside: losses are
    in units of their variance, so that 1 is the loss of the mean.

    It has the attributes of the classifier but ``classes_`` and ``threshold_``.

    Examples
    --------
    >>> import numpy as np
    >>> from creases import GrowingRegressor
    >>> X = np.linspace(-2, 2, 100)[:, None]
    >>> model = GrowingRegressor(random_state=0).fit(X, np.abs(X[:, 0]))
    >>> bool(model.score(X, np.abs(X[:, 0])) > 0.95)
    True
    """
