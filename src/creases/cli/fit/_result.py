"""Fit a table by curves, planes and units into a folder, and print the model."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from creases._files import write_atomically, write_json
from creases._text import format_number, plural
from creases.cli._columns import print_readings
from creases.cli._measures import class_parts
from creases.cli.console import command, out, print_next
from creases.errors import ColumnWarning
from creases.tables import (
    ClassificationMetrics,
    Comparison,
    FitSettings,
    RegressionMetrics,
    RunFile,
    TableModel,
    TableSplit,
    baseline_warnings,
    compare_models,
    describe_model,
    describe_stage,
    lock_folder,
    metrics_summary,
    model_to_dict,
    prepare_folder,
)

WIDTH = 100


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted table."""

    settings: FitSettings
    model: TableModel
    comparisons: list[Comparison]

    @property
    def measure(self) -> str:
        """What the scores are."""
        return "R²" if self.model.classes is None else "accuracy"


def scored_rows(model: TableModel) -> TableSplit:
    """Return the rows that the scores of a model are on."""
    assert model.scored.data is not None
    return model.scored.data


def fit_into(
    settings: FitSettings, home: Path, *, force: bool, show_columns: bool = False
) -> tuple[Fit, dict[str, Path]]:
    """Fit a table and write all files; return the model and the files by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # said below, and in the text
        model = settings.fit()  # refuses what cannot be fitted before anything is written
    if show_columns and model.encoding is not None:
        print_readings(model.encoding)
    fit = Fit(settings, model, compare_models(model.baselines, scored_rows(model)))
    with lock_folder(home):
        prepare_folder(home, force=force)
        settings.save(home)
        return fit, _write(fit, home)


def _write(fit: Fit, folder: Path) -> dict[str, Path]:
    """Write the model, its measures and its text; return the files by name."""
    model = fit.model
    model.save(folder)
    files = {"model": folder / RunFile.DESCRIPTION}
    if model.encoding is not None:
        files["table encoding"] = folder / RunFile.ENCODING
    metrics = metrics_summary(model.baselines, scored_rows(model), model.threshold)
    files["metrics"] = write_json(metrics, folder / RunFile.METRICS)
    if find_spec("onnx") is not None:
        files["ONNX"] = model.to_onnx(folder / RunFile.ONNX)
    files["text"] = folder / RunFile.REPORT
    with write_atomically(files["text"]) as temporary:
        temporary.write_text(_text(fit), encoding="utf-8")
    return files


def summarize(fit: Fit, files: dict[str, Path]) -> dict[str, Any]:
    """Return the content of the report as JSON."""
    model = fit.model
    assert model.data is not None
    compared = [asdict(each) | {"verdict": each.verdict} for each in fit.comparisons]
    steps = [asdict(step) for step in model.steps]
    return {
        **model_to_dict(model),
        "rows": model.n_rows,
        "steps": steps,
        "bends": model.function.n_bends,
        "comparisons": compared,
        "files": {name: str(path) for name, path in files.items()},
    }


def print_result(fit: Fit, files: dict[str, Path]) -> None:
    """Print the scores, the model and what each stage brought, and which files to open."""
    for part in _parts(fit):
        out.print(part)
    folder = files["model"].parent
    out.print(f"\n[dim]Written to {escape(str(folder))}: {', '.join(path.name for path in files.values())}[/]")
    out.print(f'In Python: creases.load("{folder}").predict(rows)', soft_wrap=True)
    out.print(f"New rows:  {command('predict', folder, 'new.csv', '--out', 'predictions.csv')}", soft_wrap=True)
    print_next(command("explain", folder, "--row", "0"), "why a row gets its prediction")


def _text(fit: Fit) -> str:
    """Return the report as plain text, with the measures of each class."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, highlight=False)
    model = fit.model
    for part in [*_parts(fit), "", *class_parts(model.baselines, scored_rows(model), model.threshold)]:
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"


def _parts(fit: Fit) -> Iterator[RenderableType]:
    yield from _opening(fit)
    yield ""
    yield _scores(fit)
    yield ""
    yield "[bold]The model[/]"
    assert fit.model.data is not None
    for line in describe_model(fit.model):
        yield escape(line)
    yield ""
    yield "[bold]What each stage brought[/] [dim](on held-out folds of the rows fitted)[/]"
    for step in fit.model.steps:
        yield escape(f"  {describe_stage(step, fit.model.task)}")
    if advice := _advice(fit):
        yield ""
        for line in advice:
            yield escape(line)


def _opening(fit: Fit) -> Iterator[RenderableType]:
    model = fit.model
    assert model.data is not None
    problem, rows = model.data.problem, model.n_rows
    yield f"[bold]{escape(problem.name)}: {escape(problem.description)}[/]"
    columns = len(set(model.columns))
    yield escape(
        f"{plural(columns, 'column')} used; {plural(rows['train'], 'row')} fitted, "
        f"{plural(rows['test'], 'row')} held out for testing"
    )


def _scores(fit: Fit) -> Table:
    """Return the scores of the model and of others, the test rows' in more than one measure."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    models = fit.model.baselines
    is_classifier = fit.model.classes is not None
    more = ("balanced", "F1", "ROC AUC", "log loss") if is_classifier else ("RMSE", "MAE")
    table.add_column(fit.measure, no_wrap=True)
    for head in ("fitted", "test", *more):
        table.add_column(head, justify="right")
    for k, each in enumerate(models):
        part, cells = each.metrics, []
        if isinstance(part, ClassificationMetrics):
            cells = [_digits(v) for v in (part.balanced_accuracy, part.f1_score, part.roc_auc, part.log_loss)]
        elif isinstance(part, RegressionMetrics):
            cells = [format_number(part.rmse), format_number(part.mae)]
        name = f"this model ({fit.model.title})" if not k else each.name
        table.add_row(escape(name), _digits(each.train), _digits(each.test), *cells, style=None if k else "bold")
    return table


def _digits(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.3f}"


def _advice(fit: Fit) -> list[str]:
    """Say how the model compares, and what to try where another is better."""
    lines = [str(each) for each in fit.comparisons]
    if any(each.verdict == "worse" for each in fit.comparisons):
        more = "--ensemble 8, " if fit.settings.config.ensemble == 1 else ""
        lines.append(f"To try: {more}creases grow --budget '60 s' (both add units of many columns), or more rows.")
    data = scored_rows(fit.model)
    advice = [each for each in baseline_warnings(fit.model.baselines, data) if each.settings]
    return lines + [each.render(lambda param, value: f"--{param.replace('_', '-')} {value}") for each in advice]
