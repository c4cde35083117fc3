"""What estimators predict: classes with probabilities, or values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from creases._typing import Floats
from creases.errors import InputError
from creases.tables._estimators.base import TableEstimator
from creases.tables._model.decision import decide


class Classes(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """An estimator of classes."""

    _task = "classification"

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class (n,) of each row."""
        labels = decide(self._outputs(X), self.threshold_)
        return np.asarray(self.classes_[labels])

    @property
    def threshold_(self) -> float:
        """For two classes, the probability above which the second is predicted."""
        check_is_fitted(self, "model_")
        return self.model_.threshold

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

    @property
    def _checks(self) -> dict[str, Any]:
        return {}

    @property
    def _known(self) -> Any:
        return self.classes_

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


class Values(RegressorMixin, TableEstimator):  # type: ignore[misc]
    """An estimator of one value or more."""

    _task = "regression"

    def predict(self, X: ArrayLike) -> Floats:
        """Return targets (n,), or (n, m) if there were several in fitting."""
        outputs = self._outputs(X)
        return outputs if self._columns else outputs[:, 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def _checks(self) -> dict[str, Any]:
        return {"multi_output": True, "y_numeric": True}

    @property
    def _known(self) -> Any:
        return None

    @property
    def _n_outputs(self) -> int:
        return self._columns or 1

    def _make_targets(self, y: Any, classes: Any) -> Floats:
        self._columns = y.shape[1] if y.ndim > 1 else 0
        return np.asarray(y, np.float64).reshape(len(y), -1)
