"""``creases predict``: predict new rows with the model of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from creases._text import plural
from creases.cli._arguments import check_outputs
from creases.cli._options import TABLES, Address, AsJson, Engine, Folder, complete_files
from creases.cli.console import (
    argument,
    command,
    note,
    option,
    print_json,
    print_next,
    print_table,
    repeat_command,
    show_progress,
)
from creases.errors import InputError

if TYPE_CHECKING:
    from creases.tables import GrownModel, TableModel

#: Classes whose predictions are counted in the summary.
COUNTED = 10

#: Bytes of a file from which on it is read in blocks, where the predictions are written to a file.
LARGE = 50_000_000

#: Rows that are printed where no file is written.
PRINTED = 20


def predict_rows(
    run: Folder,
    data: Annotated[
        Path,
        argument(
            "DATA",
            "A .csv, .tsv, .parquet, .feather or .npz file with the input columns, a pattern in quotes "
            "('part-*.parquet') or a folder.",
            autocompletion=complete_files(*TABLES),
        ),
    ],
    out: Annotated[
        Path | None, option("FILE", "The .csv or .parquet file to write; without it the first rows are printed.")
    ] = None,
    force: Annotated[bool, option("", "Overwrite the file.", "--force")] = False,
    header: Annotated[
        bool | None, option("", "Whether the first row of a CSV file holds column names.", "--header/--no-header")
    ] = None,
    distance: Annotated[
        float, option("SECONDS", "Time per row to find the nearest input with another decision; 0: skip.")
    ] = 0.0,
    coverage: Annotated[
        float | None,
        option("SHARE", "Add an interval, or a set of classes, that holds the truth for this share of new rows: 0.9."),
    ] = None,
    by: Annotated[
        str | None, option("COLUMN", "With --coverage: hold it within each value of a column of categories.")
    ] = None,
    n_jobs: Annotated[
        int | None,
        option("N", "Processes that predict blocks, or search distances; default: the number of cores.", "--jobs"),
    ] = None,
    engine: Annotated[
        Engine, option("NAME", "Where blocks are predicted: local processes, serial or ray.")
    ] = Engine.local,
    address: Address = None,
    as_json: AsJson = False,
) -> None:
    """Predict new rows with the model of a table.

    Prints the first rows, or writes all to a file: the predicted class and the probability of every class, or the
    predicted value; of a grown network the region (1 holds the most training rows, 0: a region without any); whether
    the row lies outside the range of the training rows, and in which columns. With --distance also how far the nearest
    input with another decision is, in standard deviations, and whether that is proved. Several files, or a large one,
    are read and written in blocks, in constant memory; the order of rows is kept. With --coverage also an interval, or
    a set of classes, from the errors on rows that fits had not seen.

    For example:
      creases predict out/iris new.csv --out predictions.csv --coverage 0.9
      creases predict out/prices "new-*.parquet" --out predictions.parquet
    """
    from creases._files import write_atomically
    from creases.tables import PredictionSummary, load, resolve_data

    if out is not None:
        check_outputs([out], (".csv", ".parquet"))
        if out.exists() and not force:
            raise InputError("out", "be a new file", str(out), "overwrite it with {0}", [("force", True)])
    is_parallel = n_jobs is not None or engine is not Engine.local
    where: dict[str, Any] = {"n_jobs": n_jobs, "engine": engine.value, "address": address}
    is_large = is_parallel or (data.is_file() and data.stat().st_size > LARGE)
    in_blocks = not data.is_file() or (out is not None and data.suffix != ".npz" and is_large)
    if in_blocks and coverage is not None:
        raise InputError("coverage", "come with a file that is read as a whole", str(data), "predict it in parts")
    source = resolve_data(str(data)) if in_blocks else ""
    if in_blocks and out is None:
        hint = "the first rows of a single file are printed without it"
        raise InputError("out", "be given for files that are read in blocks", repr(str(data)), hint)
    frame = None
    with show_progress(3) as begin:
        begin("reading the model")
        model = load(run)
        if in_blocks and out is not None:
            begin("predicting")
            summary = model.write_predictions(source, out, **where, header=header, budget=distance)
        else:
            begin("reading the rows")
            encoded = model.encode(data, header=header)
            begin("predicting")
            frame = model.frame(encoded, budget=distance, coverage=coverage, by=by, **(where if is_parallel else {}))
            summary = PredictionSummary.from_frame(frame, model.classes is not None).to_dict(out)
            summary |= {"notes": list(encoded.notes)}
    if frame is not None and out is not None:
        with write_atomically(out) as temporary:
            numbered = frame.rename_axis("row").reset_index()
            write = numbered.to_csv if out.suffix == ".csv" else numbered.to_parquet
            write(temporary, index=False)
    for line in summary["notes"]:
        note(line)
    if as_json:
        print_json(summary | ({} if out is not None or frame is None else {"predictions": frame.to_dict("records")}))
        return
    if frame is not None and out is None:
        first = frame.head(PRINTED).to_numpy(object)  # numbers short
        cells = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in first]
        rows = [(str(name), *row) for name, row in zip(frame.index, cells, strict=False)]
        print_table(f"first {len(first)} of {plural(len(frame), 'row')}", rows, ("row", *map(str, frame.columns)))
    _print(model, summary, out, run)


def _print(model: TableModel | GrownModel, summary: dict[str, Any], out: Path | None, run: Path) -> None:
    listing = list(summary["predicted"].items())[:COUNTED]
    form = "{0} {1:,}" if model.classes is not None else "{0} {1:.6g}"
    rows: list[tuple[str, ...]] = [
        ("predicted " + (model.schema.target or "class"), ", ".join(form.format(*pair) for pair in listing)),
        ("outside the range of the training rows", plural(summary["outside"], "row")),
    ]
    if "in_new_regions" in summary:
        rows.append(("in regions without training rows", plural(summary["in_new_regions"], "row")))
    if out is not None:
        rows.append(("written to", str(out)))
    print_table(plural(summary["rows"], "row"), rows)
    if out is None:
        print_next(repeat_command("--out", "predictions.csv"), "write all rows to a file")
        return
    print_next(command("explain", run, "--row", "0"), "why a row of the training table gets its prediction")
