"""How good predictions are, by scikit-learn's measures, and the threshold with which they are best."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from creases.tables._split.split import TableSplit


#: Bins of equal width for the calibration of probabilities.
BINS = 10


@dataclass(frozen=True, eq=False)
class ClassificationMetrics:
    """How good predicted classes and probabilities are; None where a measure is not defined for these rows."""

    rows: int
    accuracy: float
    balanced_accuracy: float  #: mean of the recalls of the classes that occur
    precision: tuple[float, ...]  #: of each class; 0 for one that is never predicted
    recall: tuple[float, ...]  #: of each class; 0 for one that does not occur
    f1: tuple[float, ...]  #: of each class
    f1_score: float  #: of two classes that of the second, of more the mean
    support: tuple[int, ...]  #: rows of each class
    confusion: tuple[tuple[int, ...], ...]  #: rows of class i (row) that are predicted as class j (column)
    roc_auc: float | None  #: of more than two classes the mean, each against the rest
    pr_auc: float | None  #: average precision; of more than two classes the mean, each against the rest
    log_loss: float | None
    calibration_error: float | None  #: expected calibration error: mean of |frequency - probability| over the bins
    #: Bins with rows: mean probability, frequency, rows. Of two classes the probability of the second, of more that of
    #: the predicted class, and how often it is right.
    reliability: tuple[tuple[float, float, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON-able data."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class RegressionMetrics:
    """How good predicted numbers are, in the target's own units; None where a measure is not defined."""

    rows: int
    r2: float | None  #: share of the variance that is explained; 0 for predicting the mean
    rmse: float
    mae: float
    bias: float  #: mean of prediction minus target
    residuals: tuple[float, ...]  #: least, quartiles and largest of prediction minus target

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON-able data."""
        return asdict(self)


def classification_metrics(
    y: Ints, predictions: Ints, probabilities: Floats | None, n_classes: int
) -> ClassificationMetrics:
    """Return the measures of predicted classes (n,) and of probabilities (n, n_classes) for true classes y (n,)."""
    from sklearn import metrics

    numbers = np.arange(n_classes)
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        y, predictions, labels=numbers, zero_division=0.0
    )
    present = support > 0
    one = (lambda measure: None) if probabilities is None else _one_measure
    confusion = metrics.confusion_matrix(y, predictions, labels=numbers)
    bins: tuple[tuple[float, float, int], ...] = ()  # mean probability, frequency and rows of each that has rows
    if probabilities is not None:
        binary = probabilities.shape[1] == 2
        p = probabilities[:, 1] if binary else probabilities.max(axis=1)
        event = y == 1 if binary else probabilities.argmax(axis=1) == y
        which = np.minimum((p * BINS).astype(np.int64), BINS - 1)
        rows = [np.flatnonzero(which == k) for k in range(BINS)]
        bins = tuple((float(p[part].mean()), float(event[part].mean()), len(part)) for part in rows if len(part))
    error = None if not bins else float(sum(count * abs(mean - frequency) for mean, frequency, count in bins) / len(y))
    return ClassificationMetrics(
        rows=len(y),
        accuracy=float(metrics.accuracy_score(y, predictions)),
        balanced_accuracy=float(recall[present].mean()),
        precision=_numbers(precision),
        recall=_numbers(recall),
        f1=_numbers(f1),
        f1_score=float(f1[1] if n_classes == 2 else f1[present].mean()),
        support=tuple(support.tolist()),
        confusion=tuple(map(tuple, confusion.tolist())),
        roc_auc=one(lambda: _mean_over_classes(metrics.roc_auc_score, y, probabilities)),
        pr_auc=one(lambda: _mean_over_classes(metrics.average_precision_score, y, probabilities)),
        log_loss=one(lambda: metrics.log_loss(y, probabilities, labels=numbers)),
        calibration_error=error,
        reliability=bins,
    )


def regression_metrics(y: Floats, predictions: Floats, weight: Floats | None = None) -> RegressionMetrics:
    """Return the measures of predictions (n,) for targets y (n,) of rows with weights (n,)."""
    from sklearn import metrics

    residuals = predictions - y
    quartiles = np.quantile(residuals, [0, 0.25, 0.5, 0.75, 1])
    return RegressionMetrics(
        rows=len(y),
        r2=float(metrics.r2_score(y, predictions, sample_weight=weight)) if len(y) > 1 and np.ptp(y) else None,
        rmse=float(metrics.root_mean_squared_error(y, predictions, sample_weight=weight)),
        mae=float(metrics.mean_absolute_error(y, predictions, sample_weight=weight)),
        bias=float(np.average(residuals, weights=weight)),
        residuals=_numbers(quartiles),
    )


def _numbers(values: NDArray[Any]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _one_measure(measure: Any) -> float | None:
    """Return a measure; None where it is not defined, such as a curve for rows of one class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = float(measure())
        except ValueError:
            return None
    return value if np.isfinite(value) else None


def _mean_over_classes(score: Any, y: Ints, probabilities: Floats | None) -> float:
    """Return a score of the second of two classes; of more the mean, each class that occurs against the rest."""
    assert probabilities is not None
    if probabilities.shape[1] == 2:
        return float(score(y == 1, probabilities[:, 1])) if len(np.unique(y)) == 2 else float("nan")
    present: Sequence[int] = np.unique(y).tolist()
    if len(present) < 2:
        return float("nan")
    return float(np.mean([score(y == c, probabilities[:, c]) for c in present]))


# The probability from which the second of two classes is predicted.


def choose_threshold(net: Callable[[Floats], Floats], data: TableSplit, threshold: float | str) -> float:
    """Return the threshold: as given, or the best on the rows to validate with by a score.

    Candidates are halfway between neighboring probabilities; of equally good ones the middle is taken. Without rows to
    validate with, or where these are of one class, it is 0.5. The weights of classes do not count.
    """
    if not isinstance(threshold, str):
        return float(threshold)
    rows = data.parts[1]
    outputs = np.asarray(net(data.rows.X[rows])) if len(rows) else np.zeros((0, 2))
    return best_threshold(outputs[:, 1] - outputs[:, 0], data, rows, data.rows.weight[rows], threshold)


def best_threshold(margins: Floats, data: TableSplit, rows: Ints, weight: Floats, score: str) -> float:
    """Return the threshold that maximizes a score of rows, by number, with margins (n,) and weights (n,)."""
    y = data.rows.y[rows, 0].astype(np.int64)
    if len(np.unique(y)) < 2:
        return 0.5
    weight = weight / (1.0 if data.class_weights is None else data.class_weights[y])
    values = np.unique(margins)
    cuts = np.concatenate([[min(values[0] - 1, 0.0)], (values[1:] + values[:-1]) / 2, [max(values[-1] + 1, 0.0)]])
    scores = _scores(margins, y == 1, weight, cuts, score)
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    return float(np.clip(1 / (1 + np.exp(-cuts[best[len(best) // 2]])), 1e-6, 1 - 1e-6))


def _scores(margins: Floats, positive: Bools, weight: Floats, cuts: Floats, rule: str) -> Floats:
    """Return a score (k,) for each cut (k,), the second class being decided above it."""
    order = np.argsort(margins, kind="stable")
    below = np.searchsorted(margins[order], cuts, side="right")
    hits = np.append(0.0, np.cumsum((weight * positive)[order]))
    others = np.append(0.0, np.cumsum((weight * ~positive)[order]))
    missed, rejected = hits[below], others[below]
    correct, accepted = hits[-1] - missed, others[-1] - rejected
    if rule == "f1":
        return np.asarray(2 * correct / (2 * correct + accepted + missed))
    if rule == "balanced_accuracy":
        return np.asarray((correct / hits[-1] + rejected / others[-1]) / 2)
    return np.asarray((correct + rejected) / (hits[-1] + others[-1]))
