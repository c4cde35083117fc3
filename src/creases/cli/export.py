"""``creases export``: the model of a table as a file that predicts without creases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from creases.cli._options import AsJson, Folder
from creases.cli.console import argument, note, option, print_json, show_progress
from creases.errors import InputError


def export_file(
    run: Folder,
    out: Annotated[Path, argument("FILE", "The .sql, .py, .xlsx or .onnx file to write.")],
    table: Annotated[str, option("NAME", "SQL: name of the table with the rows.")] = "rows",
    force: Annotated[bool, option("", "Overwrite the file.", "--force")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the model of a table as SQL, Python, Excel or ONNX.

    The file takes the cells of the table: numbers, texts, dates as ISO 8601 (2021-03-05 14:30:00); what it takes from
    each column it says. It is run on rows of the table, at every knot and on odd cells, and written only if it predicts
    what the model does, but for rounding; the largest deviation and what ran it are printed.

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
            {"file": str(export.path), "run_by": export.by, "rows": export.rows, "refused": export.unread}
            | {"deviation": export.deviation, "bound": export.bound, "decided_otherwise": export.decided}
            | {"renamed": dict(export.names)}
        )
        return
    note(str(export))
