"""``creases spline``: a network of one input trained, and the best function with as many breakpoints beside it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creases.cli import _output as output
from creases.cli._console import note, out, print_json, print_table, show_progress
from creases.cli.grow import Missing
from creases.errors import InputError

if TYPE_CHECKING:
    from creases.cli.spline._data import Data
    from creases.cli.spline._result import Result
    from creases.cli.spline._training import Plan

PICTURES, NETWORKS = (".png", ".svg"), (".safetensors", ".onnx")


class Init(StrEnum):
    """First weights."""

    torch = "torch"
    uniform = "uniform"
    curvature = "curvature"
    spiky = "spiky"
    he = "he"
    glorot = "glorot"


def fit_spline(
    table: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="A .csv, .tsv, .parquet or .npz file; without one, a built-in curve."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="The curve: sine, quadratic, cubic, chirp, arctan or sawtooth; of DATA, the column to predict (else "
            "the last)."
        ),
    ] = None,
    x: Annotated[str | None, typer.Option("--x", metavar="COLUMN", help="The column of DATA to predict from.")] = None,
    width: Annotated[int, typer.Option(help="Units of the network, each with a breakpoint.")] = 40,
    steps: Annotated[int, typer.Option(help="Steps of gradient descent, on all data at once.")] = 10_000,
    lr: Annotated[float, typer.Option(help="Learning rate; x is scaled to [-3, 3], y to deviation 1.")] = 0.01,
    init: Annotated[Init, typer.Option(help="First weights: as torch draws them, or by their breakpoints.")] = (
        Init.torch
    ),
    relocate: Annotated[
        bool, typer.Option("--relocate", help="Ten times, move the breakpoints that do least to where most is missing.")
    ] = False,
    points: Annotated[int, typer.Option(help="Points of the curve to train on.")] = 100,
    noise: Annotated[float, typer.Option(help="Deviation of what is added to the curve's points.")] = 0.0,
    test: Annotated[float, typer.Option(help="Share of DATA's rows that is only tested with.")] = 0.2,
    missing: Annotated[
        Missing, typer.Option(help="Missing values: refuse them, drop those rows, or put the column's mean.")
    ] = Missing.error,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether a CSV file's first row has the names.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the first weights, the noise and the rows held out.")] = 0,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            help="Where to write the picture (.png, .svg) and the network (.safetensors, .onnx); may be repeated.",
            show_default=False,
        ),
    ] = None,
    animate: Annotated[Path | None, typer.Option(metavar="FILE", help="A .gif or .mp4 of the training.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Train a network of one input and find the best piecewise-linear function with as many breakpoints.

    creases spline --target sine --width 40 --out sine.png
    """
    from creases.cli.spline import _data as data
    from creases.cli.spline import _result as result
    from creases.cli.spline import _training as training

    paths = files or []
    output.check_outputs(paths, (*PICTURES, *NETWORKS))
    output.check_outputs([] if animate is None else [animate], (".gif", ".mp4"), "--animate")
    plan = training.Plan(width, steps, lr, init.value, relocate, seed)
    if table is None:
        if x is not None:
            raise InputError("--x: is for tables: creases spline table.csv --x COLUMN --target COLUMN")
        found = data.curve_data(target or "sine", points=points, noise=noise, seed=seed)
    else:
        found = data.table_data(
            table, target=target, column=x, test=test, seed=seed, missing=missing.value, header=header
        )
    fit = run(found, plan, paths, animate)
    summary = fit.summary()
    written = [str(path) for path in (*paths, *([] if animate is None else [animate]))]
    if as_json:
        print_json({**summary, "files": written})
        return
    title = f"{found.name}, {found.output} by {found.input}: {len(found.x):,} data, {width} units, {steps:,} steps"
    print_table(title, result.rows(summary), ("", "at first", "trained", "best fit"))
    for remark in result.remarks(summary):
        out.print(remark, style="dim", soft_wrap=True)
    if written:
        out.print(f"written: {', '.join(written)}", soft_wrap=True)
    else:
        note("nothing was written; name files with --out fit.png --animate training.gif")


def run(data: Data, plan: Plan, paths: list[Path], animate: Path | None) -> Result:
    """Train, fit, and write what was asked for."""
    from threadpoolctl import threadpool_limits

    from creases.cli._kernels import load_spline_kernels
    from creases.cli.spline._result import Result
    from creases.cli.spline._training import train
    from creases.show import animate_tracks
    from creases.splines import optimal_fit

    shown = f" of {plan.steps:,} steps"
    with show_progress(3 + len(paths) + (animate is not None)) as begin, threadpool_limits(1):  # arrays are small
        begin("loading the kernels")
        load_spline_kernels()
        begin("training")
        trained = train(
            data.x,
            data.y,
            plan,
            film=animate is not None,
            progress=lambda done: begin(f"training: {done:,}{shown}"),
        )
        begin("finding the best fit")
        fit = Result(data, plan, trained, optimal_fit(data.x, data.y, plan.width + 1))
        for path in paths:
            begin(f"writing {path.name}")
            write(fit, path)
        if animate is not None and trained.film is not None:
            begin(f"drawing {animate.name}")
            animate_tracks(trained.film, animate, names=(data.input, data.output), **drawn(data))
    return fit


def drawn(data: Data) -> dict[str, Any]:
    """What pictures show of the data, from the first to the last: beyond them steep pieces would dwarf the rest."""
    return {
        "data": (data.x, data.y),
        "target": data.target,
        "window": (float(data.x[0]), float(data.x[-1])),
    }


def write(fit: Result, path: Path) -> None:
    """The picture, or the network in the data's own units."""
    import creases
    from creases.show import plot_spline, save_figure
    from creases.splines import to_module

    data, net = fit.data, fit.trained.net
    if path.suffix in NETWORKS:
        creases.read(to_module(net), input_shape=(1,)).save(path)
        return
    save_figure(plot_spline(net, optimum=fit.best, names=(data.input, data.output), **drawn(data)), path)
