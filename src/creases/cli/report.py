"""``creases report``: one HTML file that shows a result, to be opened anywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from creases.cli._arguments import parse_box
from creases.cli._kernels import load_kernels
from creases.cli._output import check_outputs
from creases.cli.console import note, print_json, show_progress
from creases.cli.console import out as stdout
from creases.errors import InputError

#: Options that only some results have.
FOR = {"columns": "growth run", "through": "growth run", "box": "map", "data": "map", "target": "map"}


def write_report(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="A folder of creases grow, compare or sweep; a map (.npz) of creases map; or a network (.safetensors, "
            ".onnx, .npz) of one or two inputs, to be mapped.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The .html file to write.")] = Path("report.html"),
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B", help="Growth runs: a slice along two columns; may be repeated.", show_default=False
        ),
    ] = None,
    through: Annotated[
        list[str] | None,
        typer.Option(
            metavar="I,J,K", help="Growth runs: a slice through three rows; may be repeated.", show_default=False
        ),
    ] = None,
    box: Annotated[
        str | None, typer.Option(metavar="LO,HI,LO,HI", help="Networks: what to map, LO,HI for each input.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Maps and networks: a table of samples to show.")] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Its column of what is predicted; else the last.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a result as one HTML file.

    The file opens anywhere, without a server or the network. Of a growth run it shows regions to point at, a timeline
    to drag, the reason of every unit, curves, the hardest rows, how to load the network.
    """
    from creases.show.report import kind_of_result

    check_outputs([out], (".html",))
    if out.is_dir():
        raise InputError("out", "be a file name", f"the folder {out}")
    kind = kind_of_result(result)
    values = {
        "columns": columns,
        "through": through,
        "box": None if box is None else parse_box(box),
        "data": data,
        "target": target,
    }
    options: dict[str, Any] = {name: value for name, value in values.items() if value not in (None, [])}
    for name in options:
        if FOR[name] != kind:
            raise InputError(name, f"be given for a {FOR[name]} only", f"a {kind}, {result}")
    if kind == "map":
        options["command"] = ["creases", *sys.argv[1:]]
    details = WRITERS[kind](result, out, **options)
    if as_json:
        print_json({"kind": kind, "file": str(out), "bytes": out.stat().st_size, **details})
        return
    stdout.print(f"{out}: {kind}, {out.stat().st_size / 1e6:.2g} MB. Open it in a browser.", soft_wrap=True)


def _growth(folder: Path, path: Path, **options: Any) -> dict[str, Any]:
    from creases.show.report import write_growth_report

    load_kernels()
    with show_progress(4) as begin:
        written = write_growth_report(folder, path, **options, progress=begin)
    if not written.ended:
        note(f"The run has not ended; the report shows what it has reached. Resume it: creases grow --resume {folder}")
    return {
        "ended": written.ended,
        "moments": written.moments[0],
        "moments_of_run": written.moments[1],
        "rows": written.rows[0],
        "rows_of_data": written.rows[1],
        "slices": list(written.slices),
    }


def _map(file: Path, path: Path, **options: Any) -> dict[str, Any]:
    from creases.show.report import write_map_report

    load_kernels()
    write_map_report(file, path, **options)
    return {}


def _comparison(folder: Path, path: Path) -> dict[str, Any]:
    from creases.show.report import write_comparison_report

    load_kernels()
    write_comparison_report(folder, path)
    return {}


def _sweep(folder: Path, path: Path) -> dict[str, Any]:
    from creases.show.report import write_sweep_report

    write_sweep_report(folder, path)
    return {}


WRITERS: dict[str, Callable[..., dict[str, Any]]] = {
    "growth run": _growth,
    "map": _map,
    "comparison": _comparison,
    "sweep": _sweep,
}
