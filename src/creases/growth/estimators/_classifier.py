"""A classifier for tables that grows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from creases._typing import Floats
from creases.errors import InputError
from creases.growth.estimators._base import GrowingEstimator


class GrowingClassifier(ClassifierMixin, GrowingEstimator):  # type: ignore[misc]
    """A classifier for tables: a relu network that starts as a linear model and grows, each unit with a reason.

    It trains until it gets no better, looks at what it still gets wrong, adds a unit for that, and goes on; some rows
    are held out to tell when that stops paying. Columns are scaled inside. ``explain()`` says in words why each unit
    is there, ``network_`` is the exact piecewise-linear function for the data's own units.

    Parameters
    ----------
    how
        How new units are found: "fold" (at a typical mistake, on the decision boundary), "tiny", "gradmax", "split",
        "random", "search", or an object such as ``creases.growth.methods.Fold(k=5)``.
    hidden
        Widths of the hidden layers at the start: "auto" is one layer with two units for each output, which is what a
        linear model takes.
    max_units, max_parameters
        The size at which growth ends: hidden units, and weights and biases.
    weight_decay
        Share, times ``lr``, by which weights (not biases) shrink in every step: more makes smoother functions.
    lr
        Learning rate of the optimizer, AdamW.
    batch_size
        Rows in a batch; "auto" is an eighth of them, between 32 and 200; None is all.
    max_epochs
        Epochs at most, over all sizes.
    patience
        Epochs without progress (the training loss falling by a hundredth, the validation loss at all) after which the
        network grows.
    growth_patience
        Growth steps in a row that may fail to lower the validation loss before it ends.
    early_stopping, validation_fraction
        Whether to hold out a share of the rows (if there are 20 or more) to end by, and to keep the network that was
        best on them. Otherwise growth ends with what it can do for the training loss.
    recycle
        Whether units that earn nothing are grown anew before more are added.
    random_state
        Seed of the start, of the order of rows and of which are held out.
    verbose
        Whether to show progress on stderr.

    Attributes
    ----------
    classes_ : (n_classes,)
    n_features_in_, feature_names_in_
        Of the data it was fitted to.
    module_ : torch.nn.Sequential
        The network, for rows in the data's own units (float64): logits, or for two classes the second one's log-odds.
    network_ : creases.Network
    hidden_ : tuple of int
        Widths of the hidden layers now.
    history_ : creases.growth.History
        Every epoch and growth step; ``history_.to_json()``.
    n_iter_, loss_curve_
        Epochs that were trained, and the mean training loss (cross-entropy) of each.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from creases import GrowingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GrowingClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _task = "classification"

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train for one epoch on these rows, and grow where the loss is on a plateau over the calls.

        ``classes``: all that will ever come; needed in the first call. The scaling follows all rows seen so far. Rows
        should come in no order: what is learnt of some is forgotten over others. Nothing is held out or recycled.
        """
        if classes is None and not hasattr(self, "classes_"):
            raise InputError("classes: must be passed on the first call to partial_fit.")
        if classes is not None and hasattr(self, "classes_") and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError(f"classes: are not those of the first call to partial_fit, {self.classes_}; got {classes}")
        return self._partial_fit(X, y, sample_weight, classes)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class (n,) of each row."""
        given = self._given(X)
        chosen = given.argmax(axis=1) if given.shape[1] > 1 else (given[:, 0] > 0).astype(np.int64)
        return np.asarray(self.classes_[chosen])

    def decision_function(self, X: ArrayLike) -> Floats:
        """Logits (n, n_classes) of each row; for two classes the log-odds (n,) of the second."""
        given = self._given(X)
        return given if given.shape[1] > 1 else given[:, 0]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities (n, n_classes)."""
        given = self._given(X)
        return np.asarray(softmax(given, axis=1) if given.shape[1] > 1 else expit(np.hstack([-given, given])))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Logarithms of the probabilities (n, n_classes)."""
        given = self._given(X)
        return np.asarray(log_softmax(given, axis=1) if given.shape[1] > 1 else log_expit(np.hstack([-given, given])))

    def _names(self) -> dict[str, Any]:
        return {**super()._names(), "classes": [str(name) for name in self.classes_]}

    @property
    def _checks(self) -> dict[str, Any]:
        return {}

    @property
    def _known(self) -> Any:
        return self.classes_

    @property
    def _outputs(self) -> int:
        return len(self.classes_) if len(self.classes_) > 2 else 1

    def _targets(self, y: Any, classes: Any) -> Floats:
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        self.classes_ = np.unique(y if classes is None else classes)
        if len(self.classes_) < 2:
            raise InputError(f"y: a classifier needs at least 2 classes, got one class, {self.classes_[0]!r}")
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise InputError(f"y: has classes {unknown} that are not in classes, {self.classes_}")
        return np.asarray(np.searchsorted(self.classes_, y)[:, None], np.float64)
