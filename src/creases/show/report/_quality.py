"""Is a network good, and how sure is it: scores beside baselines, confusion matrix, residuals, calibration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._document import Section, table
from creases._text import format_number, plural
from creases._typing import Bools, Floats, Ints
from creases.show._viewer._run import score_name
from creases.show.report._page import format_percent, round_values, series
from creases.show.report._slices import table_rows
from creases.tables import ClassificationMetrics, compare_models, explain_row, short_names

if TYPE_CHECKING:
    from creases.tables import Baseline, GrownModel, TableModel, TableSplit

#: Largest number of classes of a confusion matrix, and of points of a chart.
MAX_CLASSES, MAX_POINTS = 20, 600

#: Number of bins of a histogram.
BINS = 16

#: Rows needed for a calibration curve.
MIN_ROWS = 20

#: What to try instead of a network that another model beats.
WAYS = ("more rows", "the better one of the other models")

#: Names of the columns of scores.
PARTS = ("training", "validation", "test")


def quality_sections(data: TableSplit, models: Sequence[Baseline]) -> list[Section]:
    """Return the sections about the quality: scores, then the errors on the test rows."""
    return [scores_section(data, models), *error_sections(data, models[0].predictions)]


def error_sections(data: TableSplit, predictions: Any) -> list[Section]:
    """Return the confusion matrix and the scores of each class, or the residuals, on the test rows."""
    return [_residuals(data, predictions)] if data.problem.classes is None else _confusion(data, predictions)


def confidence_sections(data: TableSplit, model: Baseline) -> list[Section]:
    """Return the sections about the certainty on the test rows: calibration and confidence, or sizes of errors."""
    rows = data.test
    if data.problem.classes is None:
        return [_errors(data, model.predictions[rows] - data.problem.y[rows])] if len(rows) else []
    if model.probabilities is None or not isinstance(model.metrics, ClassificationMetrics) or len(rows) < MIN_ROWS:
        return []
    chances = model.probabilities[rows, model.predictions[rows]]
    right = model.predictions[rows] == data.problem.y[rows]
    return [_calibration(model.metrics, data.problem.classes), _confidence(chances, right, len(data.problem.classes))]


def headline(target: str, n_inputs: int, task: str, models: Sequence[Baseline]) -> str:
    """Return the answer to the first question in a sentence: the test score beside those of the baselines."""
    about = f"{f'Predicts ‘{target}’' if target else 'A network'} from {plural(n_inputs, 'input')}"
    if not models:
        return f"{about}."
    others = ", ".join(f"{model.name} {format_score(model.test)}" for model in models[1:])
    return f"{about}: test {score_name(task)} {format_score(models[0].test)} ({others})."


def format_score(value: float) -> str:
    """Format a score with three digits after the point."""
    return "–" if not np.isfinite(value) else f"{round(value, 3) + 0.0:.3f}"  # no negative zero


def scores_section(
    data: TableSplit, models: Sequence[Baseline], *, n_fitted: int = 0, ways: Sequence[str] = WAYS
) -> Section:
    """Return the scores of a model beside those of simpler ones, in several measures, and how they compare.

    ``n_fitted`` are the rows that the model was fitted to, where those are more than the others got; ``ways`` are what
    to try where another is better, the most promising first.
    """
    n_sampled = len(data.train) + len(data.validation)
    same = "the same rows" if n_fitted <= n_sampled else f"a sample of {n_sampled:,} of the {n_fitted:,} rows fitted"
    name, is_tested = score_name(data.problem.task), len(data.test) > 0
    comparisons = compare_models(models, data)
    sentences = list(map(str, comparisons))
    if any(each.verdict == "worse" for each in comparisons):
        sentences.append(f"To try: {'; '.join(ways)}.")
    sentences += filter(None, [_compare_with_linear(models, data) if is_tested else ""])
    held = f"{plural(len(data.test), 'test row')} that no model has seen"
    where = held if is_tested else "the rows fitted: none is held out"
    bars = [
        {
            "name": model.name if k else "this model",
            "share": max(0.0, score),
            "text": format_score(score),
            "main": not k,
        }
        for k, model in enumerate(models)
        for score in [model.test if is_tested else model.train]
    ]
    text = f"{name[0].upper()}{name[1:]} on {where}. {' '.join(sentences)}".strip()
    note = f"The others are models of scikit-learn, fitted to {same}."
    return table("Scores", *_score_table(data, models), text=text, bars=bars, note=note, size="full")


def _compare_with_linear(models: Sequence[Baseline], data: TableSplit) -> str:
    """Compare the network with the linear model on the test rows, in a sentence; "" for a regression."""
    net, linear = models[:2]
    if data.problem.classes is None:
        return ""
    right, other = ((model.predictions == data.problem.y)[data.test] for model in (net, linear))
    gained, lost = int((right & ~other).sum()), int((other & ~right).sum())
    if gained == lost == 0:
        return f"On the {len(data.test)} test rows this model makes the same errors as {linear.name}."
    return (
        f"On the {len(data.test)} test rows this model corrects {plural(gained, 'error')} of {linear.name} and makes "
        f"{plural(lost, 'new error')}."
    )


def _score_table(data: TableSplit, models: Sequence[Baseline]) -> tuple[list[str], list[list[str]]]:
    """Return heads, and a row for each model: its score on each part of the rows, more measures on the test rows."""
    shown = [k for k, rows in enumerate(data.parts) if len(rows)]
    more = ("balanced", "F1", "ROC AUC", "log loss") if data.problem.classes is not None else ("test RMSE", "test MAE")
    rows = []
    for k, model in enumerate(models):
        scores, part = (model.train, model.validation, model.test), model.metrics
        cells = [format_score(scores[each]) for each in shown]
        if isinstance(part, ClassificationMetrics):
            measures = (part.balanced_accuracy, part.f1_score, part.roc_auc, part.log_loss)
            cells += ["–" if value is None else format_score(value) for value in measures]
        elif part is not None:
            cells += [format_number(part.rmse), format_number(part.mae)]
        rows.append([model.name if k else "this model", *cells])
    heads = [PARTS[k] for k in shown] + (list(more) if models[0].metrics is not None else [])
    return [score_name(data.problem.task), *heads], rows


def _confusion(data: TableSplit, predictions: Ints) -> list[Section]:
    """Return the confusion matrix of the test rows, and precision, recall and F1 of each class."""
    problem, rows = data.problem, data.test
    assert problem.classes is not None
    if len(problem.classes) > MAX_CLASSES or not len(rows):
        return []
    numbers = list(range(len(problem.classes)))
    y, found = problem.y[rows], predictions[rows]
    counts = np.zeros((len(numbers), len(numbers)), np.int64)
    np.add.at(counts, (y.astype(np.int64), found), 1)
    name = problem.target or "class"
    classes = list(short_names(problem.classes))
    matrix = {"rows": classes, "columns": classes, "values": counts.tolist()}
    matrix |= {"down": f"true {name}", "across": f"predicted {name}"}
    hits, predicted, true = np.diag(counts), counts.sum(axis=0), counts.sum(axis=1)
    shares = [hits / np.maximum(rows_of, 1) for rows_of in (predicted, true, (predicted + true) / 2)]
    cells = [[classes[k], *(format_score(share[k]) for share in shares), str(true[k])] for k in numbers]
    meaning = (
        "Precision: the fraction of rows predicted as the class that belong to it. Recall: the fraction of rows of the "
        "class that are predicted as it."
    )
    wrong = int((y != found).sum())
    text = f"{wrong:,} of {plural(len(rows), 'test row')} misclassified. Correct predictions are on the diagonal."
    return [
        {"title": "Confusion matrix", "text": text, "matrix": matrix, "size": "narrow"},
        table("Scores by class", [name, "precision", "recall", "F1", "test rows"], cells, text=meaning, size="narrow"),
    ]


def _residuals(data: TableSplit, predictions: Floats) -> Section:
    """Return charts of predicted by true values, and of the errors by predicted values, on the test rows."""
    problem, rows = data.problem, data.test[:MAX_POINTS]
    y, found = problem.y[rows], predictions[rows]
    name, unit = problem.target or "value", _target_unit(data)
    extent = round_values([min(y.min(), found.min()), max(y.max(), found.max())])
    charts = [
        {
            "title": "Predicted against true values",
            "x": {"name": f"true {name}{unit}", "range": extent},
            "y": {"name": f"predicted {name}{unit}", "range": extent},
            "series": [series("points", y, found, 0)],
            "diagonal": True,
        },
        {
            "title": "Errors",
            "x": {"name": f"predicted {name}{unit}"},
            "y": {"name": f"predicted − true {name}{unit}"},
            "series": [
                series("points", found, found - y, 0),
                series("line", [found.min(), found.max()], [0.0, 0.0]),
            ],
        },
    ]
    error = np.abs(found - y)
    text = (
        f"On the test rows the mean absolute error is {format_number(float(np.mean(error)))} and the root mean "
        f"squared error {format_number(float(np.sqrt(np.mean(error**2))))}, in the units of {name}. "
        "Perfect predictions lie on the dashed line; the errors should show no pattern."
    )
    return {"title": "Residuals", "text": text, "charts": charts}


def _target_unit(data: TableSplit) -> str:
    """Return the unit of the target for the name of an axis, in brackets; "" where it is in its name, or not known."""
    encoding, target = data.problem.encoding, data.problem.target
    unit = next((c.kind.unit for c in encoding.columns if c.use == "target"), "") if encoding is not None else ""
    return f" ({unit})" if unit and unit not in target else ""


def _calibration(metrics: ClassificationMetrics, classes: Sequence[str]) -> Section:
    """Return the calibration curve: of two classes that of the second, of more that of the predicted class."""
    means, frequencies, counts = (list(values) for values in zip(*metrics.reliability, strict=True))
    is_binary, classes = len(classes) == 2, short_names(classes)
    what = f"rows of class {classes[1]}" if is_binary else "correct predictions"
    least = 0.0 if is_binary else 1 / len(classes)
    chart = {
        "x": {"name": f"predicted probability{f' of {classes[1]}' if is_binary else ''}", "range": [least, 1.0]},
        "y": {"name": f"fraction of {what}", "range": [0.0, 1.0]},
        "series": [series(kind, means, frequencies, 0) for kind in ("line", "points")],
        "diagonal": True,
    }
    text = (
        f"The fraction of {what} for each predicted probability, over {plural(sum(counts), 'test row')} in bins of "
        f"equal width. A calibrated network follows the dashed line; the mean gap (expected calibration error) is "
        f"{format_number(metrics.calibration_error or 0.0)}."
    )
    return {"title": "Calibration", "text": text, "charts": [chart]}


def _confidence(chances: Floats, right: Bools, n_classes: int) -> Section:
    """Return how probable the predicted classes (n,) of right and wrong rows are."""
    edges = np.linspace(min(1 / n_classes, float(chances.min())), 1.0, BINS + 1)
    middle = (edges[:-1] + edges[1:]) / 2
    counts = [np.histogram(chances[mask], edges)[0] for mask in (right, ~right)]
    histogram = {
        "x": {"name": "predicted probability", "range": [float(edges[0]), 1.0]},
        "y": {"name": "rows"},
        "series": [
            series("bars", middle, counts[0], 0, name="correct", faint=True),
            series("bars", middle, counts[1], 6, name="wrong"),
        ],
    }
    held, sure = plural(len(right), "test row"), chances >= 0.9
    wrong = int((sure & ~right).sum())
    text = (
        f"{int(sure.sum()):,} of {held} ({format_percent(float(sure.mean()))}) are predicted with a probability of at "
        f"least 0.9; {wrong or 'none'} of these {'is' if wrong == 1 else 'are'} wrong."
    )
    return {"title": "Confidence", "text": text, "charts": [histogram]}


def _errors(data: TableSplit, error: Floats) -> Section:
    """Return the distribution of the errors on held-out rows."""
    name, size = data.problem.target or "value", np.abs(error)
    counts, edges = np.histogram(error, BINS)
    half, most = (format_number(float(np.quantile(size, share))) for share in (0.5, 0.9))
    chart = {
        "x": {"name": f"predicted − true {name}{_target_unit(data)}"},
        "y": {"name": "rows"},
        "series": [series("bars", (edges[:-1] + edges[1:]) / 2, counts, 0)],
    }
    text = (
        f"Of {plural(len(error), 'test row')}, half are predicted within {half} of the true "
        f"{name} and 90% within {most}."
    )
    return {"title": "Error distribution", "text": text, "charts": [chart]}


# The rows with the largest losses.

#: Rows of each part of the data, and values of columns, that are listed.
HARDEST, LISTED = 5, 6


def losses(model: TableModel | GrownModel, predictions: Any) -> Floats:
    """Return the loss (n,) of each row: cross-entropy, or the squared error in the units of the target."""
    from scipy.special import log_softmax

    assert model.data is not None
    problem = model.data.problem
    if problem.classes is None:
        return np.asarray((predictions - problem.y) ** 2)
    logits = np.asarray(model.network(problem.X), np.float64)
    return np.asarray(-log_softmax(logits, axis=1)[np.arange(len(logits)), problem.y])


def hardest_rows(model: TableModel | GrownModel, predictions: Any) -> dict[str, list[int]]:
    """Return the rows of X with the largest losses in each part of the data, in descending order."""
    assert model.data is not None
    loss, data = losses(model, predictions), model.data
    parts = {"test": data.test, "validation": data.validation, "training": data.train}
    return {name: rows[np.argsort(-loss[rows], kind="stable")[:HARDEST]].tolist() for name, rows in parts.items()}


def hardest_section(model: TableModel | GrownModel, predictions: Any) -> Section:
    """Return a table of the hardest rows: their values in the columns that move these most, and what is predicted."""
    assert model.data is not None
    data, problem, loss = model.data, model.data.problem, losses(model, predictions)
    instance, target = data.names["instance"], problem.target or ("value" if problem.classes is None else "class")
    chosen = [(part, row) for part, rows in hardest_rows(model, predictions).items() for row in rows]
    effects = {row: explain_row(model, problem.X[row]).effects for _, row in chosen}
    weights: dict[str, float] = defaultdict(float)
    for effect in chain.from_iterable(effects.values()):
        weights[effect.name] += abs(effect.share if np.isnan(effect.amount) else effect.amount)
    columns = sorted(weights, key=lambda name: -weights[name])
    cells, numbers = [], table_rows(data)
    for part, row in chosen:
        values = {effect.name: effect.cell for effect in effects[row]}
        listed = [values[name] for name in columns[:LISTED]]
        cells.append([part, str(numbers[row]), *listed, *_outcome(model, row, predictions[row], loss[row])])
    measures = ["error"] if problem.classes is None else ["margin", "loss"]
    heads = ["data", instance, *columns[:LISTED], f"true {target}", f"predicted {target}", *measures]
    text = (
        f"The {instance}s with the largest errors in each part of the data, in the units of the target."
        if problem.classes is None
        else f"The {instance}s with the largest loss in each part of the data. The margin is the score of the "
        "true class minus the highest other score."
    )
    if len(columns) > LISTED:
        text += f" Shown are the {LISTED} of {len(columns)} columns that move these predictions most."
    text += f" {instance.capitalize()}s are numbered from 0."
    return table("Hardest samples", heads, cells, text=text)


def _outcome(model: TableModel | GrownModel, row: int, predicted: Any, loss: float) -> list[str]:
    """Return true and predicted class, margin and loss of a row; target, prediction and error for regression."""
    assert model.data is not None
    y, classes = model.data.problem.y[row], model.data.problem.classes
    if classes is None:
        return [format_number(y), format_number(predicted), format_number(predicted - y)]
    scores = np.asarray(model.network(model.data.problem.X[row : row + 1]), np.float64)[0]
    others = np.delete(scores, y)
    margin = format_number(scores[y] - others.max()) if len(others) else "–"
    return [classes[y], classes[int(predicted)], margin, format_number(loss)]
