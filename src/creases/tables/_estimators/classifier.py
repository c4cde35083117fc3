"""A classifier for tables that grows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from creases._typing import Floats
from creases.errors import InputError
from creases.growth import Budget, GrowthConfig
from creases.growth.methods import GrowthMethod
from creases.tables._estimators.base import GrowingEstimator
from creases.tables._explain.counterfactual import Counterfactual, counterfactual
from creases.tables._fit.threshold import shift_decision
from creases.tables._model.decision import decide
from creases.tables._split.options import CurveConfig


class GrowingClassifier(ClassifierMixin, GrowingEstimator):  # type: ignore[misc]
    """A classifier for tables that starts as a linear model and grows as long as that helps.

    By default (``kind="curves"``) it is the model of :func:`creases.fit_table`, which a person can read whole: straight
    lines, then curves of columns, planes of pairs, units of many, each where folds of the rows favour it. ``model_`` is
    that model, with ``explain(X)``, ``curves`` and ``planes``; only the parameters ``shapes``, ``kinds``, ``ensemble``,
    ``class_weight``, ``threshold`` and ``random_state`` belong to it.

    With ``kind="network"`` it is a ReLU network that starts as the linear model. Up to 20,000 rows (and 200,000
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

    Columns are scaled inside. ``explain()`` says why each unit is there, ``network_`` is the exact piecewise-linear
    function for rows in the data's own units. The parameters are those of :class:`creases.growth.GrowthConfig`, with
    its defaults.

    Parameters
    ----------
    kind
        "curves" or "network".
    shapes
        For curves, by column: "rising", "falling", "straight" or "convex".
    kinds
        For a DataFrame, by column: how to read it, such as "category" or "time"; see
        :func:`creases.tables.read_table`.
    ensemble
        For curves: how often units are trained, from different starts.
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
    model_ : creases.tables.TableModel
        The model, without the rows that it was fitted to.
    module_ : torch.nn.Sequential
        The network, for rows in the data's own units (float64): a logit for each class.
    network_ : creases.Network
    hidden_ : tuple of int
        Widths of the hidden layers now.
    threshold_ : float
        For two classes, the probability above which the second is predicted.
    history_ : creases.growth.History
        Of a network, as the following ones: every epoch and growth step; ``history_.to_json()``.
    n_iter_, loss_curve_
        Epochs on the way to the result, without those of stages that were undone, and the mean training loss
        (cross-entropy) of each.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from creases import GrowingClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)  # logistic regression: 0.87
    >>> bool(GrowingClassifier(random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    >>> model = GrowingClassifier("network", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _task = "classification"

    def __init__(
        self,
        kind: str = "curves",
        *,
        shapes: Mapping[str, str] | None = None,
        kinds: Mapping[str, str] | None = None,
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
        growth_patience: int | None = GrowthConfig.growth_patience,
        early_stopping: bool = True,
        validation_fraction: float = GrowthConfig.validation_fraction,
        standardize: bool = GrowthConfig.standardize,
        class_weight: str | Mapping[Any, float] | None = GrowthConfig.class_weight,
        threshold: float | str = GrowthConfig.threshold,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            kind,
            shapes=shapes,
            kinds=kinds,
            ensemble=ensemble,
            loop=loop,
            how=how,
            hidden=hidden,
            max_units=max_units,
            max_parameters=max_parameters,
            weight_decay=weight_decay,
            lr=lr,
            batch_size=batch_size,
            budget=budget,
            growth_share=growth_share,
            growth_patience=growth_patience,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            standardize=standardize,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight
        self.threshold = threshold

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class (n,) of each row."""
        labels = decide(self._outputs(X), self.threshold_)
        return np.asarray(self.classes_[labels])

    @property
    def threshold_(self) -> float:
        """For two classes, the probability above which the second is predicted."""
        check_is_fitted(self, "model_")
        return self._threshold

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

    def counterfactual(
        self,
        row: ArrayLike,
        target: Any = None,
        *,
        fixed: Iterable[str | int] = (),
        rising: Iterable[str | int] = (),
        falling: Iterable[str | int] = (),
        integer: Iterable[str | int] | None = None,
        box: Any = None,
        norm: str = "l1",
        count: int = 1,
        budget: float = 10.0,
    ) -> Counterfactual:
        """Return the smallest change of a row that changes its predicted class, with a proof that none is smaller.

        Changes are in the data's own units and compared in standard deviations. Columns that held only whole numbers in
        the training rows stay whole, columns ``name=value`` of 0 and 1 change as a category, and values stay within the
        range of the training rows.

        Parameters
        ----------
        row
            (d,) one row; of a DataFrame also a Series or a dictionary.
        target
            The class to reach; any other by default.
        fixed, rising, falling, integer, box, norm, count, budget
            As for :func:`creases.tables.counterfactual`; columns by name or number.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from creases import GrowingClassifier
        >>> iris = load_iris(as_frame=True)
        >>> model = GrowingClassifier("network", budget=20, random_state=0)
        >>> _ = model.fit(iris.data, iris.target_names[iris.target])
        >>> answer = model.counterfactual(iris.data.iloc[120], fixed=["petal width"])
        >>> answer.predicted, answer.reached, [change.name for change in answer.changes], answer.proved
        ('virginica', 'versicolor', ['petal length (cm)'], True)
        """
        check_is_fitted(self, "model_")
        number = None
        if target is not None:
            matches = np.flatnonzero(self.classes_ == target)
            if len(matches) != 1:
                raise InputError("target", f"be one of the classes {list(self.classes_)}", repr(target))
            number = int(matches[0])
        return counterfactual(
            shift_decision(self.network_, self.threshold_),
            self._row(row),
            self._table_columns,
            target=number,
            classes=self.classes_.tolist(),
            fixed=fixed,
            rising=rising,
            falling=falling,
            integer=integer,
            box=box,
            norm=norm,
            count=count,
            budget=budget,
        )

    def _row(self, row: Any) -> Floats:
        if self._encoding is None:
            return np.asarray(row, np.float64).reshape(-1)
        return self._encoding.transform(row).X.reshape(-1)

    def _names(self) -> dict[str, Any]:
        return {**super()._names(), "classes": [str(name) for name in self.classes_]}

    @property
    def _checks(self) -> dict[str, Any]:
        return {}

    @property
    def _known(self) -> Any:
        return self.classes_

    @property
    def _decision_options(self) -> dict[str, Any]:
        return {"class_weight": self.class_weight, "threshold": self.threshold}

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)

    def _make_targets(self, y: Any, classes: Any) -> Floats:
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        self.classes_ = np.unique(y if classes is None else classes)
        if len(self.classes_) < 2:
            raise InputError("y", "have at least 2 classes", f"one class, {self.classes_[0]!r}")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise InputError("y", f"have classes among {self.classes_}", f"{unknown}")
        return np.asarray(np.searchsorted(self.classes_, y)[:, None], np.float64)
