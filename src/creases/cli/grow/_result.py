"""Grow a network into a folder: its files, and what came of it as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from creases._files import parse_json, read_text, write_atomically, write_json
from creases._text import format_number, plural
from creases.cli._sections import print_columns, section_parts, write_text
from creases.cli.console import command, note, out, print_next
from creases.tables import (
    Experiment,
    GrownModel,
    RunFile,
    RunSettings,
    TableSplit,
    baseline_warnings,
    data_box,
    lock_folder,
    metrics_summary,
    model_baselines,
    prepare_folder,
)

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition
    from creases.show import GrowthView


@dataclass(frozen=True, eq=False)
class Report:
    """A run and the model that came of it."""

    settings: RunSettings
    experiment: Experiment
    model: GrownModel

    @property
    def data(self) -> TableSplit:
        """The rows, split and scaled."""
        return self.experiment.data

    def summary(self, files: dict[str, Path]) -> dict[str, Any]:
        """Return the run as JSON: the description of its model, what was spent, every stage and growth step."""
        history, data = self.experiment.history, self.data
        steps = [
            {
                **{name: getattr(record, name) for name in ("number", "epoch", "place", "action", "units", "removed")},
                "width": list(record.width),
                "kept": history.keeps(record),
                "undone": record.undone,
                "why": record.why(**data.names),
                "loss_before": record.before["loss"],
                "loss_after": record.later.get("loss"),
                "score_after": record.later.get("validation_score"),
            }
            for record in history.records
        ]
        return {
            **parse_json(read_text(files["description"])),
            "widths": list(self.experiment.widths),
            "parameters": sum(parameter.numel() for parameter in self.experiment.model.parameters()),
            "rows": {"train": len(data.train), "validation": len(data.validation), "test": len(data.test)},
            "how": self.settings.config.how,
            "budget": history.setting["budget"],
            "spent": {name: history.last[name] for name in ("epochs", "seconds", "multiply_adds")},
            "epochs": round(history.last["epochs"], 6),  # of training, those of stages that were undone included
            "epochs_in_history": len(history.epochs),
            "kept_epoch": history.best_epoch,
            "stages": history.stages,
            "growth_ended": history.growth_ended,
            "ended": history.ending,
            "growth_steps": steps,
            "files": {name: str(path) for name, path in files.items()},
        }


def fit_into(
    settings: RunSettings, home: Path, *, force: bool, fresh: bool, show_columns: bool = False
) -> tuple[Report, dict[str, Path]]:
    """Start or resume a run, and write all its files; return the report and the files by name."""
    problem = settings.load_problem()
    if show_columns and problem.encoding is not None:
        print_columns(problem.encoding)
    data = TableSplit.from_problem(problem, settings.config)
    Experiment(data, settings.config, fit=False)  # refuses what cannot start before writing anything
    with lock_folder(home):
        if fresh:
            prepare_folder(home, force=force)
        settings.save(home)
        if problem.encoding is not None:
            write_json(problem.encoding.to_dict(), home / RunFile.ENCODING)
            settings.store_rows(problem, home)
        experiment = Experiment(data, settings.config, folder=home)
        experiment.run(on_start=lambda run: note(f"The loop: {run.history.loop}."))
        report = Report(settings, experiment, experiment.table_model())
        return report, _write(report, home)


def _write(report: Report, folder: Path) -> dict[str, Path]:
    """Write the model, the history, the picture and the report; return the files by name."""
    from creases.show import plot_growth, save_figure

    history, data, model = report.experiment.history, report.data, report.model
    model.save(folder)
    files = {"picture": folder / RunFile.PICTURE, "report": folder / RunFile.REPORT}
    files |= {"network": folder / RunFile.MODEL, "description": folder / RunFile.DESCRIPTION}
    if data.problem.encoding is not None:
        files["table encoding"] = folder / RunFile.ENCODING
    metrics = metrics_summary(model_baselines(model), data, model.schema.threshold)
    files["metrics"] = write_json(metrics, folder / RunFile.METRICS)
    if find_spec("onnx") is not None:
        files["ONNX"] = model.network.save(folder / RunFile.ONNX)
    named = {"features": data.problem.features, "classes": data.problem.classes, "scaling": data.scaling.to_dict()}
    files["history"] = replace(history, setting=history.setting | named).save(folder / RunFile.HISTORY)
    in_full = [escape(record.explain(**data.names)) + "\n" for record in history.records]
    with write_atomically(files["report"]) as temporary:
        text = write_text([*_parts(report, full=True), "", "[bold]The growth steps in full[/]", "", *in_full])
        temporary.write_text(text, encoding="utf-8")
    save_figure(plot_growth(history, view=_view(report), score=history.measure), files["picture"], dpi=160)
    return files


def _view(report: Report) -> GrowthView | None:
    """Return the network on its one or two inputs; None if it has more."""
    from creases.show import GrowthView

    problem, snapshots = report.data.problem, report.experiment.snapshots
    inputs = problem.X.shape[1]
    if inputs > 2 or (inputs == 1 and problem.classes is not None):
        return None
    first = None if snapshots is None else snapshots.before_growth
    before = None if first is None else _partition(first, report)
    after = _partition(report.model.network, report)
    return GrowthView(before, after, problem.X, problem.y, problem.features, problem.classes)


def _partition(net: Network, report: Report) -> LinePartition | PlanePartition:
    from creases.cli.console import load_kernels
    from creases.regions import line, plane

    around = data_box(report.data.problem.X)
    if len(around) == 1:
        ((low, high),) = around
        return line(net, [low], [high])
    load_kernels()
    return plane(net, around)


def _parts(report: Report, *, full: bool = False) -> Iterator[RenderableType]:
    """Yield what the report says, for a file in full."""
    yield from map(escape, _opening(report))
    document = report.model.describe()
    yield escape(document.lead)
    yield from section_parts(document.sections, full=full)
    history = report.experiment.history
    has_seen = history.joined is not None or history.kept == 0  # of the validation rows, whose scores then say little
    models = "The network and the other models were" if has_seen else "The other models were"
    yield f"[dim]{models} fitted on training and validation rows.[/]"
    for text in baseline_warnings(model_baselines(report.model), report.data).values():
        yield ""
        yield f"[bold yellow]Warning:[/] {escape(text)}"


def _opening(report: Report) -> Iterator[str]:
    """Yield what the data are."""
    data, problem = report.data, report.data.problem
    yield f"{problem.name}: {problem.description}"
    if problem.classes is not None:
        counts = np.bincount(problem.y, minlength=len(problem.classes))
        labels = [f"{name} {count}" for name, count in zip(problem.classes, counts, strict=True)]
        yield f"classes: {', '.join(labels[:10])}{', ...' if len(labels) > 10 else ''}"
    else:
        low, high, mean = problem.y.min(), problem.y.max(), problem.y.mean()
        yield f"values from {format_number(low)} to {format_number(high)}, mean {format_number(mean)}"
    inputs = plural(len(problem.features), "input")
    if problem.encoding is not None:
        columns = len({feature.column for feature in problem.encoding.features})
        inputs += f" (from {plural(columns, 'column')})" if columns < len(problem.features) else ""
    yield (
        f"{inputs}; {plural(len(data.train), 'training row')}, {plural(len(data.validation), 'validation row')}, "
        f"{plural(len(data.test), 'held-out test row')}"
    )


def print_result(report: Report, files: dict[str, Path]) -> None:
    """Print the report, which files there are, and what to do with them."""
    for part in _parts(report):
        out.print(part)
    folder = files["network"].parent
    out.print()
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, path in files.items():
        table.add_row(f"[dim]{name}[/]", str(path))
    out.print(table)
    out.print(f'\nIn Python: creases.load("{folder}").predict(rows)', soft_wrap=True)
    out.print(f"New rows:  {command('predict', folder, 'new.csv', '--out', 'predictions.csv')}", soft_wrap=True)
    print_next(command("report", folder, "--out", "report.html"), "explore every growth step in a browser")
