"""A regressor for tables that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from creases._typing import Floats
from creases.tables._estimators.base import GrowingEstimator


class GrowingRegressor(RegressorMixin, GrowingEstimator):  # type: ignore[misc]
    """A regressor for tables that starts as a linear model and grows as long as that helps.

    Parameters and training are those of :class:`creases.GrowingClassifier`, with ridge regression (its penalty chosen
    by leave-one-out errors) as the linear model; the loss is the squared error, of one target or more. Targets are
    scaled inside: losses are in units of their variance, so that 1 is the loss of the mean.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        Number and names of the input columns seen in ``fit``.
    model_ : creases.tables.TableModel
        The model, without the rows that it was fitted to.
    module_ : torch.nn.Sequential
        The network, for rows and targets in the data's own units (float64).
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
    def _n_outputs(self) -> int:
        return self._columns or 1

    def _make_targets(self, y: Any, classes: Any) -> Floats:
        self._columns = y.shape[1] if y.ndim > 1 else 0
        return np.asarray(y, np.float64).reshape(len(y), -1)
