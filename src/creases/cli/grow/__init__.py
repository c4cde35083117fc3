"""``creases grow``: fit a table by curves, planes and units, or grow a network, each unit with a reason."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases.cli._completion import complete_data, complete_files, complete_words
from creases.cli._engine import Engine
from creases.cli._missing import Missing
from creases.cli.console import note, option_panels, print_json
from creases.cli.grow._choices import Kind, Loop, Method, Task
from creases.cli.grow._interruption import interruptible
from creases.cli.grow._values import (
    parse_batch_size,
    parse_budget,
    parse_class_weight,
    parse_kinds,
    parse_number_or_name,
    parse_shapes,
    parse_widths,
    split_names,
)
from creases.errors import InputError, RequestError

if TYPE_CHECKING:
    from creases.growth import GrowthConfig
    from creases.tables import CurveConfig, RunSettings

data_option, model_option, growth_option, large_option, output_option = option_panels(
    "Data", "Model", "Growth (--kind network)", "Tables larger than memory", "Output"
)

#: How the options of growth are read from the command line; others are taken as they are.
_PARSERS: dict[str, Any] = {
    "loop": lambda loop: loop.value,
    "how": lambda how: how.value,
    "when": lambda when: int(when) if when.isdecimal() else when,
    "hidden": lambda hidden: hidden if hidden == "auto" else parse_widths(hidden),
    "budget": parse_budget,
    "growth_share": parse_number_or_name,
    "lr": parse_number_or_name,
    "weight_decay": parse_number_or_name,
    "batch_size": parse_batch_size,
    "class_weight": parse_class_weight,
    "threshold": parse_number_or_name,
}

#: Defaults of ``CurveConfig``, which the help shows.
TEST_FRACTION, ENSEMBLE, SEED = 0.2, 1, 0

#: Options that neither kind of model has in its configuration.
_OTHERS = (
    "data", "target", "task", "inputs", "drop", "kinds", "missing", "header", "kind", "shape", "max_memory",
)  # fmt: skip
_OUTPUT = ("folder", "resume", "force", "as_json")
_ENGINE = ("engine", "n_jobs", "address")


def grow_table(
    ctx: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="A .csv, .tsv, .parquet, .feather or .npz file, a pattern in quotes ('part-*.parquet') or a folder of "
            "files that are one table, or a built-in problem (see: creases problems).",
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
    kinds: Annotated[
        list[str] | None,
        data_option(
            "--kind-of",
            metavar="COLUMN=KIND",
            help="Read a column as number, quantity, share, category, ordinal, interval, date, month, time or "
            "duration, or give its values in order: heat=cold<warm<hot; may be repeated.",
            show_default=False,
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
    test_fraction: Annotated[
        float, data_option(metavar="F", help="Fraction of rows held out for testing.")
    ] = TEST_FRACTION,
    class_weight: Annotated[
        str | None, data_option(metavar="W", help="Class weights: balanced, or for each class, such as yes=5,no=1.")
    ] = None,
    threshold: Annotated[
        str,
        data_option(
            metavar="P",
            help="Two classes: predict the second above this probability; or choose it to maximize f1, "
            "balanced_accuracy or accuracy.",
        ),
    ] = "0.5",
    kind: Annotated[
        Kind | None,
        model_option(
            metavar="KIND",
            help="curves: lines, curves, planes and units in turn, where they pay; network: grow by units.",
            show_default="curves for a file, network for a built-in problem",
        ),
    ] = None,
    shape: Annotated[
        list[str] | None,
        model_option(
            metavar="COLUMN=SHAPE",
            help="For curves: rising, falling, straight or convex in a column, such as age=rising; may be repeated.",
            show_default=False,
        ),
    ] = None,
    ensemble: Annotated[
        int,
        model_option(
            metavar="N", help="For curves: train units this often; the network has those of all trainings, if they pay."
        ),
    ] = ENSEMBLE,
    refit: Annotated[
        bool,
        model_option("--refit", help="For curves: fit the model again to all rows once its scores are known."),
    ] = False,
    seed: Annotated[
        int, model_option(metavar="N", help="Random seed of the split, the folds, the initial network, the training.")
    ] = SEED,
    loop: Annotated[
        Loop | None,
        growth_option(
            metavar="LOOP",
            help="Loop: explained (one fold at a time, each with its reason), sized (stages that widen layers) or auto "
            "(explained where all rows fit one batch).",
            show_default="auto",
        ),
    ] = None,
    how: Annotated[
        Method | None, growth_option(metavar="METHOD", help=f"Method: {', '.join(Method)}.", show_default="auto")
    ] = None,
    where: Annotated[
        str | None,
        growth_option(
            metavar="PLACE",
            help="Where to grow: all, or a layer: hidden1, ...",
            show_default="all",
            autocompletion=complete_words("all", "hidden1"),
        ),
    ] = None,
    when: Annotated[
        str | None,
        growth_option(
            metavar="WHEN",
            help="When to grow: stages, or every N epochs.",
            show_default="stages",
            autocompletion=complete_words("stages"),
        ),
    ] = None,
    hidden: Annotated[
        str | None,
        growth_option(
            metavar="N,N,...",
            help="Initial widths of the hidden layers; auto: start from a linear model.",
            show_default="auto",
        ),
    ] = None,
    validation_fraction: Annotated[
        float | None,
        growth_option(
            metavar="F",
            help="Fraction of rows held out to judge growth and to select the network.",
            show_default="0.15",
        ),
    ] = None,
    lr: Annotated[
        str | None,
        growth_option(metavar="RATE", help="Learning rate; auto: by the size of the network.", show_default="auto"),
    ] = None,
    weight_decay: Annotated[
        str | None,
        growth_option(metavar="RATE", help="Weight decay of AdamW; auto: by the number of rows.", show_default="auto"),
    ] = None,
    batch_size: Annotated[
        str | None,
        growth_option(
            metavar="N", help="Rows per batch: a number, auto (an eighth of the rows) or all.", show_default="auto"
        ),
    ] = None,
    device: Annotated[
        str | None, growth_option(metavar="DEVICE", help="Torch device: cpu, cuda, cuda:1, ...", show_default="cpu")
    ] = None,
    budget: Annotated[
        str | None,
        growth_option(
            metavar="COST",
            help="How much to spend on training and growth: epochs (100), time ('60 s', '5 min'; starting and writing "
            "the files take seconds more), '2e12 multiply-adds', or auto.",
            show_default="auto",
        ),
    ] = None,
    max_units: Annotated[int | None, growth_option(metavar="N", help="Maximum number of hidden units.")] = None,
    max_parameters: Annotated[int | None, growth_option(metavar="N", help="Maximum number of parameters.")] = None,
    growth_share: Annotated[
        str | None,
        growth_option(metavar="F", help="Fraction of the budget for growth; auto: 0.28 at most.", show_default="auto"),
    ] = None,
    growth_patience: Annotated[
        int | None,
        growth_option(
            metavar="N", help="Stop growing after this many stages in a row without improvement.", show_default="2"
        ),
    ] = None,
    standardize: Annotated[
        bool | None,
        growth_option("--standardize/--no-standardize", help="Scale columns for training.", show_default="standardize"),
    ] = None,
    header: Annotated[
        bool | None,
        data_option("--header/--no-header", help="Whether the first row of a CSV file holds column names."),
    ] = None,
    max_memory: Annotated[
        float,
        large_option(
            metavar="GB",
            help="Gigabytes that all processes together may take; a file that would take more is read in blocks.",
        ),
    ] = 4.0,
    n_jobs: Annotated[
        int | None,
        large_option("--jobs", metavar="N", help="Processes that read, at most; default: the number of cores."),
    ] = None,
    engine: Annotated[
        Engine, large_option(metavar="NAME", help="Where blocks are read: local processes, serial or ray.")
    ] = Engine.local,
    address: Annotated[
        str | None, large_option(metavar="HOST", help="Address of a running Ray cluster; default: start one here.")
    ] = None,
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
    """Fit a readable model to a table, or grow a network on it.

    Straight lines first, then curves of columns, planes of pairs of columns and units of many: each where it predicts
    held-out rows better. With --kind network, or for a built-in problem, grows a network by units and explains each.
    Writes the model and a report to the folder. If interrupted, resume with --resume DIR.

    For example:
      creases grow houses.csv --target price --shape area=rising --out out/houses
      creases grow "part-*.parquet" --target price --out out/prices
      creases grow iris --out out/iris
    """
    from creases.tables import RunFile, RunSettings, default_kind, resolve_data

    changed = _changed_options(ctx)
    if resume is not None:
        settings, home = _resume_settings(resume, changed, ctx.params), resume
    else:
        if data is None or folder is None:
            raise RequestError("data and a folder are required: creases grow table.csv --target COLUMN --out DIR")
        source = resolve_data(data)
        settings = RunSettings(
            data=source,
            target=target,
            task=None if task is None else task.value,
            missing=missing.value,
            header=header,
            inputs=split_names(inputs) or None,
            drop=split_names(drop),
            kinds=parse_kinds(kinds) or None,
            max_memory=1e9 * max_memory if "max_memory" in changed else None,
            config=_read_config(default_kind(source) if kind is None else kind.value, changed, ctx.params),
        )
        home = folder
    fresh = resume is None
    if fresh and not force and (home / RunFile.SETTINGS).exists():
        if _is_finished(settings, home):
            note(f"The run in {home} is finished, with these settings: nothing to do. Fit it again with --force.")
            return
        fresh = False
        note(f"Resuming the run in {home}, which was interrupted.")
    options: dict[str, Any] = {"force": force, "fresh": fresh, "show_columns": not as_json}
    if settings.kind == "curves":
        options |= {"engine": engine.value, "n_jobs": n_jobs, "address": address}
    elif given := [name for name in _ENGINE if name in changed]:
        raise InputError(given[0], "be given with --kind curves only, which reads a large table in blocks")
    way: Any = import_module(f"creases.cli.grow._{settings.kind}")  # one of them imports torch
    result, files = interruptible(home, lambda: way.fit_into(settings, home, **options))
    if as_json:
        print_json(way.summarize(result, files))
    else:
        way.print_result(result, files)


def _is_finished(settings: RunSettings, home: Path) -> bool:
    """Return whether the run in a folder is finished; refuse a folder with a run of other settings."""
    from creases.tables import RunFile, RunSettings, prepare_folder

    if RunSettings.load(home).to_dict() != settings.to_dict():
        prepare_folder(home, force=False)
    return (home / RunFile.DESCRIPTION).exists()


def _read_config(kind: str, changed: set[str], values: dict[str, Any]) -> CurveConfig | GrowthConfig:
    """Return the configuration with the options that were given; those of another kind of model are refused."""
    from creases.tables import make_config

    names = [name for name in values if name in changed and name not in (*_OTHERS, *_OUTPUT, *_ENGINE)]
    options = {name: _parse(name, values[name]) for name in names}
    shapes = parse_shapes(values["shape"])
    return make_config(kind, options | ({"shapes": shapes} if shapes else {}))


def _parse(name: str, value: Any) -> Any:
    return _PARSERS[name](value) if name in _PARSERS else value


def _changed_options(ctx: typer.Context) -> set[str]:
    """Return the options and arguments that were given on the command line."""
    return {name for name in ctx.params if ctx.get_parameter_source(name).name == "COMMANDLINE"}  # type: ignore[union-attr]


def _resume_settings(folder: Path, changed: set[str], values: dict[str, Any]) -> RunSettings:
    """Return the settings of the run in a folder, with new limits where they were given."""
    from creases.tables import RunSettings, make_config

    limits = ("budget", "max_units", "max_parameters")
    other = sorted(changed - {"resume", "as_json", *limits, *_ENGINE})
    if other:
        expected = "not be given with --resume: a run keeps its settings"
        raise InputError(other[0], expected, hint="only --budget, --max-units and --max-parameters may change")
    settings = RunSettings.load(folder)
    options = {name: _parse(name, values[name]) for name in limits if name in changed}
    if not options:
        return settings
    if settings.kind == "curves":
        make_config("curves", options)  # refuses them
    return replace(settings, config=replace(settings.growth, **options))
