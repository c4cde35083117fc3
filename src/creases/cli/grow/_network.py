"""Grow a network on a table into a folder, and print its report."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from creases._files import write_json
from creases.cli._sections import print_columns
from creases.cli.console import command, note, out, print_next
from creases.cli.grow._report import Report, parts
from creases.cli.grow._write import write
from creases.tables import Experiment, RunFile, RunSettings, TableSplit, baselines, lock_folder, prepare_folder


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
