"""``creases report``: one HTML file that shows a result, to be opened anywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from creases.cli._arguments import parse_limits
from creases.cli._console import note, out, print_json, progress
from creases.cli._kernels import load_kernels
from creases.cli._output import check_outputs
from creases.errors import FileError, InputError
from creases.growth.experiment import NAME as RUN

COMPARISON = "comparison.json"
SWEEP = "sweep.json"

#: Files of maps and of networks.
MAPS = (".npz", ".safetensors", ".onnx")

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
    path: Annotated[Path, typer.Option("--out", metavar="FILE", help="The .html file to write.")] = Path("report.html"),
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
    """Show a result in one HTML file that opens anywhere, without a server or the network.

    Of a growth run: regions to point at, a timeline to drag, the reason of every unit, curves, the hardest rows, how to
    load the network.
    """
    check_outputs([path], (".html",))
    if path.is_dir():
        raise FileError(f"--out: {path} is a folder; give the name of a file")
    kind = kind_of(result)
    given = {
        "columns": columns,
        "through": through,
        "box": None if box is None else parse_limits(box),
        "data": data,
        "target": target,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, [])}
    for name in options:
        if FOR[name] != kind:
            raise InputError(f"--{name}: is for a {FOR[name]}; {result} is a {kind}")
    if kind == "map":
        options["command"] = ["creases", *sys.argv[1:]]
    told = WRITERS[kind](result, path, **options)
    if as_json:
        print_json({"kind": kind, "file": str(path), "bytes": path.stat().st_size, **told})
        return
    out.print(f"{path}: {kind}, {path.stat().st_size / 1e6:.2g} MB. Open it in a browser.", soft_wrap=True)


def kind_of(result: Path) -> str:
    """What a folder or file holds, told by its files."""
    kinds = {RUN: "growth run", COMPARISON: "comparison", SWEEP: "sweep"}
    if result.is_dir():
        found = next((kind for name, kind in kinds.items() if (result / name).exists()), None)
        if found is None:
            raise FileError(
                f"RESULT: {result} holds no growth run ({RUN}), comparison ({COMPARISON}) or sweep ({SWEEP}); give the "
                "folder that creases grow, compare or sweep wrote with --out"
            )
        return found
    if not result.exists():
        raise FileError(f"RESULT: there is no file or folder {result}")
    if result.suffix in MAPS:
        return "map"
    raise InputError(f"RESULT: expected a folder, or a map or network ({', '.join(MAPS)}), got {result.name!r}")


def _growth(folder: Path, path: Path, **options: Any) -> dict[str, Any]:
    from creases.show.report import growth_report

    load_kernels()
    with progress(4) as begin:
        written = growth_report(folder, path, **options, progress=begin)
    if not written.ended:
        note(f"the run has not ended; the report is of what is there. Go on with: creases grow --resume {folder}")
    return {
        "ended": written.ended,
        "moments": written.moments[0],
        "moments_of_run": written.moments[1],
        "rows": written.rows[0],
        "rows_of_data": written.rows[1],
        "slices": list(written.slices),
    }


def _map(file: Path, path: Path, **options: Any) -> dict[str, Any]:
    from creases.show.report import map_report

    load_kernels()
    map_report(file, path, **options)
    return {}


def _comparison(folder: Path, path: Path) -> dict[str, Any]:
    from creases.show.report import comparison_report

    load_kernels()
    comparison_report(folder, path)
    return {}


def _sweep(folder: Path, path: Path) -> dict[str, Any]:
    from creases.show.report import sweep_report

    sweep_report(folder, path)
    return {}


WRITERS: dict[str, Callable[..., dict[str, Any]]] = {
    "growth run": _growth,
    "map": _map,
    "comparison": _comparison,
    "sweep": _sweep,
}
