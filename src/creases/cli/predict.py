"""``creases predict``: predict new rows of a table with the network of a growth run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases._text import plural
from creases.cli._output import check_outputs
from creases.cli.console import note, print_json, print_table, show_progress

if TYPE_CHECKING:
    import pandas as pd

    from creases.growth.experiment import TableModel

#: Classes whose predictions are counted in the summary.
COUNTED = 10


def predict_rows(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of creases grow.", show_default=False)],
    data: Annotated[
        Path, typer.Argument(help="A .csv, .tsv, .parquet or .npz file with the input columns.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The .csv file to write.")] = Path("predictions.csv"),
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether a CSV file's first row holds names.")
    ] = None,
    distance: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Time for each row's distance to the nearest input decided otherwise; 0: none."
        ),
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Predict new rows of a table.

    Writes a row for each: the class and the probability of every class, or the value; the region, numbered by the rows
    trained on that it holds (0: none); whether the row is outside, that is some input exceeds the range of the rows
    trained on, and which; with --distance, how far the nearest input is that is decided otherwise, in standard
    deviations, and whether that is proved.
    """
    from creases._files import write_atomically
    from creases.growth.experiment import load

    check_outputs([out], (".csv",))
    with show_progress(3) as begin:
        begin("reading the network")
        model = load(run)
        begin("reading the rows")
        encoded = model.encode(data, header=header)
        begin("predicting")
        frame = model.encoded_frame(encoded.X, budget=distance)
    with write_atomically(out) as temporary:
        frame.to_csv(temporary, index_label="row")
    for line in encoded.notes:
        note(line)
    if as_json:
        print_json(_summary(model, frame, out) | {"notes": list(encoded.notes)})
    else:
        _print(model, frame, out)


def _summary(model: TableModel, frame: pd.DataFrame, out: Path) -> dict[str, Any]:
    predicted = frame.iloc[:, 0]
    summary = {"file": str(out), "rows": len(frame), "outside": int((frame["outside"] == "yes").sum())}
    summary["in_new_regions"] = int((frame["region"] == 0).sum())
    if model.classes is not None:
        return summary | {"predicted": {str(name): int(n) for name, n in predicted.value_counts().items()}}
    spread = {"least": predicted.min(), "mean": predicted.mean(), "largest": predicted.max()} if len(frame) else {}
    return summary | {"predicted": {name: float(value) for name, value in spread.items()}}


def _print(model: TableModel, frame: pd.DataFrame, out: Path) -> None:
    summary = _summary(model, frame, out)
    listing = list(summary["predicted"].items())[:COUNTED]
    form = "{0} {1:,}" if model.classes is not None else "{0} {1:.6g}"
    rows: list[tuple[str, ...]] = [
        ("predicted " + (model.target or "class"), ", ".join(form.format(*pair) for pair in listing)),
        ("outside the rows trained on", plural(summary["outside"], "row")),
        ("in regions without rows trained on", plural(summary["in_new_regions"], "row")),
        ("written to", str(out)),
    ]
    print_table(plural(len(frame), "row"), rows)
