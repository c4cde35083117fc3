"""The measures of a run on its test rows, as tables that fit 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from creases._text import format_number, plural
from creases.tables import (
    Baseline,
    ClassificationMetrics,
    RegressionMetrics,
    TableSplit,
    baseline_warnings,
)

#: Classes whose confusion is shown as a table, and characters of their names.
MAX_CLASSES, NAME_LENGTH = 8, 12


def measure_parts(models: Sequence[Baseline], data: TableSplit, threshold: float) -> Iterator[RenderableType]:
    """Yield the measures on the test rows: all models, each class, the confusion, and warnings."""
    net = models[0].metrics
    if net is None:
        return
    yield f"[bold]On the {plural(net.rows, 'test row')}[/]"
    yield _model_table(models)
    yield from class_parts(models, data, threshold)
    for warning in baseline_warnings(models, data):
        yield ""
        text = warning.render(lambda param, value: f"--{param.replace('_', '-')} {value}")
        yield f"[bold yellow]Warning:[/] {escape(text)}"
    yield ""


def class_parts(models: Sequence[Baseline], data: TableSplit, threshold: float) -> Iterator[RenderableType]:
    """Yield the measures of the first model on the test rows: of each class and the confusion, or its residuals."""
    net = models[0].metrics
    if isinstance(net, ClassificationMetrics):
        yield f"[dim]{_legend(net, threshold, weighted=data.class_weights is not None)}[/]"
        if len(net.support) <= MAX_CLASSES:
            assert data.problem.classes is not None
            yield ""
            yield _class_table(net, data.problem.classes)
    elif isinstance(net, RegressionMetrics):
        low, first, _, third, high = map(format_number, net.residuals)
        yield f"[dim]residuals (prediction - target): {low} to {high}, middle half from {first} to {third}[/]"


def _model_table(models: Sequence[Baseline]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    is_classifier = isinstance(models[0].metrics, ClassificationMetrics)
    heads = ("accuracy", "balanced", "F1", "ROC AUC", "PR AUC", "log loss") if is_classifier else ("R²", "RMSE", "MAE")
    table.add_column("")
    for head in heads:
        table.add_column(head, justify="right")
    for k, model in enumerate(models):
        part = model.metrics
        cells: list[str] = []
        if isinstance(part, ClassificationMetrics):
            values = (part.accuracy, part.balanced_accuracy, part.f1_score, part.roc_auc, part.pr_auc, part.log_loss)
            cells = [_three_digits(value) for value in values]
        elif isinstance(part, RegressionMetrics):
            cells = [_three_digits(part.r2), format_number(part.rmse), format_number(part.mae)]
        table.add_row(escape(model.name), *cells, style=None if k else "bold")
    return table


def _three_digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _legend(net: ClassificationMetrics, threshold: float, *, weighted: bool) -> str:
    parts = ["balanced: mean recall of the classes"]
    if weighted:
        parts.append("with class weights, probabilities are not calibrated")
    elif net.calibration_error is not None:
        parts.append(f"calibration error {net.calibration_error:.3f}")
    return "; ".join(parts if threshold == 0.5 else [*parts, f"threshold {threshold:.3f}"])


def _class_table(net: ClassificationMetrics, classes: Sequence[str]) -> Table:
    """Return precision and recall of each class, and how its rows are predicted."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("class")
    for head in ("rows", "precision", "recall", "F1"):
        table.add_column(head, justify="right")
    names = [_shorten(name) for name in classes]
    wide = sum(map(len, names)) + 2 * len(names) + max(map(len, names)) + 34 > 80
    for k, name in enumerate(names):
        table.add_column(f"as {k + 1}" if wide else f"as {escape(name)}", justify="right")
    for k, name in enumerate(names):
        scores = [f"{values[k]:.3f}" for values in (net.precision, net.recall, net.f1)]
        label = f"{k + 1} {name}" if wide else name
        table.add_row(escape(label), str(net.support[k]), *scores, *map(str, net.confusion[k]))
    return table


def _shorten(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"
