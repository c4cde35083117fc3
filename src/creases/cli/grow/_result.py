"""Grow a network into a folder: its files, and its report as text and as JSON."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from creases._files import write_atomically, write_json
from creases.cli._sections import print_columns
from creases.cli.console import command, note, out, print_next
from creases.cli.grow._report import Report, parts, text
from creases.tables import (
    Experiment,
    RunFile,
    RunSettings,
    TableSplit,
    baselines,
    data_box,
    lock_folder,
    metrics_summary,
    prepare_folder,
)

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition
    from creases.show import GrowthView


# The files of a finished growth run.


def write(report: Report, folder: Path) -> dict[str, Path]:
    """Write the network, its description, the history, the picture and the report; return the files by name."""
    net, history, data = report.experiment.network, report.experiment.history, report.data
    files = {"picture": folder / RunFile.PICTURE, "report": folder / RunFile.REPORT}
    files["network"] = net.save(folder / RunFile.MODEL)
    model = report.experiment.table_model()
    description = report.description() | {
        "ranges": model.schema.ranges.tolist(),
        "regions": model.regions,
        "same": model.same,
    }
    files["description"] = write_json(description, folder / RunFile.DESCRIPTION)
    if data.problem.encoding is not None:
        files["table encoding"] = folder / RunFile.ENCODING  # written before the run began
    metrics = metrics_summary(report.baselines, data, report.experiment.threshold)
    files["metrics"] = write_json(metrics, folder / RunFile.METRICS)
    if find_spec("onnx") is not None:
        files["ONNX"] = net.save(folder / RunFile.ONNX)
    named = {"features": data.problem.features, "classes": data.problem.classes, "scaling": data.scaling.to_dict()}
    files["history"] = replace(history, setting=history.setting | named).save(folder / RunFile.HISTORY)
    with write_atomically(files["report"]) as temporary:
        temporary.write_text(text(report), encoding="utf-8")
    _draw(report, files["picture"])
    return files


def _draw(report: Report, path: Path, *, dpi: int = 160) -> None:
    """Draw the growth as a picture."""
    from creases.show import plot_growth, save_figure

    figure = plot_growth(
        report.experiment.history, view=_view(report), kept_epoch=report.experiment.best_epoch, score=report.measure
    )
    save_figure(figure, path, dpi=dpi)


def _view(report: Report) -> GrowthView | None:
    """Return the network on its one or two inputs; None if it has more."""
    from creases.show import GrowthView

    problem, snapshots = report.data.problem, report.experiment.snapshots
    inputs = problem.X.shape[1]
    if inputs > 2 or (inputs == 1 and problem.classes is not None):
        return None
    first = None if snapshots is None else snapshots.before_growth
    before = None if first is None else _partition(first, report)
    after = _partition(report.experiment.network, report)
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
        experiment = Experiment(data, settings.config, folder=home)
        note(f"The loop: {experiment.create_run().history.loop}.")
        experiment.run()
        report = Report(settings, experiment, baselines(experiment.network, data, threshold=experiment.threshold))
        return report, write(report, home)


def print_result(report: Report, files: dict[str, Path]) -> None:
    """Print the report, and which files to open."""
    for part in parts(report):
        out.print(part)
    print_files(files, files["network"].parent)


def print_files(files: dict[str, Path], folder: Path) -> None:
    """Print which files there are, and what to do with them."""
    out.print()
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, path in files.items():
        table.add_row(f"[dim]{name}[/]", str(path))
    out.print(table)
    out.print(f'\nIn Python: creases.load("{folder}").predict(rows)', soft_wrap=True)
    out.print(f"New rows:  {command('predict', folder, 'new.csv', '--out', 'predictions.csv')}", soft_wrap=True)
    print_next(command("report", folder, "--out", "report.html"), "explore every growth step in a browser")
