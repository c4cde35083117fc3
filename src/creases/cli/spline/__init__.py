"""``creases spline``: train a network on a curve and compare it with the best fit."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases.cli import _output as output
from creases.cli._completion import TABLES, complete_files, complete_words
from creases.cli._missing import Missing
from creases.cli.console import option_panels, out, print_json, print_next, print_table, repeat_command, show_progress
from creases.errors import InputError

if TYPE_CHECKING:
    from creases.cli.spline._data import Data
    from creases.splines import SplineFit

data_option, training_option, best_option, output_option = option_panels("Data", "Training", "Best fit", "Output")

#: Names of the built-in curves, ``creases.problems.TARGETS``, which takes long to import.
CURVES = ("sine", "quadratic", "cubic", "chirp", "arctan", "sawtooth")

PICTURES, NETWORKS = (".png", ".svg"), (".safetensors", ".onnx")


class Shape(StrEnum):
    """Shapes that the best fit may be required to have."""

    convex = "convex"
    concave = "concave"


class Init(StrEnum):
    """Methods that set the initial weights."""

    torch = "torch"
    uniform = "uniform"
    curvature = "curvature"
    spiky = "spiky"
    he = "he"
    glorot = "glorot"


def fit_spline(
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="A .csv, .tsv, .parquet or .npz file; without one, a built-in curve.",
            autocompletion=complete_files(*TABLES),
        ),
    ] = None,
    target: Annotated[
        str | None,
        data_option(
            metavar="NAME",
            help=f"Curve: {', '.join(CURVES)}; with DATA, the column to predict (default: the last).",
            autocompletion=complete_words(*CURVES),
        ),
    ] = None,
    x: Annotated[
        str | None,
        data_option("--x", metavar="COLUMN", help="Column of DATA to predict from: numbers, or dates (as days)."),
    ] = None,
    width: Annotated[int, training_option(metavar="N", help="Number of units, each with a breakpoint.")] = 40,
    steps: Annotated[int, training_option(metavar="N", help="Number of full-batch gradient steps.")] = 10_000,
    lr: Annotated[
        float,
        training_option(metavar="RATE", help="Learning rate; x is scaled to \\[-3, 3], y to standard deviation 1."),
    ] = 0.01,
    init: Annotated[Init, training_option(metavar="NAME", help=f"Initial weights: {', '.join(Init)}.")] = (Init.torch),
    relocate: Annotated[
        bool,
        training_option(
            "--relocate", help="Move the least useful breakpoints to where the error is largest, ten times."
        ),
    ] = False,
    pieces: Annotated[
        str | None,
        best_option(
            metavar="N",
            help="Skip training and find the best fit with N pieces; bic or cv (cross-validation) chooses N.",
        ),
    ] = None,
    slopes: Annotated[
        str | None,
        best_option(metavar="LOW,HIGH", help="Bounds on the slopes; either may be empty: 0, for increasing fits."),
    ] = None,
    shape: Annotated[Shape | None, best_option(metavar="SHAPE", help="convex or concave.")] = None,
    min_length: Annotated[float, best_option(metavar="L", help="Smallest length of a piece.")] = 0.0,
    period: Annotated[float | None, best_option(metavar="P", help="Period of the fit.")] = None,
    jumps: Annotated[bool, best_option("--jumps", help="Allow jumps between pieces.")] = False,
    points: Annotated[int, data_option(metavar="N", help="Number of training points on the curve.")] = 100,
    noise: Annotated[float, data_option(metavar="S", help="Standard deviation of the noise added to the curve.")] = 0.0,
    test: Annotated[float, data_option(metavar="F", help="Fraction of the rows of DATA held out for testing.")] = 0.2,
    missing: Annotated[
        Missing,
        data_option(metavar="HOW", help="Missing values: error, drop (the rows) or mean (fill with the column mean)."),
    ] = Missing.error,
    header: Annotated[
        bool | None,
        data_option("--header/--no-header", help="Whether the first row of a CSV file holds column names."),
    ] = None,
    seed: Annotated[
        int, training_option(metavar="N", help="Random seed of the weights, the noise and the held-out rows.")
    ] = 0,
    files: Annotated[
        list[Path] | None,
        output_option(
            "--out",
            metavar="FILE",
            help="Write the picture (.png, .svg), the network (.safetensors, .onnx) or the pieces of the best fit "
            "(.csv) to a file; may be repeated.",
            show_default=False,
        ),
    ] = None,
    values: Annotated[
        Path | None, output_option(metavar="FILE", help="Write the data with the values of the fits (.csv).")
    ] = None,
    animate: Annotated[
        Path | None, output_option(metavar="FILE", help="Write an animation of the training (.gif, .mp4).")
    ] = None,
    as_json: Annotated[bool, output_option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Fit a curve with a network, and compare it with the best fit.

    Trains a network with one input and finds the optimal piecewise-linear fit with as many breakpoints, so that you can
    measure how far gradient descent falls short.

    For example:
      creases spline --target sine --width 40 --out sine.png
      creases spline prices.csv --x year --target price --out prices.png
      creases spline prices.csv --x date --target price --pieces bic --out pieces.csv
    """
    from creases._validation import check_count
    from creases.cli.spline import _best_fit as best_fit
    from creases.cli.spline import _data as data
    from creases.cli.spline import _result as result

    paths = files or []
    output.check_outputs(paths, (*PICTURES, *NETWORKS, ".csv"), "files")
    output.check_outputs([] if values is None else [values], (".csv",), "values")
    output.check_outputs([] if animate is None else [animate], (".gif", ".mp4"), "animate")
    options = {
        "slopes": best_fit.parse_slopes(slopes),
        "shape": None if shape is None else shape.value,
        "min_length": min_length,
        "period": period,
        "jumps": jumps,
    }
    check_modes(pieces, options, animate)
    if pieces is not None:
        options["pieces"] = best_fit.parse_pieces(pieces)
    check_count(width, "width")
    check_count(steps, "steps", least=0)
    settings = {"width": width, "steps": steps, "lr": lr, "init": init.value, "relocate": relocate, "seed": seed}
    if table is None:
        if x is not None:
            raise InputError(
                "x", "be used with a table only", hint="run: creases spline table.csv --x COLUMN --target COLUMN"
            )
        curve = data.curve_data(target or "sine", points=points, noise=noise, seed=seed)
    else:
        curve = data.table_data(
            table, target=target, column=x, test=test, seed=seed, missing=missing.value, header=header
        )
    if pieces is not None:
        best_fit.fit_best(curve, options, paths, values, as_json=as_json)
        return
    fit = fit_and_write(curve, settings, paths, values, animate)
    summary = result.summarize(fit, curve, settings)
    written = [str(path) for path in (*paths, values, animate) if path is not None]
    if as_json:
        print_json({**summary, "files": written})
        return
    title = f"{curve.name}, {curve.output} by {curve.input}: {len(curve.x):,} samples, {width} units, {steps:,} steps"
    print_table(title, result.table_rows(summary), ("", "initial", "trained", "best fit"))
    for remark in result.remarks(summary):
        out.print(remark, style="dim", soft_wrap=True)
    if written:
        out.print(f"Wrote {', '.join(written)}", soft_wrap=True)
    if not written:
        print_next(repeat_command("--out", "fit.png"), "save a picture of the fit")
    elif not relocate:
        print_next(repeat_command("--relocate"), "get closer to the best fit by moving breakpoints")
    else:
        print_next(repeat_command("--animate", "training.gif"), "watch the training")


def check_modes(pieces: str | None, options: dict[str, Any], animate: Path | None) -> None:
    """Refuse options of the best fit without ``--pieces``, and those of training with it."""
    if pieces is None:
        for name, value in options.items():
            if value not in (None, False, 0.0):
                raise InputError(name, "be used with --pieces", hint="a network is trained without conditions")
    elif animate is not None:
        raise InputError("animate", "be used without --pieces", hint="there is no training to show")


def fit_and_write(
    data: Data, settings: dict[str, Any], paths: list[Path], values: Path | None, animate: Path | None
) -> SplineFit:
    """Fit the data and write the files that were asked for."""
    from threadpoolctl import threadpool_limits

    from creases.cli._kernels import load_spline_kernels
    from creases.cli.spline._tables import write_values
    from creases.show import animate_tracks
    from creases.splines import fit

    with (
        show_progress(3 + len(paths) + (values is not None) + (animate is not None)) as begin,
        threadpool_limits(1),
    ):  # arrays are small
        begin("loading the kernels")
        load_spline_kernels()
        result = fit(data.x, data.y, **settings, record=animate is not None, progress=begin)
        for path in paths:
            begin(f"writing {path.name}")
            write(result, data, path)
        if values is not None:
            begin(f"writing {values.name}")
            write_values(result.best, result.net, data, values)
        if animate is not None and result.history is not None:
            begin(f"drawing {animate.name}")
            animate_tracks(result.history, animate, names=(data.input, data.output), **drawing_options(data))
    return result


def drawing_options(data: Data) -> dict[str, Any]:
    """Return what pictures show: the data's range only, since beyond it steep pieces would dwarf the rest."""
    return {
        "data": (data.x, data.y),
        "target": data.target,
        "window": (float(data.x[0]), float(data.x[-1])),
    }


def write(result: SplineFit, data: Data, path: Path) -> None:
    """Write the picture, the network in the units of the data, or the pieces of the best fit."""
    from creases.cli.spline._tables import write_pieces
    from creases.network import read
    from creases.show import plot_spline, save_figure
    from creases.splines import to_module

    if path.suffix == ".csv":
        write_pieces(result.best, data, path)
        return
    if path.suffix in NETWORKS:
        read(to_module(result.net), input_shape=(1,)).save(path)
        return
    names = (data.input, data.output)
    save_figure(plot_spline(result.net, optimum=result.best, names=names, **drawing_options(data)), path)
