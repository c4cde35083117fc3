"""Estimators of a network that grows on a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import nn

from creases._text import plural
from creases._typing import Floats, Ints
from creases.growth import Budget, GrowthConfig, History, Record
from creases.growth.methods import GrowthMethod
from creases.network import read
from creases.tables._estimators.base import Classes, TableEstimator, Values, check_weights, make_seed
from creases.tables._fit.doubtful_columns import warn_of_columns
from creases.tables._fit.experiment import Experiment
from creases.tables._model.grown_model import GrownModel, make_grown_model

#: Samples to validate with: rows and their classes or targets.
Validation = tuple[ArrayLike, ArrayLike]

#: Parameters of an estimator that are options of growth.
OPTIONS = (
    "loop", "how", "hidden", "max_units", "max_parameters", "weight_decay", "lr", "batch_size", "budget",
    "growth_share", "growth_patience", "validation_fraction",
)  # fmt: skip


class GrowingEstimator(TableEstimator):
    """The growth and its summary that the classifier and the regressor share."""

    model_: GrownModel
    module_: nn.Sequential
    history_: History
    early_stopping: bool
    standardize: bool
    random_state: Any
    verbose: bool

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
        config = self._config()
        rows, targets = self._read(X, y, None, reset=True, ensure_min_samples=2)
        weight = check_weights(sample_weight, rows)
        if self._encoding is not None:
            warn_of_columns(self._encoding)
        held = None
        if validation is not None:
            rows, targets, weight, held = self._append(rows, targets, weight, validation)
        data = self._split(rows, targets, weight, config, held)
        experiment = Experiment(data, config)
        self.history_ = experiment.run(progress=bool(self.verbose))
        self.n_iter_ = len(self.history_.epochs)
        self.loss_curve_ = [epoch["loss"] for epoch in self.history_.epochs]
        self.module_ = data.scaling.fold_into(experiment.model)
        self._scaling = data.scaling
        names = self._model_names()
        self.model_ = make_grown_model(
            read(self.module_), data, threshold=experiment.threshold, **names
        )._without_rows()
        return self

    def _config(self) -> GrowthConfig:
        """Return the parameters as a configuration; they are checked here, not in ``__init__``."""
        options = {name: getattr(self, name) for name in OPTIONS}
        options |= {"test_fraction": 0.0, "standardize": bool(self.standardize), "seed": make_seed(self.random_state)}
        config = GrowthConfig(**options, **self._decisions())
        return config if self.early_stopping else replace(config, validation_fraction=0.0)

    def _decisions(self) -> dict[str, Any]:
        return {}

    def _append(
        self, X: Floats, y: Floats, weight: Floats, validation: Validation
    ) -> tuple[Floats, Floats, Floats, Ints]:
        """Append the validation rows, and return their numbers too."""
        X_held, targets = self._read(*validation, self._known, reset=False)
        held = np.arange(len(X), len(X) + len(X_held))
        weights = np.concatenate([weight, np.full(len(X_held), weight.max())])
        return np.vstack([X, X_held]), np.vstack([y, targets]), weights, held

    @property
    def hidden_(self) -> tuple[int, ...]:
        """Widths of the hidden layers as they are now."""
        check_is_fitted(self, "model_")
        return tuple(layer.out_features for layer in self.module_.modules() if isinstance(layer, nn.Linear))[:-1]

    def summary(self) -> str:
        """Return how the network grew: its size and scores, each growth step with its reason, and all as a table.

        Rows are counted from 0.
        """
        check_is_fitted(self, "model_")
        widths = "-".join(map(str, [self.network_.n_in, *self.hidden_, self._n_outputs]))
        known = None if self._known is None else [str(name) for name in self._known]
        names = {"features": self._names_of_features(), "scaling": self._scaling, "instance": "row"}
        text = _explain_history(self.history_, names | ({} if known is None else {"classes": known}), widths)
        return f"{text}\n\n{_summary_table(self.history_)}"


class GrowingClassifier(Classes, GrowingEstimator):
    """A classifier of rows by a network that starts as a linear model and grows as long as that helps.

    It is a ReLU network that starts as the linear model. Up to 20,000 rows (and 200,000
    numbers) it grows one unit at a time: each folds the network at a typical misprediction, all are trained to
    convergence, and held-out rows confirm the unit or it is undone; units that held-out rows do not need are taken
    away, and the network is trained on all rows.

    Larger tables, and ``loop="sized"``, grow by size: the network starts as the logistic regression of the rows to
    train on. In the first part of its budget it grows in stages that widen the hidden layers by four or two, with units
    that the method ``how`` supplies; in each stage a wider network is compared, on held-out rows, with the best one so
    far, which began alike, and undone if it is no better. After that the network only trains. The learning rate falls
    to zero over the whole budget. The result is the network of the second part with the lowest smoothed loss on the
    held-out rows; where that does not beat the logistic regression by more than 1.5 standard errors, it is the logistic
    regression, fitted to all rows. Where that loss is past its best half-way, the network is retrained on all rows from
    the end of growth.

    Columns are scaled inside. ``summary()`` says why each unit is there, ``network_`` is the exact piecewise-linear
    function for rows in the data's own units. The parameters are those of :class:`creases.growth.GrowthConfig`, with
    its defaults.

    Parameters
    ----------
    kinds
        For a DataFrame, by column: how to read it, such as "category" or "time"; see
        :func:`creases.tables.read_table`.
    loop
        "explained": one fold at a time; "sized": stages that widen layers; "auto": explained where all rows fit one
        batch, unless a parameter of sized growth is set.
    how
        Growth method: "auto" (folds, or random units in wide layers), "fold" (at typical mistakes, on the decision
        boundary), "tiny", "gradmax", "split", "random", "search", or an object such as
        ``creases.growth.methods.Fold(k=5)``.
    hidden
        Widths of the hidden layers at the start: "auto" is one layer with two units per class (two for two classes),
        which is what a linear model takes. Layers too narrow for one start at random.
    max_units, max_parameters
        Maximum size of the network: hidden units, and weights and biases.
    weight_decay
        Weight decay of AdamW on weights (not biases): more makes smoother functions. "auto" is 0.3 for 400 rows or
        fewer, and falls in proportion to their number.
    lr
        Learning rate of AdamW at the start, "auto" to fit the size of the network; it is annealed to zero by a
        cosine.
    batch_size
        Rows in a batch; "auto" is an eighth of them, between 32 and 200; None is all.
    budget, growth_share
        Total budget of a fit: a number of epochs, or a text such as "60 s" or "2e12 multiply-adds"; and the fraction
        of it for growth. "auto" is 20 to 400 epochs, about 3000 steps, and 0.28 of them at most.
        Stages that are undone count too.
    growth_patience
        Number of growth stages in a row that may fail to lower the held-out loss before growth stops.
    early_stopping, validation_fraction
        Whether to hold out a fraction of the rows (if there are 10 or more) to judge growth stages and to choose the
        network to return. Otherwise stages are judged on the training rows, and the last network is returned.
    standardize
        Whether to scale columns to mean 0 and standard deviation 1 inside.
    class_weight
        None, "balanced" (the same total weight for every class) or a dictionary of classes to weights.
    threshold
        For two classes, the probability above which the second is predicted. "f1", "balanced_accuracy" or "accuracy":
        the one that maximizes this score on the held-out rows.
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

    def __init__(
        self,
        *,
        kinds: Mapping[str, str] | None = None,
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
        growth_patience: int | None = GrowthConfig.growth_patience,
        early_stopping: bool = True,
        validation_fraction: float = GrowthConfig.validation_fraction,
        standardize: bool = GrowthConfig.standardize,
        class_weight: Any = None,
        threshold: float | str = GrowthConfig.threshold,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kinds = kinds
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
        self.growth_patience = growth_patience
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.class_weight = class_weight
        self.threshold = threshold
        self.random_state = random_state
        self.verbose = verbose

    def _decisions(self) -> dict[str, Any]:
        return {"class_weight": self.class_weight, "threshold": self.threshold}


class GrowingRegressor(Values, GrowingEstimator):
    """A regressor of one target or more by a network that starts as a linear model and grows as long as that helps.

    Parameters and training are those of :class:`creases.GrowingClassifier`, with ridge regression (its penalty chosen
    by leave-one-out errors) as the linear model; the loss is the squared error. Targets are scaled inside: losses are
    in units of their variance, so that 1 is the loss of the mean.

    Attributes
    ----------
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

    Examples
    --------
    >>> import numpy as np
    >>> from creases import GrowingRegressor
    >>> X = np.linspace(-2, 2, 100)[:, None]
    >>> model = GrowingRegressor(random_state=0).fit(X, np.abs(X[:, 0]))
    >>> bool(model.score(X, np.abs(X[:, 0])) > 0.95)
    True
    """

    def __init__(
        self,
        *,
        kinds: Mapping[str, str] | None = None,
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
        growth_patience: int | None = GrowthConfig.growth_patience,
        early_stopping: bool = True,
        validation_fraction: float = GrowthConfig.validation_fraction,
        standardize: bool = GrowthConfig.standardize,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kinds = kinds
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
        self.growth_patience = growth_patience
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose


# The growth of an estimator, in words and as a table.


def _explain_history(history: History, names: dict[str, Any], architecture: str) -> str:
    """Explain a run and each growth step of it; ``architecture`` are the network's widths, such as 4-5-3."""
    steps = [_step(record, history, names) for record in history.records]
    return "\n\n".join([_overview(history, architecture), *steps])


def _summary_table(history: History) -> str:
    """Return the growth steps as lines of text; losses and scores are those before the next step."""
    held = bool(history.epochs) and history.epochs[0]["validation_loss"] is not None
    head = ["step", "epoch", "action", "layer", "width", "parameters", "loss", "score"]
    head += ["validation loss", "validation score"] if held else []
    start = history.records[0].epoch if history.records else len(history.epochs)
    lines = [["start", "0", "", *_size(history), *_numbers(history.epochs[start - 1], held)]] if start else []
    for record in history.records:
        width = f"{record.width[0]} -> {record.width[1]}"
        when = [str(record.number), str(record.epoch), record.action + ", undone" * record.undone, record.place]
        lines.append([*when, width, str(record.parameters[1]), *_numbers(record.later, held)])
    sizes = [max(len(line[k]) for line in [head, *lines]) for k in range(len(head))]
    return "\n".join("  ".join(map(str.rjust, line, sizes)) for line in [head, *lines])


def _size(history: History) -> list[str]:
    """Return the layers, widths and parameters at the start."""
    first = history.epochs[0]
    return [", ".join(first["widths"]), ", ".join(map(str, first["widths"].values())), str(first["parameters"])]


def _numbers(values: Any, held: bool) -> list[str]:
    names = ("loss", "score", "validation_loss", "validation_score")[: 4 if held else 2]
    return ["" if values.get(name) is None else f"{values[name]:.4g}" for name in names]


def _overview(history: History, architecture: str) -> str:
    """Summarise the run in a sentence or two."""
    epochs = len(history.epochs)
    best = history.best_epoch
    at = history.epochs[best - 1] if best else {"score": None, "validation_score": None}  # the start was not measured
    run = f"{plural(epochs, 'epoch')} and {plural(len(history.records), 'growth step')}"
    text = f"The network is {architecture} (inputs, hidden units, outputs) after {run}."
    kinds = (("score", "training"), ("validation_score", "validation"))
    scores = [f"{at[name]:.3g} on {rows} rows" for name, rows in kinds if at[name] is not None]
    measure = history.measure[0].upper() + history.measure[1:]
    text += f" {measure}: {', '.join(scores)}." if scores else ""
    return text + (f" Stopped: {history.ended}." if history.ended else "")


def _step(record: Record, history: History, names: dict[str, Any]) -> str:
    text = record.explain(**names)
    if not record.undone and not history.keeps(record):
        text += " It did not lower the validation loss and is not in the final network."
    return text
