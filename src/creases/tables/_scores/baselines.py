"""How good predictions are, by the measures of scikit-learn, the best threshold, and simple models beside a model."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._files import open_npz, write_atomically
from creases._text import OneLine, format_number
from creases._typing import Bools, Floats, Ints
from creases.problems import Problem
from creases.tables._folder.records import read_record
from creases.tables._model.schema import decide
from creases.tables._split.split import TableSplit
from creases.tables._stages.families import probabilities

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


# Models beside each other.


Metrics = ClassificationMetrics | RegressionMetrics

#: Numbers in a table up to which one thread is fastest: more would wait for each other.
SMALL = 1_000_000

#: Values of a category that boosted trees take as codes, at most.
MOST_CODES = 255

#: Name of the boosted trees.
BOOSTING = "HistGradientBoosting"

#: Names of the constant models.
CONSTANT = ("most frequent class", "mean of the target")

#: Digits after the point of scores: a difference that does not show in them is none.
DIGITS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Baseline(OneLine):
    """A model with its score on each part of the data: accuracy, or R^2."""

    name: str
    predictions: NDArray[Any] = field(repr=False)  #: (n,) for all rows
    train: float
    validation: float
    test: float
    error: float | None  #: root of the mean squared error on the test rows, in the target's own units; for regression
    probabilities: Floats | None = field(default=None, repr=False)  #: (n, classes) for all rows
    metrics: Metrics | None = None  #: on the test rows; None if there are none

    @property
    def by_part(self) -> dict[str, float]:
        """The score on each part of the data that has rows, and the error on the test rows of a regression."""
        scores = {"train": self.train, "validation": self.validation, "test": self.test}
        scores |= {} if self.error is None else {"test_rmse": self.error}
        return {name: score for name, score in scores.items() if not np.isnan(score)}


def baselines(
    net: Callable[[Floats], Floats], data: TableSplit, *, threshold: float = 0.5, name: str = "grown network"
) -> list[Baseline]:
    """Return the scores of the network, of a linear model, of boosted trees and of a constant, in this order.

    The others are scikit-learn's, fitted to the rows that the network was trained and validated on, with the same
    weights of classes. Trees get a category as one column. The network is for rows in the data's own units; it
    predicts the second of two classes above the threshold.
    """
    problem, network = data.problem, score_outputs(net, data, threshold, name)
    rows = np.sort(np.concatenate([data.train, data.validation]))
    center, spread = data.moments
    y = problem.y
    weight = None if data.class_weights is None else data.class_weights[y[rows]]
    if (own := problem.row_weights) is not None:
        weight = own[rows] * (1.0 if weight is None else weight)
    from threadpoolctl import threadpool_limits

    scores = [network]
    lookups = [
        j for j, feature in enumerate(problem.encoding.features if problem.encoding else ()) if feature.is_lookup
    ]
    trained, known = _encode_targets(problem, lookups, rows)
    codes, is_category = _category_codes(problem, lookups)
    plain = np.delete((problem.X - center) / spread, lookups, axis=1)
    for title, model, wants_codes in _simple_models(
        problem.classes is not None, np.append(is_category, known[0] != known[0])
    ):
        X = np.hstack([codes if wants_codes else plain, known])
        with warnings.catch_warnings(), threadpool_limits(1 if problem.X.size <= SMALL else None):
            warnings.simplefilter("ignore")  # of a fit that has not quite converged: it is a yardstick
            model.fit(
                np.hstack([X[rows, : -known.shape[1] or None], trained]),
                y[rows],
                sample_weight=None if title == CONSTANT[0] else weight,
            )
            chances = None
            if problem.classes is not None:
                chances = np.zeros((len(X), len(problem.classes)))  # 0 for classes that the model has not seen
                chances[:, model.classes_.astype(np.int64)] = model.predict_proba(X)
            scores.append(score_model(title, model.predict(X), data, chances))
    return scores


def score_outputs(
    net: Callable[[Floats], Floats], data: TableSplit, threshold: float = 0.5, name: str = "grown network"
) -> Baseline:
    """Return the scores of a network alone."""
    outputs = np.asarray(net(data.problem.X))
    if data.problem.classes is None:
        return score_model(name, outputs[:, 0], data)
    return score_model(name, decide(outputs, threshold), data, probabilities(outputs))


def baseline_warnings(scores: Sequence[Baseline], data: TableSplit) -> dict[str, str]:
    """Return which baselines the network does not beat on the test rows, and what to try, by their names.

    A constant must be beaten; of the others, those count that are better by more than one standard error of the
    difference. Classes are compared by accuracy, with weights of classes by balanced accuracy.
    """
    net, *others = scores
    if len(data.test) < 2:
        return {}
    result = {}
    for model in others:
        measure, (gap, error) = measure_name(data), _gain(model, net, data)
        if model.name in CONSTANT:
            if gap >= 0:
                result[model.name] = _constant_warning(model, net, data, measure)
        elif gap > max(error, 1e-9):
            numbers = f"{measure} {_number(model, data)} on the test rows; the network has {_number(net, data)}"
            result[model.name] = f"{model.name} has {numbers}."
    return result


def _constant_warning(model: Baseline, net: Baseline, data: TableSplit, measure: str) -> str:
    classes, hint = data.problem.classes, "It has learned nothing that generalizes."
    constant = "mean of the target"
    if classes is not None:
        constant = f"majority class ({classes[int(model.predictions[0])]})"
        if data.class_weights is None:
            way = "--class-weight balanced" + (" or --threshold f1" if len(classes) == 2 else "")
            hint = f"Try {way} (in Python class_weight='balanced'), and judge by F1 or ROC AUC."
    text = f"The {constant} alone has {measure} {_number(model, data)} on the test rows; the network has "
    return f"{text}{_number(net, data)}. {hint}"


def measure_name(data: TableSplit) -> str:
    """Return what models are compared by."""
    if data.problem.classes is None:
        return "RMSE"
    return "accuracy" if data.class_weights is None else "balanced accuracy"


def _number(model: Baseline, data: TableSplit) -> str:
    if isinstance(model.metrics, RegressionMetrics):
        return format_number(model.metrics.rmse)
    assert model.metrics is not None
    metrics = model.metrics
    return f"{metrics.accuracy if data.class_weights is None else metrics.balanced_accuracy:.3f}"


def row_scores(model: Baseline, data: TableSplit) -> Floats:
    """Return scores (n,) of the test rows whose mean is what models are compared by; more is better."""
    y, predictions = data.problem.y[data.test], model.predictions[data.test]
    if data.problem.classes is None:
        return np.asarray(-((predictions - y) ** 2), np.float64)
    right: Floats = (predictions == y).astype(np.float64)
    if data.class_weights is None:
        return right
    counts = np.bincount(y)
    return np.asarray(right * len(y) / ((counts > 0).sum() * counts[y]))


def _gain(first: Baseline, other: Baseline, data: TableSplit) -> tuple[float, float]:
    """Return by how much one model scores the test rows better than another, and the standard error of that mean."""
    gains = row_scores(first, data) - row_scores(other, data)
    return float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))


def _encode_targets(problem: Problem, lookups: Sequence[int], rows: Ints) -> tuple[Floats, Floats]:
    """Return for columns of very many values the mean target of each value, shrunk (scikit-learn's target encoding).

    The first (len(rows), k) are for the rows to fit to, each by the others of five folds; the second (n, k) for all.
    """
    from sklearn.model_selection import KFold
    from sklearn.preprocessing import TargetEncoder

    y, classes = problem.y, problem.classes
    targets = [y] if classes is None else [(y == k).astype(np.float64) for k in range(len(classes) == 2, len(classes))]
    codes, trained, known = problem.X[:, [*lookups]], [], []
    for target in targets if lookups else []:
        encoder, parts = TargetEncoder(target_type="continuous"), np.zeros((len(rows), len(lookups)))
        for others, part in KFold(5, shuffle=True, random_state=0).split(rows):
            parts[part] = encoder.fit(codes[rows[others]], target[rows[others]]).transform(codes[rows[part]])
        trained.append(parts)
        known.append(encoder.fit(codes[rows], target[rows]).transform(codes))
    return np.hstack([np.zeros((len(rows), 0)), *trained]), np.hstack([np.zeros((len(y), 0)), *known])


def _category_codes(problem: Problem, lookups: Sequence[int]) -> tuple[Floats, Bools]:
    """Return the rows with one column (n,) of codes for each category, and which of the columns are such.

    A category of more values than trees can take, and a table without an encoding, stay as they are; what a lookup
    reads is left out.
    """
    features = problem.encoding.features if problem.encoding is not None else ()
    columns: dict[str, list[int]] = {}
    for j in sorted({*range(problem.X.shape[1])}.difference(lookups)):
        is_level = bool(features) and features[j].is_level
        columns.setdefault(f"category {features[j].column}" if is_level else f"input {j}", []).append(j)
    parts, is_category = [], []
    for name, places in columns.items():
        levels = problem.X[:, places]
        is_code = name.startswith("category ") and len(places) < MOST_CODES
        code = np.where(levels.any(axis=1), levels.argmax(axis=1), len(places)).astype(np.float64)
        parts.append(code[:, None] if is_code else levels)
        is_category += [is_code] * parts[-1].shape[1]
    return np.concatenate(parts, axis=1), np.array(is_category)


def _simple_models(classification: bool, is_category: Bools) -> list[tuple[str, Any, bool]]:
    """Return the models by name, and whether each takes categories as codes."""
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge

    if classification:
        linear = ("LogisticRegression", LogisticRegression(max_iter=1000), False)
        trees = HistGradientBoostingClassifier(random_state=0, categorical_features=is_category)
        return [linear, (BOOSTING, trees, True), (CONSTANT[0], DummyClassifier(strategy="prior"), False)]
    trees = HistGradientBoostingRegressor(random_state=0, categorical_features=is_category)
    return [("Ridge", Ridge(), False), (BOOSTING, trees, True), (CONSTANT[1], DummyRegressor(), False)]


def score_model(
    name: str, predictions: NDArray[Any], data: TableSplit, probabilities: Floats | None = None
) -> Baseline:
    """Return a model's scores from its predictions (n,) and probabilities (n, classes) for all rows."""
    y, regression = data.problem.y, data.problem.classes is None
    parts = (data.train, data.validation, data.test)
    train, held, test = (_score(predictions, data, rows) for rows in parts)
    errors = (predictions - y)[data.test] if regression else np.zeros(0)
    weight = None if data.problem.row_weights is None else data.problem.row_weights[data.test]
    size = float(np.sqrt(np.average(errors**2, weights=weight))) if len(errors) else float("nan")
    error = size if regression else None
    metrics = part_metrics(predictions, probabilities, data, data.test)
    return Baseline(name, predictions, train, held, test, error, probabilities, metrics)


def part_metrics(
    predictions: NDArray[Any], probabilities: Floats | None, data: TableSplit, rows: Ints
) -> Metrics | None:
    """Return the measures on some rows of the table; None if there are none."""
    if not len(rows):
        return None
    y, classes = data.problem.y[rows], data.problem.classes
    if classes is None:
        weight = data.problem.row_weights
        return regression_metrics(y, predictions[rows], None if weight is None else weight[rows])
    return classification_metrics(
        y, predictions[rows], None if probabilities is None else probabilities[rows], len(classes)
    )


def metrics_summary(scores: Sequence[Baseline], data: TableSplit, threshold: float = 0.5) -> dict[str, Any]:
    """Return all measures as JSON-able data: of the network on each part, of the baselines on the test rows."""
    net, *others = scores
    parts = {"train": data.train, "validation": data.validation, "test": data.test}
    measures = {name: part_metrics(net.predictions, net.probabilities, data, rows) for name, rows in parts.items()}
    classes = data.problem.classes
    return {
        "creases-metrics": 1,
        "task": data.task,
        "classes": None if classes is None else list(classes),
        "threshold": None if classes is None else threshold,
        "class_weights": None if data.class_weights is None else data.class_weights.tolist(),
        "network": {name: None if part is None else part.to_dict() for name, part in measures.items()},
        "baselines": {model.name: None if model.metrics is None else model.metrics.to_dict() for model in others},
        "warnings": [*baseline_warnings(scores, data).values()],
    }


def _score(predictions: NDArray[Any], data: TableSplit, rows: Ints) -> float:
    from sklearn.metrics import accuracy_score, r2_score

    regression, weight = data.problem.classes is None, data.problem.row_weights
    if len(rows) < 1 + regression:
        return float("nan")
    score, own = r2_score if regression else accuracy_score, None if weight is None else weight[rows]
    return float(score(data.problem.y[rows], predictions[rows], sample_weight=own))


# How a model compares with others on the test rows.


@dataclass(frozen=True)
class Comparison:
    """The difference of two models on the same test rows."""

    other: str  #: the other model
    measure: str  #: "accuracy", "balanced accuracy" or "R²"
    gap: float  #: by how much the first is better
    error: float  #: standard error of that difference

    @property
    def verdict(self) -> str:
        """Whether it is "better", "worse" or, within one standard error, "level"."""
        is_level = round(abs(self.gap), DIGITS) <= round(self.error, DIGITS)
        return "level" if is_level else "better" if self.gap > 0 else "worse"

    def __str__(self) -> str:
        amount = f"{abs(self.gap):.{DIGITS}f} ± {self.error:.{DIGITS}f} in {self.measure}"
        if self.verdict == "level":
            return f"Level with {self.other} on the test rows (difference {amount})."
        return f"{self.verdict.capitalize()} than {self.other} on the test rows, by {amount}."


def compare_models(scores: Sequence[Baseline], data: TableSplit) -> list[Comparison]:
    """Return how the first model compares on the test rows with each of the others that is no constant.

    The standard error is that of the mean of the differences row by row.
    """
    first, *others = scores
    y = data.problem.y[data.test]
    if len(y) < 2:
        return []
    is_regression = data.problem.classes is None
    unit = float(np.var(y)) if is_regression else 1.0
    if unit == 0:
        return []
    result = []
    for other in others:
        if other.name not in CONSTANT:
            gain, error = _gain(first, other, data)
            measure = "R²" if is_regression else measure_name(data)
            result.append(Comparison(other.name, measure, gain / unit, error / unit))
    return result


# Predictions and scores beside a model, so that reports need not fit again.


#: Predictions of larger tables are not kept: to fit again takes little time beside reading them.
MOST_NUMBERS = 2_000_000


def save_baselines(models: Sequence[Baseline], data: TableSplit, path: Path, *, always: bool = False) -> None:
    """Write predictions and scores of models for the rows of a table, unless there are too many.

    Those of a model that was fitted again to all rows are ``always`` kept: it cannot be scored again.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for k, model in enumerate(models):
        arrays[f"predictions{k}"] = model.predictions
        if model.probabilities is not None:
            arrays[f"probabilities{k}"] = model.probabilities
    if not always and sum(array.size for array in arrays.values()) > MOST_NUMBERS:
        return
    numbers = [
        {
            "name": model.name,
            "scores": [model.train, model.validation, model.test, model.error],
            "metrics": None if model.metrics is None else model.metrics.to_dict(),
        }
        for model in models
    ]
    with write_atomically(path) as temporary:
        np.savez_compressed(
            temporary, rows=_fingerprint(data), numbers=np.array(json.dumps(numbers)), allow_pickle=False, **arrays
        )


def load_baselines(path: Path, data: TableSplit) -> list[Baseline] | None:
    """Return the models of a file; None if there is none, or it is damaged or of other rows."""
    if not path.is_file():
        return None
    try:
        with open_npz(path) as arrays:
            if not np.array_equal(arrays["rows"], _fingerprint(data)):
                return None
            numbers = json.loads(str(arrays["numbers"]))
            return [_read_model(arrays, k, entry) for k, entry in enumerate(numbers)]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _read_model(arrays: Any, k: int, entry: dict[str, Any]) -> Baseline:
    train, validation, test, error = entry["scores"]
    values = entry["metrics"]
    kind: Any = ClassificationMetrics if "accuracy" in (values or {}) else RegressionMetrics
    metrics = None if values is None else read_record(kind, values, "the metrics")
    predictions, chances = arrays[f"predictions{k}"], arrays.get(f"probabilities{k}")
    return Baseline(entry["name"], predictions, train, validation, test, error, chances, metrics)


def _fingerprint(data: TableSplit) -> NDArray[np.uint8]:
    """Return a digest (32,) of the rows, the targets and the split."""
    digest = hashlib.sha256()
    for array in (data.problem.X, data.problem.y, *data.parts):
        digest.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(digest.digest(), np.uint8)
