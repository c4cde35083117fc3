"""``creases grow``: grow a network on a table, each unit with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases._files import write_json
from creases.cli._columns import print_columns
from creases.cli._completion import complete_data, complete_files, complete_words
from creases.cli._missing import Missing
from creases.cli.console import INTERRUPTED, note, option_panels, out, print_json, print_next
from creases.cli.grow._values import (
    parse_batch_size,
    parse_budget,
    parse_class_weight,
    parse_number_or_name,
    parse_widths,
    split_names,
)
from creases.errors import InputError, RequestError
from creases.growth import GrowthConfig
from creases.tables import (
    ENCODING_FILE,
    SETTINGS_FILE,
    RunSettings,
    lock_folder,
    prepare_folder,
    resolve_data,
)

if TYPE_CHECKING:
    from creases.cli.grow._report import Report

data_option, method_option, stopping_option, switches_option, output_option = option_panels(
    "Data", "Method", "Stopping", "Switches", "Output"
)

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


class Optimizer(StrEnum):
    """Optimizers."""

    adamw = "adamw"
    adam = "adam"


class Task(StrEnum):
    """What is predicted."""

    classification = "classification"
    regression = "regression"


def grow_table(
    ctx: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="A .csv, .tsv, .parquet or .npz file, or a built-in problem (see: creases problems).",
            autocompletion=complete_data,
        ),
    ] = None,
    target: Annotated[
        str | None, data_option(metavar="COLUMN", help="Column to predict, by name or number; default: the last.")
    ] = None,
    task: Annotated[
        Task | None,
        data_option(metavar="TASK", help="classification or regression; default: inferred from the target column."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        data_option(
            metavar="COLUMN",
            help="Column to predict from, even if it looks like an ID or text; may be repeated. Default: all usable.",
            show_default=False,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, data_option(metavar="COLUMN", help="Column to ignore; may be repeated.", show_default=False)
    ] = None,
    categorical: Annotated[
        list[str] | None,
        data_option(
            metavar="COLUMN", help="Treat a column's numbers as categories; may be repeated.", show_default=False
        ),
    ] = None,
    missing: Annotated[
        Missing,
        data_option(
            metavar="HOW",
            help="Missing values: indicate (fill with the mean and add an indicator column), mean (fill with the mean, "
            "or the most frequent category), drop (drop the rows), or error.",
        ),
    ] = Missing.indicate,
    validation_fraction: Annotated[
        float, data_option(metavar="F", help="Fraction of rows held out to judge growth and to select the network.")
    ] = GrowthConfig.validation_fraction,
    test_fraction: Annotated[
        float, data_option(metavar="F", help="Fraction of rows held out for testing.")
    ] = GrowthConfig.test_fraction,
    class_weight: Annotated[
        str | None, data_option(metavar="W", help="Class weights: balanced, or for each class, such as yes=5,no=1.")
    ] = None,
    threshold: Annotated[
        str,
        data_option(
            metavar="P",
            help="Two classes: predict the second above this probability; or choose it on the validation rows to "
            "maximize f1, balanced_accuracy or accuracy.",
        ),
    ] = "0.5",
    how: Annotated[
        Method,
        method_option(metavar="METHOD", help=f"Growth method: {', '.join(Method)}."),
    ] = Method.auto,
    where: Annotated[
        str,
        method_option(
            metavar="PLACE",
            help="Where to grow: all, width-or-depth, or a layer: hidden1, ...",
            autocompletion=complete_words("all", "width-or-depth", "hidden1"),
        ),
    ] = "all",
    when: Annotated[
        str,
        method_option(
            metavar="WHEN",
            help="When to grow: stages, plateau, or every N epochs.",
            autocompletion=complete_words("stages", "plateau"),
        ),
    ] = "stages",
    hidden: Annotated[
        str,
        method_option(metavar="N,N,...", help="Initial widths of the hidden layers; auto: start from a linear model."),
    ] = "auto",
    optimizer: Annotated[Optimizer, method_option(metavar="NAME", help="Optimizer: adamw or adam.")] = Optimizer.adamw,
    lr: Annotated[float, method_option(metavar="RATE", help="Learning rate.")] = GrowthConfig.lr,
    weight_decay: Annotated[
        float, method_option(metavar="RATE", help="Weight decay of AdamW.")
    ] = GrowthConfig.weight_decay,
    batch_size: Annotated[
        str, method_option(metavar="N", help="Rows per batch: a number, auto (an eighth of the rows) or all.")
    ] = "auto",
    seed: Annotated[
        int, method_option(metavar="N", help="Random seed of the split, the initial network and the training.")
    ] = GrowthConfig.seed,
    device: Annotated[
        str, method_option(metavar="DEVICE", help="Torch device: cpu, cuda, cuda:1, ...")
    ] = GrowthConfig.device,
    budget: Annotated[
        str,
        stopping_option(
            metavar="COST",
            help="How much to spend: epochs (100), time ('60 s', '5 min'), '2e12 multiply-adds', or auto.",
        ),
    ] = "auto",
    max_units: Annotated[
        int | None, stopping_option(metavar="N", help="Maximum number of hidden units.")
    ] = GrowthConfig.max_units,
    max_parameters: Annotated[
        int | None, stopping_option(metavar="N", help="Maximum number of parameters.")
    ] = GrowthConfig.max_parameters,
    growth_share: Annotated[
        str, stopping_option(metavar="F", help="Fraction of the budget for growth; auto: 0.1, or 0.2 in short runs.")
    ] = "auto",
    growth_patience: Annotated[
        int, stopping_option(metavar="N", help="Stop growing after this many stages in a row without improvement.")
    ] = _GROWTH_PATIENCE,
    patience: Annotated[
        int, stopping_option(metavar="N", help="With --when plateau: epochs without improvement before growing.")
    ] = GrowthConfig.patience,
    header: Annotated[
        bool | None,
        switches_option("--header/--no-header", help="Whether the first row of a CSV file holds column names."),
    ] = None,
    standardize: Annotated[
        bool, switches_option("--standardize/--no-standardize", help="Scale columns for training.")
    ] = GrowthConfig.standardize,
    recycle: Annotated[
        bool, switches_option("--recycle/--no-recycle", help="Replace redundant units before adding more.")
    ] = GrowthConfig.recycle,
    folder: Annotated[
        Path | None,
        output_option(
            "--out",
            metavar="DIR",
            help="Folder for the network, the report and the pictures.",
            autocompletion=complete_files(),
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        output_option(
            metavar="DIR",
            help="Resume the run in this folder; only --budget and --max-... may change.",
            autocompletion=complete_files(),
        ),
    ] = None,
    force: Annotated[bool, output_option("--force", help="Overwrite another run in the folder.")] = False,
    as_json: Annotated[bool, output_option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Grow a network on a table and explain every unit it adds.

    Starts from a linear model and adds units where it makes errors. Writes the network, its history, a picture and a
    report to the folder. If interrupted, resume with --resume DIR.

    For example:
      creases grow iris --out out/iris
      creases grow houses.csv --target price --budget '60 s' --out out/houses
    """
    changed = _changed_options(ctx)
    if resume is not None:
        limits: dict[str, Any] = {
            "max_units": max_units,
            "max_parameters": max_parameters,
            "budget": parse_budget(budget),
        }
        settings, home = _resume_settings(resume, changed, limits), resume
    else:
        if data is None or folder is None:
            raise RequestError("data and a folder are required: creases grow table.csv --target COLUMN --out DIR")
        config = GrowthConfig(
            how=how.value,
            where=where.replace("-", " "),
            when=int(when) if when.isdecimal() else when,
            hidden=hidden if hidden == "auto" else parse_widths(hidden),
            max_units=max_units,
            max_parameters=max_parameters,
            budget=parse_budget(budget),
            growth_share=parse_number_or_name(growth_share),
            patience=patience,
            growth_patience=growth_patience,
            optimizer=optimizer.value,
            lr=lr,
            weight_decay=weight_decay,
            batch_size=parse_batch_size(batch_size),
            validation_fraction=validation_fraction,
            test_fraction=test_fraction,
            class_weight=parse_class_weight(class_weight),
            threshold=parse_number_or_name(threshold),
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
            inputs=split_names(inputs) or None,
            drop=split_names(drop),
            categorical=split_names(categorical),
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
    from creases.tables import Experiment, baselines

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
            note(f"Interrupted. Resume with: creases grow --resume {home}")
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
    out.print(f"New rows:  creases predict {folder} new.csv --out predictions.csv", soft_wrap=True)
    print_next(f"creases report {folder} --out report.html", "explore every growth step in a browser")


def _changed_options(ctx: typer.Context) -> set[str]:
    """Return the options and arguments that were given on the command line."""
    return {name for name in ctx.params if ctx.get_parameter_source(name).name == "COMMANDLINE"}  # type: ignore[union-attr]


def _resume_settings(folder: Path, changed: set[str], limits: dict[str, Any]) -> RunSettings:
    """Return the settings of the run in a folder, with new limits where they were given."""
    other = sorted(changed - {"resume", "as_json", *limits})
    if other:
        expected = "not be given with --resume: a run keeps its settings"
        raise InputError(other[0], expected, hint="only --budget, --max-units and --max-parameters may change")
    settings = RunSettings.load(folder)
    options: dict[str, Any] = {name: limit for name, limit in limits.items() if name in changed}
    return replace(settings, config=replace(settings.config, **options))
