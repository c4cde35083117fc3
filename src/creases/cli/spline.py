"""``creases spline``: the best piecewise-linear fit of a curve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

from creases.cli._arguments import check_outputs
from creases.cli._options import TABLES, AsJson, check_file, complete_files
from creases.cli.console import (
    announce_compiling,
    argument,
    option,
    out,
    print_json,
    print_next,
    print_table,
    repeat_command,
    show_progress,
)
from creases.errors import InputError

if TYPE_CHECKING:
    from creases._typing import Floats
    from creases.splines import OptimalFit

DATA = "A .csv, .tsv, .parquet or .npz file."
OUT = "Write a picture (.png, .svg), the pieces (.csv) or a network (.safetensors, .onnx); may be repeated."


def fit_spline(
    table: Annotated[Path, argument("DATA", DATA, autocompletion=complete_files(*TABLES), callback=check_file)],
    target: Annotated[str | None, option("COLUMN", "Column to predict; the last.")] = None,
    x: Annotated[str | None, option("COLUMN", "Inputs: numbers or dates; the first.", "--x")] = None,
    pieces: Annotated[str, option("N", "Number of pieces; bic or cv chooses it.")] = "bic",
    network: Annotated[Path | None, option("FILE", "A network to describe on the data.", callback=check_file)] = None,
    files: Annotated[list[Path] | None, option("FILE", OUT, "--out")] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a curve by the best piecewise-linear function.

    The fit is proved to be the best where possible.

    For example:
      creases spline prices.csv --x year --target price --out prices.png
      creases spline prices.csv --x date --target price --pieces 4 --out pieces.csv
    """
    from threadpoolctl import threadpool_limits

    from creases.splines import compile_kernels, optimal_fit

    paths = files or []
    check_outputs(paths, (".png", ".svg", ".csv", ".safetensors", ".onnx"), "files")
    if pieces not in ("bic", "cv") and not (pieces.isdecimal() and int(pieces)):
        raise InputError("pieces", "be a positive number, bic or cv", repr(pieces))
    data = _read_table(table, target, x)
    with show_progress(2 + len(paths)) as begin, threadpool_limits(1):  # arrays are small
        begin("loading the kernels")
        compile_kernels(announce_compiling)
        begin("finding the best fit")
        fit = optimal_fit(data.x, data.y, cast(Any, int(pieces) if pieces.isdecimal() else pieces))
        rows = _list_pieces(fit, data)
        for path in paths:
            begin(f"writing {path.name}")
            _write(fit, rows, data, path)
    words = _describe_network(network, data) if network else []
    error, bound = fit.sse / len(data.x), fit.lower_bound / len(data.x)
    if as_json:
        numbers = {"error": error, "least_possible_error": bound, "is_optimal": fit.is_optimal, "network": words}
        print_json({"pieces": rows, **numbers, "selection": fit.selection, "files": list(map(str, paths))})
        return
    cells = [tuple(f"{v:.4g}" if isinstance(v, float) else v or "" for v in row.values()) for row in rows]
    heads = tuple(name.replace("_", " ") for name in rows[0])
    print_table(f"{data.output} by {data.input}: {len(data.x):,} samples", cells, heads)
    proof = "optimal, proved" if fit.is_optimal else f"no fit is below {bound:.4g}"
    out.print("\n".join([f"Mean squared error: {error:.4g} ({proof}).", *words]), style="dim", soft_wrap=True)
    if paths:
        out.print(f"Wrote {', '.join(map(str, paths))}", soft_wrap=True)
    else:
        print_next(repeat_command("--out", "pieces.csv"), "write the slopes and knots")


def _describe_network(path: Path, data: Samples) -> list[str]:
    """Return where a network's breakpoints are, how gradient flow moves them, and which units are degenerate."""
    import numpy as np

    from creases.splines import breakpoints, from_module, theory

    net, grid = from_module(path), np.linspace(data.x[0], data.x[-1], 10_001)
    found = breakpoints(net)
    inside = (found.x > data.x[0]) & (found.x < data.x[-1])
    start = theory.breakpoint_density(grid, sw=1, sb=1, uniform=True).mean() * np.ptp(grid)
    speed = theory.velocities(net, data.x, data.y).beta[found.unit] * inside
    where = f"{inside.sum()} of {net.width} breakpoints between the first and the last sample (at first {start:.0%})."
    lonely = f"{theory.lonely_samples(data.x, found.x).sum()} samples are alone in their piece."
    moved = np.argsort(-np.abs(speed))[:3]
    motion = [f"Gradient flow moves unit {found.unit[k]} from {found.x[k]:.4g} by {speed[k]:.3g}." for k in moved]
    causes = theory.degenerate_units(net, data.x)
    degenerate = [f"Degenerate ({cause.kind}): unit {', '.join(map(str, cause.units))}." for cause in causes]
    return [where, lonely, *motion, *degenerate]


class Samples(NamedTuple):
    """Samples in increasing x; of dates, x counts days from the first."""

    x: Floats
    y: Floats
    input: str
    output: str
    first_day: str = ""


def _read_table(path: Path, target: str | None, column: str | None) -> Samples:
    from creases.tables import read_table

    table = read_table(path, target, task="regression", inputs=[0 if column is None else column])
    dates = [k for k, name in enumerate(table.features) if " days since " in name]
    if (len(table.features) > 1 and len(dates) != 1) or "=" in table.features[0]:
        raise InputError("x", "be one column of numbers or dates", ", ".join(table.features[:12]))
    x = table.X[:, dates[0] if dates else 0]
    name, _, first_day = table.features[dates[0] if dates else 0].partition(" days since ")
    if x.min() == x.max():
        raise InputError("table", "have at least two different inputs", f"one value of {name!r} in all rows")
    order = x.argsort(kind="stable")
    return Samples(x[order], table.y[order], name, table.target, first_day)


def _list_pieces(fit: OptimalFit, data: Samples) -> list[dict[str, Any]]:
    """Return each piece within the data: its ends, the values there, the slope, its standard error and p-value."""
    import numpy as np

    ends = np.clip([data.x[0], *fit.knots, data.x[-1]], data.x[0], data.x[-1])
    values = fit(ends)
    known = fit.statistics(data.x, data.y)
    names = ("value_at_begin", "value_at_end", "slope", "standard_error", "p_value")
    columns = (values[:-1], values[1:], fit.pieces.slopes, known.standard_errors, known.p_values)
    places: list[Any] = ends.tolist()
    if data.first_day:  # dates, with the time unless it is midnight
        moments = np.datetime64(data.first_day, "s") + (ends * 86400).round().astype("timedelta64[s]")
        places = [str(moment).replace("T", " ").removesuffix(" 00:00:00") for moment in moments]
    return [
        {"begin": places[k], "end": places[k + 1]}
        | {name: float(c[k]) if np.isfinite(c[k]) else None for name, c in zip(names, columns, strict=True)}
        for k in np.flatnonzero(np.diff(ends) > 0)
    ]


def _write(fit: OptimalFit, rows: list[dict[str, Any]], data: Samples, path: Path) -> None:
    from pandas import DataFrame

    import creases.show as show
    import creases.splines as splines
    from creases._files import write_atomically
    from creases.network import read

    if path.suffix in (".safetensors", ".onnx"):
        read(splines.to_module(splines.to_shallow(fit.spline())), input_shape=(1,)).save(path)
    elif path.suffix == ".csv":
        with write_atomically(path) as temporary:
            DataFrame(rows).to_csv(temporary, index=False)
    else:
        figure, (ax,) = show.new_figure(7, 4)
        show.plot_pieces(fit, ax=ax, data=(data.x, data.y), names=(data.input, data.output))
        show.save_figure(figure, path)
