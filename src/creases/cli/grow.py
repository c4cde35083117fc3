"""``creases grow``: a network that grows on data by units, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases.cli._options import complete_files, complete_words
from creases.cli._table_options import (
    AsJson,
    Force,
    data_argument,
    given_options,
    model_option,
    output_option,
    read_options,
    takes_options,
)
from creases.cli.console import INTERRUPTED, note, print_json
from creases.errors import InputError, RequestError
from creases.growth import GrowthConfig
from creases.tables import ReadOptions

if TYPE_CHECKING:
    from creases.tables import RunSettings


@takes_options(ReadOptions, GrowthConfig, without=("weight", "exposure", "groups", "time"))
def grow_network(
    ctx: typer.Context,
    data: Annotated[
        str | None,
        data_argument(
            "DATA", "A .csv, .tsv, .parquet, .feather or .npz file, or a built-in problem (see: creases problems)."
        ),
    ] = None,
    when: Annotated[
        str,
        model_option(
            "WHEN",
            "When to grow: auto (one unit at a time where all rows fit one batch, else in stages), stages (each "
            "widens the layers), or every N epochs.",
            autocompletion=complete_words("auto", "stages"),
        ),
    ] = "auto",
    folder: Annotated[
        Path | None,
        output_option(
            "DIR", "Folder for the network, the report and the pictures.", "--out", autocompletion=complete_files()
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        output_option(
            "DIR",
            "Resume the run in this folder; only --budget and --max-units may change.",
            autocompletion=complete_files(),
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Grow a network on data, each unit with its reason.

    DATA is a table or a built-in problem.

    The network starts as the linear model. Each unit is explained, and stays if held-out rows confirm it. Writes the
    network, its history and a report to a folder. If interrupted, resume with --resume DIR. For a model of a table that
    can be read completely: creases fit.

    For example:
      creases grow moons --out out/moons
      creases grow houses.csv --target price --budget '60 s' --out out/houses
    """
    from creases.tables import RunSettings, resolve_data

    options = read_options(ctx, GrowthConfig) | _read_when(when)
    if resume is not None:
        settings, home = _resume_settings(resume, given_options(ctx), options), resume
    else:
        if data is None or folder is None:
            raise RequestError("data and a folder are required: creases grow table.csv --target COLUMN --out DIR")
        source = {"data": resolve_data(data), **read_options(ctx, ReadOptions)}
        settings, home = RunSettings(**source, config=GrowthConfig(**options)), folder
    from creases.cli import _table_result  # imports torch

    fresh = resume is None
    earlier = _table_result.find_earlier_run(settings, home) if fresh and not force else ""
    if earlier == "finished":
        note(f"The run in {home} is finished, with these settings: nothing to do. Grow it again with --force.")
        return
    if earlier:
        fresh = False
        note(f"Resuming the run in {home}, which was interrupted.")
    work = {"force": force, "fresh": fresh, "show_columns": not as_json}
    model, files = interruptible(home, lambda: _table_result.grow_into(settings, home, **work))
    if as_json:
        print_json(_table_result.summarize_growth(model, settings, files))
    else:
        _table_result.print_result(model, files)


def _read_when(text: str) -> dict[str, Any]:
    """Return the options of growth that say when to grow."""
    if text.isdecimal():
        return {"when": int(text)}
    if text not in ("auto", "stages"):
        raise InputError("when", "be auto, stages or a number of epochs", repr(text))
    return {} if text == "auto" else {"loop": "sized"}


def _resume_settings(folder: Path, given: set[str], options: dict[str, Any]) -> RunSettings:
    """Return the settings of the run in a folder, with new limits where they were given."""
    from creases.tables import RunSettings

    other = sorted(given - {"resume", "as_json", "budget", "max_units"})
    if other:
        expected = "not be given with --resume: a run keeps its settings"
        raise InputError(other[0], expected, hint="only --budget and --max-units may change")
    settings = RunSettings.load(folder)
    return replace(settings, config=replace(settings.config, **options))


def interruptible(home: Path, work: Callable[[], Any]) -> Any:
    """Do the work; say how to resume it after Ctrl-C."""
    try:
        return work()
    except KeyboardInterrupt:
        from creases.tables import RunFile

        if (home / RunFile.SETTINGS).exists():
            note(f"Interrupted. Resume with: creases grow --resume {home}")
        raise typer.Exit(INTERRUPTED) from None
