"""``creases export``: the model of a table as a file that predicts without creases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from creases.cli._options import Folder
from creases.cli.console import note, print_json, show_progress
from creases.errors import InputError


def export_file(
    run: Folder,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The .sql, .py, .xlsx or .onnx file to write.")],
    table: Annotated[str, typer.Option(metavar="NAME", help="SQL: name of the table with the rows.")] = "rows",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Write the model of a table as SQL, Python, Excel or ONNX.

    The file takes the columns of the table: numbers, words as text, dates as text (2021-03-05 14:30:00). It is compared
    with the model on rows of the table and at every knot of its curves, and the largest deviation is printed.

    For example:
      creases export out/homes homes.sql --table houses
      creases export out/homes homes.xlsx
    """
    from creases.tables import load

    if out.exists() and not force:
        raise InputError("out", "be a new file", str(out), "overwrite it with {0}", [("force", True)])
    with show_progress(2) as begin:
        begin("reading the model")
        model = load(run)
        begin("writing and comparing")
        export = model.export(out, table=table)
    if as_json:
        print_json(
            {"file": str(export.path), "rows": export.rows, "deviation": export.deviation, "bound": export.bound}
            | {"decided_otherwise": export.decided}
        )
        return
    note(str(export))
