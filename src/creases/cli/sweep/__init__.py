"""``creases sweep``: run a function over many jobs, with results that survive interruptions."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from creases._files import write_atomically
from creases._text import plural
from creases.cli._completion import complete_files
from creases.cli._engine import Engine
from creases.cli._output import check_outputs
from creases.cli.console import (
    INTERRUPTED,
    command,
    err,
    note,
    out,
    print_json,
    print_next,
    print_table,
    repeat_command,
)
from creases.cli.sweep._file import EXAMPLE, read_sweep
from creases.errors import FileError

if TYPE_CHECKING:
    from creases.lab import Status, Sweep

#: Number of rows to print.
PRINTED = 20

Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="Folder of the sweep.", autocompletion=complete_files(), show_default=False),
]


class FileFirst(TyperGroup):
    """A group of commands in which ``creases sweep sizes.toml`` means ``creases sweep run sizes.toml``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command ``run`` before a file."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=FileFirst, no_args_is_help=True, add_completion=False)


@app.callback()
def sweep() -> None:
    """Run a function over many jobs, on all cores or on Ray.

    Results are stored in a folder as they arrive. If interrupted or killed, rerun the same command to resume.

    To try it:
      creases sweep example > sizes.toml
      creases sweep sizes.toml
      creases sweep heat out/sizes --x width --y depth --value success
    """


@app.command("run")
def run_sweep(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Definition of the sweep, TOML; 'creases sweep example' prints one.",
            autocompletion=complete_files(".toml"),
        ),
    ],
    engine: Annotated[
        Engine,
        typer.Option(metavar="NAME", help="local (processes on this machine), serial (this process) or ray."),
    ] = Engine.local,
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Address of a running Ray cluster; default: start one on this machine."),
    ] = None,
    n_jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", help="Number of worker processes; default: the number of cores."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for the results, instead of the one in the file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the final status as JSON.")] = False,
) -> None:
    """Run or resume the sweep that a file defines.

    The file is TOML:
      function = "module:function"  # takes a job's parameters and its seed,
                                    # returns a row: a dict of plain values
      out = "out/sizes"             # folder for the results
      seed = 0                      # each job's seed is derived from it
      \\[grid]                        # all combinations are jobs
      width = [2, 4, 8]
      depth = [1, 2]
      run = { from = 1, to = 10 }   # short for [1, 2, ..., 10]

    Instead of the grid, it may hold a list of jobs:
      [\\[jobs]]
      width = 2

    This runs the code that the file names: use it only with files you trust. Exit code 1 means that some jobs failed;
    rerun the same command to retry them.
    """
    sweep = read_sweep(file, folder)
    try:
        status = sweep.run(engine=engine.value, n_jobs=n_jobs, address=address)
    except KeyboardInterrupt:
        note(f"Interrupted. Results so far are in {sweep.folder}. Resume with: {repeat_command()}")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(summary(sweep, status))
    else:
        print_status(sweep, replace(status, last=None))  # the rows follow
        print_rows(sweep)
        if status.failed:
            print_next(repeat_command(), "retry the failed jobs")
        else:
            print_next(command("report", sweep.folder, "--out", "report.html"), "all results in one page")
    if status.failed:
        raise typer.Exit(1)


@app.command("status")
def print_sweep_status(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Print the progress of a sweep, even while it runs."""
    sweep = _open(folder)
    status = sweep.status()
    if as_json:
        print_json(summary(sweep, status))
    else:
        print_status(sweep, status)
        print_next(command("sweep", "table", folder, "--out", "table.csv"), "save the results so far")


@app.command("table")
def write_table(
    folder: Folder,
    path: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the table to a .csv or .parquet file.")
    ] = None,
) -> None:
    """Print the results so far, or write them to a file."""
    sweep = _open(folder)
    if path is None:
        print_rows(sweep)
        print_next(command("sweep", "table", folder, "--out", "table.csv"), "save all rows")
        return
    check_outputs([path], (".csv", ".parquet"))
    table = sweep.table()
    with write_atomically(path) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False)
        else:
            table.to_parquet(temporary, index=False)
    out.print(f"Wrote {plural(len(table), 'row')} to {path}", soft_wrap=True)
    print_next(command("report", folder, "--out", "report.html"), "all results in one page")


@app.command("heat")
def draw_heatmap(
    folder: Folder,
    x: Annotated[str, typer.Option(help="Column for the horizontal axis.")],
    y: Annotated[str, typer.Option(help="Column for the vertical axis.")],
    value: Annotated[str, typer.Option(help="Column of numbers to average; the color of each cell.")],
    path: Annotated[Path, typer.Option("--out", metavar="FILE", help="A .png or .svg file.")] = Path("heat.png"),
) -> None:
    """Draw a heat map of one result over two parameters."""
    from creases.show import heatmap_cells, heatmap_size, new_figure, plot_heatmap, save_figure

    check_outputs([path], (".png", ".svg"))
    table = _open(folder).table()
    figure, (ax,) = new_figure(*heatmap_size(heatmap_cells(table, x, y, value)))
    plot_heatmap(table, x, y, value, ax=ax)
    out.print(f"Wrote {save_figure(figure, path)}", soft_wrap=True)
    print_next(command("report", folder, "--out", "report.html"), "all results in one page")


@app.command("example")
def print_example() -> None:
    """Print the definition of a sweep, ready to run."""
    typer.echo(EXAMPLE, nl=False)
    note("Next: creases sweep example > sizes.toml && creases sweep sizes.toml")


def summary(sweep: Sweep, status: Status) -> dict[str, Any]:
    """Return the progress of a sweep as plain values."""
    return {
        "folder": str(sweep.folder),
        "jobs": status.jobs,
        "done": status.done,
        "failed": status.failed,
        "left": status.waiting,
        "running": status.running,
        "jobs_per_second": status.rate,
        "seconds_left": None if status.left is None else status.left._asdict(),
        "last": status.last and {name: _for_json(value) for name, value in status.last.items()},
    }


def print_status(sweep: Sweep, status: Status) -> None:
    """Print the progress of a sweep, and its errors."""
    from creases.lab import format_duration, format_time_left

    rows: list[tuple[str, ...]] = [("done", f"{status.done} of {status.jobs} jobs")]
    if status.failed:
        rows.append(("failed", f"{status.failed}; rerun the sweep to retry them"))
    if status.waiting:
        rows.append(("left", f"{status.waiting}"))
    if status.rate:
        rows.append(
            ("rate", f"{status.rate:.3g} jobs/s" if status.rate >= 1 else f"{format_duration(1 / status.rate)} a job")
        )
    if status.running:
        rows += [("running", status.running), ("time", format_time_left(status.left))]
    if status.last is not None:
        rows.append(("last", ", ".join(f"{name} {value}" for name, value in status.last.items())))
    print_table(str(sweep.folder), rows)
    if status.failed:
        _print_failures(sweep)


def print_rows(sweep: Sweep) -> None:
    """Print the first rows of a sweep's table."""
    from creases.show import format_table

    table = sweep.table()
    out.print()
    out.print(format_table(table, max_rows=PRINTED))
    if len(table) > PRINTED:
        out.print(f"... and {len(table) - PRINTED:,} more rows")


def _print_failures(sweep: Sweep) -> None:
    """Print each kind of error with its count and the first failed job, and the first traceback."""
    failures = sweep.failures()
    jobs = dict(zip(sweep.keys, sweep.jobs, strict=True))
    lines = failures["error"].map(lambda text: text.splitlines()[-1])
    for line, kind in failures.groupby(lines, sort=False):
        err.print(f"\n[bold red]{len(kind)} failed:[/] {escape(str(line))}", soft_wrap=True)
        job = ", ".join(f"{name} {value}" for name, value in jobs[kind["key"].iloc[0]].items())
        err.print(f"{'the first' if len(kind) > 1 else 'the job'}: {escape(job)}", soft_wrap=True)
    err.print(escape(str(failures["error"].iloc[0])), style="dim", soft_wrap=True)


def _for_json(value: Any) -> Any:
    """Return None for NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _open(folder: Path) -> Sweep:
    from creases.lab import Sweep

    if not folder.exists():
        raise FileError(f"cannot open {folder}: no such folder; give the folder of a sweep")
    return Sweep.open(folder)
