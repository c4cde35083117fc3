"""``creases report``: a result as a single HTML page."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from creases.cli._arguments import check_outputs, parse_box
from creases.cli._options import AsJson, complete_files
from creases.cli.console import argument, load_kernels, note, option, print_json, print_next, show_progress
from creases.cli.console import out as stdout
from creases.errors import InputError

#: Options that only some results have.
FOR = {"columns": "growth run", "through": "growth run", "box": "map", "data": "map", "target": "map"}


def write_report(
    result: Annotated[
        Path,
        argument(
            "RESULT",
            "A folder of creases fit, grow or compare; an .npz file of creases map; or a network with one "
            "or two inputs (.safetensors, .onnx, .npz), which is mapped first.",
            autocompletion=complete_files(".npz", ".onnx", ".safetensors"),
        ),
    ],
    out: Annotated[Path, option("FILE", "The .html file to write.")] = Path("report.html"),
    columns: Annotated[
        list[str] | None, option("A,B", "Growth runs: add a slice along two columns; may be repeated.")
    ] = None,
    through: Annotated[
        list[str] | None, option("I,J,K", "Growth runs: add a slice through three rows; may be repeated.")
    ] = None,
    box: Annotated[str | None, option("LO,HI,LO,HI", "Networks: the box to map, LO,HI for each input.")] = None,
    data: Annotated[Path | None, option("FILE", "Maps and networks: a table of samples to show.")] = None,
    target: Annotated[str | None, option("COLUMN", "Target column of that table; default: the last.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write what a command found as a single HTML page.

    The page opens in any browser, without a server or an internet connection. For a growth run it shows the regions,
    a timeline, the reason for every unit, learning curves, the hardest rows and how to load the network.

    For example:
      creases report out/iris --out iris.html
      creases report net.safetensors --box -2,2,-2,2 --out net.html
    """
    from creases.show.report import kind_of_result

    check_outputs([out], (".html",))
    if out.is_dir():
        raise InputError("out", "be a file name", f"the folder {out}")
    kind = kind_of_result(result)
    values: dict[str, Any] = {"columns": columns, "through": through, "data": data, "target": target}
    values["box"] = None if box is None else parse_box(box)
    options = {name: value for name, value in values.items() if value not in (None, [])}
    for name in options:
        if FOR[name] != kind:
            raise InputError(name, f"be given for a {FOR[name]} only", f"a {kind}, {result}")
    if kind == "map":
        options["command"] = ["creases", *sys.argv[1:]]
    details = _write(kind, result, out, options)
    if as_json:
        print_json({"kind": kind, "file": str(out), "bytes": out.stat().st_size, **details})
        return
    stdout.print(f"Wrote {out} ({kind}, {out.stat().st_size / 1e6:.2g} MB)", soft_wrap=True)
    print_next(f"python -m webbrowser {shlex.quote(str(out))}", "open it in a browser")


#: Which function writes the page of each kind of result.
WRITERS = {
    "model of a table": "write_table_report",
    "growth run": "write_growth_report",
    "map": "write_map_report",
    "comparison": "write_comparison_report",
}


def _write(kind: str, result: Path, out: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Write the page; return what ``--json`` says of it besides its size."""
    import creases.show.report as reports

    write = getattr(reports, WRITERS[kind])
    if kind == "model of a table":
        return {"rows": write(result, out)}
    load_kernels()
    if kind != "growth run":
        write(result, out, **options)
        return {}
    with show_progress(4) as begin:
        written = write(result, out, **options, progress=begin)
    if not written.ended:
        note(f"The run is not finished; the report shows it so far. Resume with: creases grow --resume {result}")
    (moments, moments_of_run), (rows, rows_of_data) = written.moments, written.rows
    counts = {"moments": moments, "moments_of_run": moments_of_run, "rows": rows, "rows_of_data": rows_of_data}
    return {"ended": written.ended, **counts, "slices": list(written.slices)}
