"""``creases fit``: a table in, a model that a person can read completely out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creases.cli._options import complete_files
from creases.cli._table_options import (
    FILES,
    AsJson,
    Force,
    data_argument,
    data_option,
    output_option,
    read_options,
    takes_options,
)
from creases.cli.console import note, print_json
from creases.errors import RequestError
from creases.tables import CurveConfig, ReadOptions


@takes_options(ReadOptions, CurveConfig)
def fit_file(
    ctx: typer.Context,
    data: Annotated[str, data_argument("FILE", f"{FILES}; or a built-in problem (see: creases problems).")],
    max_memory: Annotated[
        float | None,
        data_option(
            "GB",
            "Gigabytes that all processes may take together (4); a file that would take more is read in blocks.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        output_option("DIR", "Folder for the model and its text.", "--out", autocompletion=complete_files()),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model of a table that a person can read completely.

    Straight lines first, then curves of columns, planes of pairs of columns and units of many: each where it predicts
    held-out rows better. Prints the scores and the model in words, and writes it to a folder, from which creases
    predict, explain, report and studio take it.

    For example:
      creases fit houses.csv --target price --shape area=rising --out out/houses
      creases fit "part-*.parquet" --target price --out out/prices
    """
    from creases.tables import resolve_data

    if folder is None:
        raise RequestError("a folder is required: creases fit table.csv --target COLUMN --out DIR")
    source = resolve_data(data)  # a missing file is refused before anything slow is imported
    from creases.cli._table_result import find_earlier_run, fit_into, print_result, summarize_fit
    from creases.tables import FitSettings

    settings = FitSettings(
        data=source,
        **read_options(ctx, ReadOptions),
        max_memory=None if max_memory is None else 1e9 * max_memory,
        config=CurveConfig(**read_options(ctx, CurveConfig)),
    )
    earlier = "" if force else find_earlier_run(settings, folder)
    if earlier == "finished":
        note(f"The model in {folder} was fitted with these settings: nothing to do. Fit it again with --force.")
        return
    model, files = fit_into(settings, folder, force=force or bool(earlier), show_columns=not as_json)
    if as_json:
        print_json(summarize_fit(model, files))
    else:
        print_result(model, files)
