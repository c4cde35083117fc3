"""What the two estimators share: parameters, data, training with growth, and its explanation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from creases._display import to_html
from creases._typing import Floats, Ints
from creases._validation import check_choice
from creases.errors import InputError
from creases.growth import Budget, Grower, GrowthConfig, History, train_epoch
from creases.growth.methods import GrowthMethod
from creases.network import Network, places, read
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._estimators import summary as _summary
from creases.tables._estimators.checks import advise, check_targets, check_weights, is_frame
from creases.tables._estimators.parameters import make_curve_config, make_growth_config
from creases.tables._explain.columns import Columns
from creases.tables._fit.curves import fit_curve_model
from creases.tables._fit.experiment import Experiment
from creases.tables._fit.fit_table import KINDS
from creases.tables._model.network_model import network_model
from creases.tables._reading.table import encode_frame
from creases.tables._split.options import CurveConfig
from creases.tables._split.scaler import IncrementalScaler
from creases.tables._split.split import TableSplit

#: Samples to validate with: rows and their classes or targets.
Validation = tuple[ArrayLike, ArrayLike]


class GrowingEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """A model for tables that starts as a linear model and grows while that lowers the held-out loss."""

    _task: Literal["classification", "regression"]

    def __init__(
        self,
        kind: str = "curves",
        *,
        shapes: Mapping[str, str] | None = None,
        ensemble: int = CurveConfig.ensemble,
        loop: str = GrowthConfig.loop,
        how: str | GrowthMethod = GrowthConfig.how,
        hidden: str | int | Sequence[int] = GrowthConfig.hidden,
        max_units: int | None = GrowthConfig.max_units,
        max_parameters: int | None = GrowthConfig.max_parameters,
        weight_decay: str | float = GrowthConfig.weight_decay,
        lr: str | float = GrowthConfig.lr,
        batch_size: str | int | None = GrowthConfig.batch_size,
        budget: str | float | Budget = GrowthConfig.budget,
        growth_share: str | float = GrowthConfig.growth_share,
        patience: int = GrowthConfig.patience,
        growth_patience: int | None = GrowthConfig.growth_patience,
        early_stopping: bool = True,
        validation_fraction: float = GrowthConfig.validation_fraction,
        standardize: bool = GrowthConfig.standardize,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kind = kind
        self.shapes = shapes
        self.ensemble = ensemble
        self.loop = loop
        self.how = how
        self.hidden = hidden
        self.max_units = max_units
        self.max_parameters = max_parameters
        self.weight_decay = weight_decay
        self.lr = lr
        self.batch_size = batch_size
        self.budget = budget
        self.growth_share = growth_share
        self.patience = patience
        self.growth_patience = growth_patience
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

    # -- training -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        validation: Validation | None = None,
    ) -> Self:
        """Fit a new model.

        Parameters
        ----------
        X
            (n, d) rows of numbers; or a DataFrame, whose categories, dates and missing values are encoded as in
            :func:`creases.tables.read_table`, so that the network is that of :func:`creases.fit_table`.
        y
            (n,) classes, or (n,) or (n, m) targets.
        sample_weight
            (n,) non-negative weights of the rows. A row of weight 2 is the same as one that occurs twice.
        validation
            For ``kind="network"``: rows and their classes or targets for early stopping, ``(X, y)``; by default
            ``validation_fraction`` of the rows are held out.
        """
        check_choice(self.kind, KINDS, "kind")
        decisions, is_network = self._decision_options, self.kind == "network"
        config = make_growth_config(self, decisions) if is_network else make_curve_config(self, decisions, validation)
        rows, targets = self._read(X, y, None, reset=True, ensure_min_samples=2)
        weight = check_weights(sample_weight, rows)
        held = None
        if validation is not None:
            rows, targets, weight, held = self._append(rows, targets, weight, validation)
        self._table_columns = Columns.from_data(rows, self._names_of_features())
        data = self._split(rows, targets, weight, config, held)
        if self._task == "classification" and (data.rows.y == data.rows.y[0]).all():
            raise InputError("sample_weight", "leave rows of at least 2 classes with a positive weight", "one class")
        for name in ("module_", "history_", "n_iter_", "loss_curve_", "_optimizer", "_scaler"):
            self.__dict__.pop(name, None)  # of an earlier fit of the other kind
        if isinstance(config, CurveConfig):
            self.model_ = fit_curve_model(data, config, **self._model_names()).without_rows()
            self._threshold, self._scaling = self.model_.threshold, data.scaling
            return self
        self._scaler = IncrementalScaler()
        data = data.rescale(self._scaler) if config.standardize else data
        experiment = Experiment(data, config)
        history = experiment.run(progress=bool(self.verbose))
        self._seed, self._scaling = config.seed, data.scaling
        self._model, self._optimizer = experiment.model, experiment.optimizer
        self._threshold = experiment.threshold
        self._finish(history)
        options: dict[str, Any] = {"threshold": self._threshold, **self._model_names()}
        self.model_ = network_model(read(self.module_), data, **options).without_rows()
        return self

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
            if reset:
                self._encoding: TableEncoding | None = None
            try:
                rows, y = validate_data(self, X, y, dtype=np.float64, reset=reset, **checks, **self._checks)
                return rows, self._make_targets(y, classes)
            except ValueError as problem:
                if not (advice := advise(str(problem), self._task)):
                    raise
                raise ValueError(f"{problem}{advice}") from None
        validate_data(self, X, reset=reset, skip_check_array=True)
        check_consistent_length(X, y)
        targets = self._make_targets(check_targets(y, self._task), classes)
        if not reset:
            return self._encode(X), targets
        if len(X) < 2:
            raise InputError("X", "have at least 2 rows", f"{len(X)}")
        names = None if self._known is None else tuple(map(str, self._known))
        self._column_names = [str(name) for name in X.columns]
        self._encoding, rows = encode_frame(X, "y", self._task, names)
        return rows, targets

    def _encode(self, X: Any) -> Floats:
        """Return rows of the user's data as numbers (n, d)."""
        if self._encoding is None:
            rows: Floats = validate_data(self, X, dtype=np.float64, reset=False)
            return rows
        validate_data(self, X, reset=False, skip_check_array=True)
        if not is_frame(X):
            import pandas as pd

            X = pd.DataFrame(np.asarray(X), columns=self._column_names)
        return self._encoding.transform(X).X

    def _append(
        self, X: Floats, y: Floats, weight: Floats, validation: Validation
    ) -> tuple[Floats, Floats, Floats, Ints]:
        """Append the validation rows, and return their numbers too."""
        X_held, targets = self._read(*validation, self._known, reset=False)
        held = np.arange(len(X), len(X) + len(X_held))
        weights = np.concatenate([weight, np.full(len(X_held), weight.max())])
        return np.vstack([X, X_held]), np.vstack([y, targets]), weights, held

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> Self:
        """Train for one epoch on these rows; grow, looking at them, if the loss is on a plateau."""
        first = not hasattr(self, "module_")
        check_choice(self.kind, ("network",), "kind")
        config = make_growth_config(self, self._decision_options, None if first else self._seed, partial=True)
        X, targets = self._read(X, y, classes if first else self._known, reset=first)
        data = self._split(X, targets, check_weights(sample_weight, X), config)
        columns = Columns.from_data(X, self._names_of_features())
        self._table_columns = columns if first else self._table_columns.merge(columns)
        if first:
            self._scaler = IncrementalScaler()
        data = data.rescale(self._scaler) if config.standardize else data
        experiment = Experiment(data, config, fit=first)
        if first:
            self._threshold = 0.5 if isinstance(config.threshold, str) else float(config.threshold)
            self._seed, self._model = config.seed, experiment.model
        train = data.samples("train")
        assert train is not None
        if first or self._optimizer is None:  # explained growth has none
            self._optimizer = config.make_optimizer(self._model, train)
        self._scaling = data.scaling
        history = History() if first else self._continue(config, train)
        assert self._optimizer is not None
        grower = Grower.from_config(self._model, self._optimizer, train, self._task, config)
        history.setting = grower.history.setting
        grower.resume(history, other_data=True)
        epoch = len(history.epochs)
        options: dict[str, Any] = {"batch_size": config.batch_rows(len(train)), "seed": self._seed + epoch}
        with torch.random.fork_rng(devices=[]), experiment.single_thread():
            metrics, steps = train_epoch(self._model, self._optimizer, train, grower.state.objective, **options)
            grower.step(metrics, steps=steps + history.steps)
        history.ended, history.kept = "", len(history.epochs)  # there is always a next batch
        self._model.eval()
        self._finish(history)
        options = {"threshold": self._threshold, **self._model_names()}
        self.model_ = replace(network_model(read(self.module_), data, **options), data=None)
        return self

    def _continue(self, config: GrowthConfig, train: Any) -> History:
        """Return the history so far; after :meth:`fit`, let the network grow again, at its first learning rate."""
        history = self.history_
        if history.ended:
            for record in history.records:
                record.undone = not history.keeps(record)
            assert self._optimizer is not None
            lr = config.learning_rate(self._model, places(self._model, X=train.example()))
            for group in self._optimizer.param_groups:
                group["lr"] = lr
        history.ended = history.growth_ended = ""
        return history

    def _split(
        self, X: Floats, y: Floats, weight: Floats, config: GrowthConfig | CurveConfig, held: Ints | None = None
    ) -> TableSplit:
        return TableSplit.from_arrays(
            X,
            y,
            weight=weight,
            task=self._task,
            n_outputs=self._n_outputs,
            config=config,
            validation=held,
            classes=self._known,
        )

    def _finish(self, history: History) -> None:
        """Set the fitted attributes."""
        self.history_ = history
        self.n_iter_ = len(history.epochs)
        self.loss_curve_ = [epoch["loss"] for epoch in history.epochs]
        self.module_ = self._scaling.fold_into(self._model)

    # -- results ------------------------------------------------------------------------------------------------------

    def _outputs(self, X: ArrayLike) -> Floats:
        """Return the network's outputs (n, m) for rows of the user's data."""
        check_is_fitted(self, "model_")
        if self.model_.additive is not None:
            return self.model_.outputs(self._encode(X))
        with torch.no_grad():
            return np.asarray(self.module_(torch.tensor(self._encode(X))).numpy())

    @property
    def network_(self) -> Network:
        """The fitted function, scaling included, as a :class:`creases.Network`: its regions, pieces, boundaries."""
        check_is_fitted(self, "model_")
        return self.model_.network

    @property
    def hidden_(self) -> tuple[int, ...]:
        """Widths of the hidden layers as they are now."""
        check_is_fitted(self, "model_")
        module = self.network_.module() if self.model_.additive is not None else self.module_
        return tuple(layer.out_features for layer in module.modules() if isinstance(layer, nn.Linear))[:-1]

    def explain(self, step: int | None = None) -> str:
        """Explain how a network grew, with the names of classes and features, in the data's own units.

        For ``kind="network"``; ``model_.explain(X)`` explains rows, for both kinds.

        Parameters
        ----------
        step
            The number, from 1, of a growth step to explain alone. Rows are counted from 0.
        """
        self._check_grown()
        return _summary.explain_history(self.history_, self._names(), self._architecture(), step)

    def summary(self) -> str:
        """Return the growth steps as a table: when, where, and the loss and score after training."""
        self._check_grown()
        return _summary.summary_table(self.history_)

    def _check_grown(self) -> None:
        check_is_fitted(self, "model_")
        if self.model_.additive is not None:
            raise InputError("kind", 'be "network" for a history of growth', '"curves"', "model_.steps has the stages")

    def _names(self) -> dict[str, Any]:
        return {"features": self._names_of_features(), "scaling": self._scaling, "instance": "row"}

    def _names_of_features(self) -> list[str]:
        if self._encoding is not None:
            return [feature.name for feature in self._encoding.features]
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(self.n_features_in_)])
        return [str(name) for name in names]

    def _architecture(self) -> str:
        """Return the network's widths from inputs to outputs."""
        return "-".join(map(str, [self.network_.n_in, *self.hidden_, self._n_outputs]))

    def _repr_html_inner(self) -> str:  # by scikit-learn's _repr_html_, unless its display is text
        return to_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    # -- what differs -------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _checks(self) -> dict[str, Any]:
        """Options of scikit-learn's checks of y."""

    @property
    def _known(self) -> Any:
        """Classes known from earlier calls."""
        return None

    @property
    def _decision_options(self) -> dict[str, Any]:
        """Options of the configuration that only a classifier has."""
        return {}

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Outputs of the network."""

    @abstractmethod
    def _make_targets(self, y: Any, classes: Any) -> Floats:
        """Return y as numbers (n, m)."""
