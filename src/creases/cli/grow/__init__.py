"""``creases grow``: a network grown on a table, every unit with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases.cli._arguments import parse_numbers
from creases.cli._console import note, out, print_json
from creases.errors import InputError
from creases.growth.experiment import SETTINGS_FILE, Settings
from creases.growth.experiment import _folder as names

if TYPE_CHECKING:
    from creases.cli.grow._report import Report

INTERRUPTED = 130


class Method(StrEnum):
    """How new units are set."""

    fold = "fold"
    tiny = "tiny"
    gradmax = "gradmax"
    random = "random"
    split = "split"  # type: ignore[assignment]  # a member, not str's method
    steepest_split = "steepest_split"
    search = "search"


class Task(StrEnum):
    """What is predicted."""

    classification = "classification"
    regression = "regression"


class Missing(StrEnum):
    """What is done about missing values."""

    error = "error"
    drop = "drop"
    mean = "mean"


def grow_table(
    ctx: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(help="A .csv, .tsv, .parquet or .npz file, or a built-in problem (moons, iris, ...)."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column to predict, by name or number; else the last.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the network, the report and the pictures.")
    ] = None,
    how: Annotated[Method, typer.Option(help="How new units are set.")] = Method.fold,
    where: Annotated[
        str, typer.Option(help="Which layer grows: bottleneck, round-robin, gain, or its name: hidden1, ...")
    ] = Settings.where,
    when: Annotated[str, typer.Option(help="When: plateau, converged, or every so many epochs.")] = Settings.when,
    hidden: Annotated[str, typer.Option(metavar="N,N,...", help="Widths of the hidden layers to begin with.")] = "2",
    parameters: Annotated[int | None, typer.Option(help="Most parameters that the network may have.")] = None,
    epochs: Annotated[int, typer.Option(help="Most epochs to train.")] = Settings.epochs,
    lr: Annotated[float, typer.Option(help="Learning rate of Adam.")] = Settings.lr,
    batch: Annotated[int, typer.Option(help="Rows of a training step.")] = Settings.batch,
    validation: Annotated[float, typer.Option(help="Share of the rows that tells when to stop.")] = Settings.validation,
    test: Annotated[float, typer.Option(help="Share of the rows that is only tested with.")] = Settings.test,
    task: Annotated[Task | None, typer.Option(help="What is predicted; else seen from the column.")] = None,
    missing: Annotated[
        Missing, typer.Option(help="Missing values: refuse them, drop those rows, or put the column's mean.")
    ] = Missing.error,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether a CSV file's first row has the names.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the division of the rows, the network and the training.")] = 0,
    recycle: Annotated[
        bool, typer.Option("--recycle/--no-recycle", help="Grow spare units anew before more are added.")
    ] = True,
    device: Annotated[str, typer.Option(help="Where to train: cpu, cuda, cuda:1, ...")] = "cpu",
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Go on with the run in a folder; --epochs and --parameters may be new."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over another run in the folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Grow a network on a table: it starts tiny, gets units where it fails, and says why for each of them.

    Leaves the network (for the table's own units), its history, a picture and a report in the folder.
    """
    from creases.growth.experiment import resolve_data

    given = _given(ctx)
    if resume is not None:
        settings, home = _resumed(resume, given, epochs, parameters), resume
        settings.save(home)
    else:
        if data is None or folder is None:
            raise InputError("give the data and a folder: creases grow table.csv --target COLUMN --out DIR")
        settings = Settings(
            data=resolve_data(data),
            target=target,
            task=None if task is None else task.value,
            missing=missing.value,
            header=header,
            how=how.value,
            where=where,
            when=when,
            hidden=_widths(hidden),
            parameters=parameters,
            epochs=epochs,
            lr=lr,
            batch=batch,
            validation=validation,
            test=test,
            seed=seed,
            recycle=recycle,
            device=device,
        )
        home = folder
    report, files = interruptible(home, lambda: grow_into(settings, home, force=force, fresh=resume is None))
    if as_json:
        print_json(report.summary(files))
    else:
        print_report(report, files)


def grow_into(settings: Settings, home: Path, *, force: bool, fresh: bool) -> tuple[Report, dict[str, Path]]:
    """Make a run, or go on with it, and write all its files; the report and the files by name."""
    from creases.cli.grow._report import Report
    from creases.cli.grow._write import write
    from creases.growth.experiment import baselines, load_split, run, start

    data = load_split(settings)
    start(settings, data)  # what cannot begin is refused before anything is written
    if fresh:
        names.prepare_folder(home, force=force)
        settings.save(home)
    outcome = run(settings, data, home)
    report = Report(settings, data, outcome, baselines(outcome.net, data))
    return report, write(report, home)


def interruptible(home: Path, work: Callable[[], Any]) -> Any:
    """Do the work; Ctrl-C ends it with a line that says how to go on."""
    try:
        return work()
    except KeyboardInterrupt:
        if (home / SETTINGS_FILE).exists():
            note(f"stopped; go on with: creases grow --resume {home}")
        raise typer.Exit(INTERRUPTED) from None


def print_report(report: Report, files: dict[str, Path]) -> None:
    """The report on stdout, and which files to open."""
    from rich.table import Table

    from creases.cli.grow._report import parts

    for part in parts(report):
        out.print(part)
    out.print()
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, path in files.items():
        table.add_row(f"[dim]{name}[/]", str(path))
    out.print(table)
    use = f'creases.read("{files["network"]}")(X), the columns of X as {names.DESCRIPTION_FILE} lists them'
    out.print(f"\nIn Python: {use}.", soft_wrap=True)
    out.print(f"Open {files['picture']} to see it grow; {files['report']} tells every step in full.", soft_wrap=True)
    out.print(f"A page to explore it: creases report {files['network'].parent} --out report.html", soft_wrap=True)


def _given(ctx: typer.Context) -> set[str]:
    """Options and arguments that were given on the command line."""
    return {name for name in ctx.params if ctx.get_parameter_source(name).name == "COMMANDLINE"}  # type: ignore[union-attr]


def _resumed(folder: Path, given: set[str], epochs: int, parameters: int | None) -> Settings:
    other = sorted(given - {"resume", "epochs", "parameters", "as_json"})
    if other:
        name = {"folder": "--out", "data": "DATA"}.get(other[0], f"--{other[0]}")
        raise InputError(
            f"{name}: a run is resumed with its own settings; with --resume only --epochs and --parameters can be given"
        )
    settings = Settings.load(folder)
    changes: dict[str, Any] = {"epochs": epochs} if "epochs" in given else {}
    changes |= {"parameters": parameters} if "parameters" in given else {}
    return replace(settings, **changes)


def _widths(text: str) -> tuple[int, ...]:
    numbers = parse_numbers(text, "--hidden")
    if (numbers != numbers.round()).any() or (numbers < 1).any():
        raise InputError(f"--hidden: expected widths of at least 1 such as 2 or 4,4, got {text!r}")
    return tuple(int(number) for number in numbers)
