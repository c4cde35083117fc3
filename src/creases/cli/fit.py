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
    given_options,
    learns_from_table,
    model_option,
    output_option,
    parse_pairs,
    read_decisions,
    read_source,
)
from creases.cli.console import note, print_json
from creases.errors import RequestError

#: Defaults of ``CurveConfig``, which the help shows.
FAMILY, SEED = "auto", 0


@learns_from_table
def fit_file(
    ctx: typer.Context,
    data: Annotated[str, data_argument("FILE", f"{FILES}; or a built-in problem (see: creases problems).")],
    max_memory: Annotated[
        float,
        data_option(
            metavar="GB",
            help="Gigabytes that all processes together may take; a file that would take more is read in blocks.",
        ),
    ] = 4.0,
    weight: Annotated[
        str | None, data_option(metavar="COLUMN", help="Column with the weight of each row: not an input.")
    ] = None,
    exposure: Annotated[
        str | None,
        data_option(
            metavar="COLUMN",
            help="Column that says what each count is for, such as years: not an input; predictions are for 1.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        data_option(
            metavar="COLUMN", help="Column such as customer, whose rows stay together in every split: not an input."
        ),
    ] = None,
    time: Annotated[
        str | None, data_option(metavar="COLUMN", help="Column of dates or numbers: the latest rows are the test rows.")
    ] = None,
    family: Annotated[
        str,
        model_option(
            metavar="NAME",
            help="How a number varies around its mean: normal, poisson, gamma, tweedie or lognormal (in the last four "
            "effects multiply), or quantile:0.9; auto: the one that held-out rows favor.",
        ),
    ] = FAMILY,
    shape: Annotated[
        list[str] | None,
        model_option(
            metavar="COLUMN=SHAPE",
            help="Rising, falling, straight or convex in a column, such as age=rising; may be repeated.",
        ),
    ] = None,
    refit: Annotated[
        bool, model_option("--refit", help="Fit the model again to all rows once its scores are known.")
    ] = False,
    seed: Annotated[int, model_option(metavar="N", help="Random seed of the split and the folds.")] = SEED,
    folder: Annotated[
        Path | None,
        output_option(
            "--out", metavar="DIR", help="Folder for the model and its text.", autocompletion=complete_files()
        ),
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
    from creases.tables import CurveConfig, FitSettings

    shapes = parse_pairs(shape, "shape", "be a column and a shape such as age=rising")
    options = {**read_decisions(ctx.params), "family": family, "refit": refit}
    settings = FitSettings(
        data=source,
        **read_source(ctx.params),
        weight=weight,
        exposure=exposure,
        groups=groups,
        time=time,
        max_memory=1e9 * max_memory if "max_memory" in given_options(ctx) else None,
        config=CurveConfig(**options, shapes=shapes) if shapes else CurveConfig(**options),
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
