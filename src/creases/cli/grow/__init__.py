"""``creases grow``: grow a network on a table, each unit with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases._files import write_json
from creases.cli._arguments import parse_numbers
from creases.cli._columns import print_columns
from creases.cli.console import note, out, print_json
from creases.errors import InputError, RequestError
from creases.growth import GrowthConfig
from creases.growth.experiment import (
    ENCODING_FILE,
    SETTINGS_FILE,
    RunSettings,
    lock_folder,
    prepare_folder,
    resolve_data,
)

if TYPE_CHECKING:
    from creases.cli.grow._report import Report

INTERRUPTED = 130

assert GrowthConfig.growth_patience is not None
_GROWTH_PATIENCE: int = GrowthConfig.growth_patience


class Method(StrEnum):
    """Growth methods."""

    auto = "auto"
    fold = "fold"
    tiny = "tiny"
    gradmax = "gradmax"
    random = "random"
    split = "split"  # type: ignore[assignment]  # a member, not str's method
    steepest_split = "steepest_split"
    search = "search"


class Optimizer(StrEnum):
    """Optimizers."""

    adamw = "adamw"
    adam = "adam"


class Task(StrEnum):
    """What is predicted."""

    classification = "classification"
    regression = "regression"


class Missing(StrEnum):
    """What to do about missing values."""

    indicate = "indicate"
    mean = "mean"
    drop = "drop"
    error = "error"


def grow_table(
    ctx: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(help="A .csv, .tsv, .parquet or .npz file, or a built-in problem (moons, iris, ...)."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column to predict, by name or number; by default the last.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the network, the report and the pictures.")
    ] = None,
    how: Annotated[Method, typer.Option(help="Growth method.")] = Method.auto,
    where: Annotated[
        str,
        typer.Option(
            help="Where to grow: all, bottleneck, round-robin, gain, width-or-depth, or a layer: hidden1, ..."
        ),
    ] = "all",
    when: Annotated[
        str, typer.Option(help="Time to grow: stages, plateau, converged, or a number of epochs.")
    ] = "stages",
    hidden: Annotated[
        str, typer.Option(metavar="N,N,...", help="Widths of the hidden layers at the start; auto: a linear model.")
    ] = "auto",
    max_units: Annotated[int | None, typer.Option(help="Maximum number of hidden units.")] = GrowthConfig.max_units,
    max_parameters: Annotated[
        int | None, typer.Option(help="Maximum number of parameters.")
    ] = GrowthConfig.max_parameters,
    budget: Annotated[
        str, typer.Option(help="What the run may spend: epochs (100), or '60 s', '5 min', '2e12 multiply-adds'; auto.")
    ] = "auto",
    growth_share: Annotated[
        float, typer.Option(help="Share of the budget that growth may take at most.")
    ] = GrowthConfig.growth_share,
    patience: Annotated[
        int, typer.Option(help="Epochs without progress before it grows, for --when plateau.")
    ] = GrowthConfig.patience,
    growth_patience: Annotated[
        int, typer.Option(help="Stages of growth in a row that may fail to pay.")
    ] = _GROWTH_PATIENCE,
    optimizer: Annotated[Optimizer, typer.Option(help="Optimizer.")] = Optimizer.adamw,
    lr: Annotated[float, typer.Option(help="Learning rate.")] = GrowthConfig.lr,
    weight_decay: Annotated[float, typer.Option(help="Weight decay of AdamW.")] = GrowthConfig.weight_decay,
    batch_size: Annotated[
        str, typer.Option(metavar="N", help="Rows in a batch: a number, auto (an eighth) or all.")
    ] = "auto",
    validation_fraction: Annotated[
        float, typer.Option(help="Fraction of rows held out to judge growth and to choose the network.")
    ] = GrowthConfig.validation_fraction,
    test_fraction: Annotated[
        float, typer.Option(help="Fraction of rows held out for testing.")
    ] = GrowthConfig.test_fraction,
    class_weight: Annotated[
        str | None,
        typer.Option(metavar="W", help="Weights of classes: balanced (all classes weigh the same), or yes=5,no=1."),
    ] = None,
    threshold: Annotated[
        str,
        typer.Option(
            metavar="P",
            help="Probability above which the second of two classes is predicted; f1, balanced_accuracy or accuracy: "
            "the best on the validation rows.",
        ),
    ] = "0.5",
    standardize: Annotated[
        bool, typer.Option("--standardize/--no-standardize", help="Scale columns for training.")
    ] = GrowthConfig.standardize,
    task: Annotated[Task | None, typer.Option(help="Task; inferred from the column to predict by default.")] = None,
    missing: Annotated[
        Missing,
        typer.Option(
            help="Missing values: fill in the mean and indicate them by a column, only fill in the mean (categories: "
            "the most frequent value), drop their rows, or refuse them."
        ),
    ] = Missing.indicate,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.", show_default=False),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column to predict from, also if it looks like an ID or text; may be repeated. Default: all usable.",
            show_default=False,
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column whose numbers are categories; may be repeated.", show_default=False
        ),
    ] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether a CSV file's first row holds names.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split, the network and the training.")] = GrowthConfig.seed,
    recycle: Annotated[
        bool, typer.Option("--recycle/--no-recycle", help="Replace redundant units before adding more.")
    ] = GrowthConfig.recycle,
    device: Annotated[str, typer.Option(help="Where to train: cpu, cuda, cuda:1, ...")] = GrowthConfig.device,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Resume the run in a folder; --budget and --max-... may be changed."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite another run in the folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Grow a network on a table, and explain every new unit.

    It starts as a linear model and gets units where it fails.

    Writes the network (for rows in the table's own units), its history, a picture and a report into the folder.
    """
    changed = _changed_options(ctx)
    if resume is not None:
        limits: dict[str, Any] = {
            "max_units": max_units,
            "max_parameters": max_parameters,
            "budget": _parse_budget(budget),
        }
        settings, home = _resume_settings(resume, changed, limits), resume
    else:
        if data is None or folder is None:
            raise RequestError("give the data and a folder: creases grow table.csv --target COLUMN --out DIR")
        config = GrowthConfig(
            how=how.value,
            where=where.replace("-", " "),
            when=int(when) if when.isdecimal() else when,
            hidden=hidden if hidden == "auto" else _parse_widths(hidden),
            max_units=max_units,
            max_parameters=max_parameters,
            budget=_parse_budget(budget),
            growth_share=growth_share,
            patience=patience,
            growth_patience=growth_patience,
            optimizer=optimizer.value,
            lr=lr,
            weight_decay=weight_decay,
            batch_size=_parse_batch_size(batch_size),
            validation_fraction=validation_fraction,
            test_fraction=test_fraction,
            class_weight=_parse_class_weight(class_weight),
            threshold=_parse_threshold(threshold),
            standardize=standardize,
            seed=seed,
            recycle=recycle,
            device=device,
        )
        settings = RunSettings(
            data=resolve_data(data),
            target=target,
            task=None if task is None else task.value,
            missing=missing.value,
            header=header,
            inputs=_split_names(inputs) or None,
            drop=_split_names(drop),
            categorical=_split_names(categorical),
            config=config,
        )
        home = folder
    report, files = interruptible(
        home, lambda: grow_into(settings, home, force=force, fresh=resume is None, show_columns=not as_json)
    )
    if as_json:
        print_json(report.summary(files))
    else:
        print_report(report, files)


def grow_into(
    settings: RunSettings, home: Path, *, force: bool, fresh: bool, show_columns: bool = False
) -> tuple[Report, dict[str, Path]]:
    """Start or resume a run, and write all its files; return the report and the files by name."""
    from creases.cli.grow._report import Report
    from creases.cli.grow._write import write
    from creases.growth.experiment import Experiment, baselines

    problem = settings.load_problem()
    if show_columns and problem.encoding is not None:
        print_columns(problem.encoding)
    data = Experiment.from_problem(problem, settings.config).data  # refuses what cannot start before writing anything
    with lock_folder(home):
        if fresh:
            prepare_folder(home, force=force)
        settings.save(home)
        if problem.encoding is not None:
            write_json(problem.encoding.to_dict(), home / ENCODING_FILE)
        experiment = Experiment(data, settings.config, folder=home)
        experiment.run()
        report = Report(settings, experiment, baselines(experiment.network, data, threshold=experiment.threshold))
        return report, write(report, home)


def interruptible(home: Path, work: Callable[[], Any]) -> Any:
    """Do the work; say how to resume it after Ctrl-C."""
    try:
        return work()
    except KeyboardInterrupt:
        if (home / SETTINGS_FILE).exists():
            note(f"stopped; resume with: creases grow --resume {home}")
        raise typer.Exit(INTERRUPTED) from None


def print_report(report: Report, files: dict[str, Path]) -> None:
    """Print the report, and which files to open."""
    from rich.table import Table

    from creases.cli.grow._report import parts

    for part in parts(report):
        out.print(part)
    out.print()
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, path in files.items():
        table.add_row(f"[dim]{name}[/]", str(path))
    out.print(table)
    folder = files["network"].parent
    out.print(f'\nIn Python: creases.load("{folder}").predict(rows)', soft_wrap=True)
    out.print(f"New rows of the table: creases predict {folder} new.csv --out predictions.csv", soft_wrap=True)
    out.print(f"Open {files['picture']} to see it grow; {files['report']} tells every step in full.", soft_wrap=True)
    out.print(f"A page to explore it: creases report {folder} --out report.html", soft_wrap=True)


def _changed_options(ctx: typer.Context) -> set[str]:
    """Return the options and arguments that were given on the command line."""
    return {name for name in ctx.params if ctx.get_parameter_source(name).name == "COMMANDLINE"}  # type: ignore[union-attr]


def _resume_settings(folder: Path, changed: set[str], limits: dict[str, Any]) -> RunSettings:
    """Return the settings of the run in a folder, with new limits where they were given."""
    other = sorted(changed - {"resume", "as_json", *limits})
    if other:
        expected = "not be given with --resume: a run is resumed with its settings"
        raise InputError(other[0], expected, hint="only --budget, --max-units and --max-parameters may change")
    settings = RunSettings.load(folder)
    options: dict[str, Any] = {name: limit for name, limit in limits.items() if name in changed}
    return replace(settings, config=replace(settings.config, **options))


def _split_names(values: list[str] | None) -> tuple[str, ...]:
    """Return the names of columns, in options that may be repeated and may each hold several, with commas between."""
    return tuple(name.strip() for value in values or () for name in value.split(",") if name.strip())


def _parse_budget(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def _parse_widths(text: str) -> tuple[int, ...]:
    numbers = parse_numbers(text, "hidden")
    if (numbers != numbers.round()).any() or (numbers < 1).any():
        raise InputError("hidden", "be auto, or positive widths such as 2 or 4,4", repr(text))
    return tuple(int(number) for number in numbers)


def _parse_class_weight(text: str | None) -> str | dict[str, float] | None:
    if text is None or "=" not in text:
        return text
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise InputError("class_weight", "be balanced, or weights such as yes=5,no=1", repr(text)) from None


def _parse_threshold(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _parse_batch_size(text: str) -> str | int | None:
    if text in ("auto", "all"):
        return text if text == "auto" else None
    if not text.isdecimal():
        raise InputError("batch_size", "be a positive integer, auto or all", repr(text))
    return int(text)
