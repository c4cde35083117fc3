"""``creases spline --pieces``: the best fit alone, with conditions, and without training a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from creases._text import plural
from creases._validation import check_count
from creases.cli.console import out, print_json, print_next, print_table, repeat_command, show_progress
from creases.cli.spline._data import Data
from creases.cli.spline._tables import as_date, piece_rows, write_pieces, write_values
from creases.errors import InputError
from creases.splines import OptimalFit

NETWORKS = (".safetensors", ".onnx")


def parse_pieces(text: str) -> int | str:
    """Return a number of pieces, or how to choose it."""
    if text in ("bic", "cv"):
        return text
    try:
        pieces = int(text)
    except ValueError:
        raise InputError("pieces", "be a number, bic or cv", repr(text)) from None
    check_count(pieces, "pieces")
    return pieces


def parse_slopes(text: str | None) -> tuple[float, float] | None:
    """Return the bounds of ``LOW,HIGH``, one of which may be empty."""
    if text is None:
        return None
    low, comma, high = text.partition(",")
    try:
        if not comma:
            raise ValueError
        return float(low or "-inf"), float(high or "inf")
    except ValueError:
        raise InputError(
            "slopes", "be LOW,HIGH", repr(text), "for example -1,1; leave one empty for no bound"
        ) from None


def fit_best(data: Data, options: dict[str, Any], paths: list[Path], values: Path | None, *, as_json: bool) -> None:
    """Find the best fit, write the files and print its pieces; the options are those of ``optimal_fit``."""
    from threadpoolctl import threadpool_limits

    from creases.cli._kernels import load_spline_kernels
    from creases.splines import optimal_fit

    files = [*paths, *([] if values is None else [values])]
    with show_progress(2 + len(files)) as begin, threadpool_limits(1):
        begin("loading the kernels")
        load_spline_kernels()
        begin("finding the best fit")
        fit = optimal_fit(data.x, data.y, **options)
        for path in paths:
            begin(f"writing {path.name}")
            _write(fit, data, path)
        if values is not None:
            begin(f"writing {values.name}")
            write_values(fit, None, data, values)
    _print(fit, data, [str(path) for path in files], as_json=as_json)


def _write(fit: OptimalFit, data: Data, path: Path) -> None:
    """Write the pieces, the picture, or the network that computes the fit."""
    from creases.network import read
    from creases.show import new_figure, plot_pieces, save_figure
    from creases.splines import to_module, to_shallow

    if path.suffix == ".csv":
        write_pieces(fit, data, path)
    elif path.suffix in NETWORKS:
        read(to_module(to_shallow(fit.spline())), input_shape=(1,)).save(path)
    else:
        window = float(data.x[0]), float(data.x[-1])
        names = data.input, data.output
        figure, (ax,) = new_figure(7, 4)
        plot_pieces(fit, ax=ax, data=(data.x, data.y), target=data.target, window=window, names=names)
        save_figure(figure, path)


def _print(fit: OptimalFit, data: Data, written: list[str], *, as_json: bool) -> None:
    rows = piece_rows(fit, data)
    if as_json:
        print_json(_summary(fit, data, rows, written))
        return
    title = f"{data.name}, {data.output} by {data.input}: {len(data.x):,} samples, {plural(len(rows), 'piece')}"
    table: list[tuple[str, ...]] = [
        (
            str(_short(row["begin"], data)),
            str(_short(row["end"], data)),
            f"{row['slope']:.4g}",
            "" if row["slope_standard_error"] is None else f"{row['slope_standard_error']:.2g}",
            "" if row["slope_p_value"] is None else f"{row['slope_p_value']:.2g}",
            f"{row['value_at_begin']:.4g}",
            f"{row['value_at_end']:.4g}",
        )
        for row in rows
    ]
    print_table(title, table, ("begin", "end", "slope", "std. error", "p-value", "value at begin", "value at end"))
    mean = fit.sse / len(data.x)
    proof = "optimal, proved" if fit.is_optimal else f"no fit is below {fit.lower_bound / len(data.x):.4g}"
    out.print(f"Mean squared error: {mean:.4g} ({proof}).", style="dim", soft_wrap=True)
    if len(data.test_x):
        test = ((fit(data.test_x) - data.test_y) ** 2).mean()
        out.print(f"Test error: {test:.4g} ({plural(len(data.test_x), 'sample')}).", style="dim", soft_wrap=True)
    if fit.selection is not None:
        scores = ", ".join(f"{pieces}: {score:.4g}" for pieces, score in fit.selection.items())
        out.print(f"Score by number of pieces (smallest is best): {scores}.", style="dim", soft_wrap=True)
    if written:
        out.print(f"Wrote {', '.join(written)}", soft_wrap=True)
    else:
        print_next(repeat_command("--out", "pieces.csv"), "write the slopes and knots")


def _short(x: float, data: Data) -> str:
    place = as_date(x, data)
    return place if isinstance(place, str) else f"{place:.6g}"


def _summary(fit: OptimalFit, data: Data, rows: list[dict[str, Any]], written: list[str]) -> dict[str, Any]:
    test = float(((fit(data.test_x) - data.test_y) ** 2).mean()) if len(data.test_x) else None
    return {
        "data": {"name": data.name, "input": data.input, "output": data.output, "train": len(data.x)},
        "pieces": rows,
        "training_error": fit.sse / len(data.x),
        "test_error": test,
        "least_possible_error": fit.lower_bound / len(data.x),
        "is_optimal": fit.is_optimal,
        "selection": fit.selection,
        "files": written,
    }
