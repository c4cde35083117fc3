"""``creases compare``: how similar networks are, and what changed between two of them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from creases.cli import _arguments as arguments
from creases.cli import _model as model
from creases.cli._completion import TABLES, complete_files, complete_model
from creases.cli.compare._data import IMAGES, read_samples
from creases.cli.console import note, out, print_json, print_next, print_table, repeat_command, show_progress
from creases.errors import FileError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from creases.compare import Similarity
    from creases.compare.differences import SampleDifference
    from creases.network import Network


def compare_networks(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL MODEL ...", help=model.HELP_OR_RUN, show_default=False, autocompletion=complete_model
        ),
    ],
    data: Annotated[
        str,
        typer.Option(
            metavar="DATA",
            help=f"Samples to compare on: {' or '.join(IMAGES)}, or a table (.csv, .npz, ...).",
            autocompletion=complete_files(*TABLES),
        ),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the table with the classes; default: the last.")
    ] = None,
    samples: Annotated[int, typer.Option(min=2, metavar="N", help="Number of samples to compare on.")] = 1000,
    train: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of further samples, to fit maps between the networks' coefficients.",
        ),
    ] = 0,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Scale images to mean 0 and standard deviation 1 in each channel.")
    ] = False,
    input_shape: Annotated[str | None, typer.Option(metavar="C,H,W", help="Shape of one input.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for comparison.json, networks, pictures and report.html."),
    ] = None,
    device: Annotated[str, typer.Option(metavar="DEVICE", help="Torch device: cpu, cuda, cuda:1, ...")] = "cpu",
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Compare the decisions and coefficients of networks.

    Takes two or more networks of any architecture with the same inputs.

    For example:
      creases compare old.onnx new.onnx --data test.csv --out out/compare
    """
    from creases.cli.compare._report import as_json, write
    from creases.compare import similarity

    if folder is not None and folder.exists() and not folder.is_dir():
        raise FileError(f"cannot write to {folder}: it is a file; give a folder")
    with show_progress(6 + 2 * len(models)) as begin:
        begin("reading the networks")
        nets = _read(models, arguments.parse_shape(input_shape), device)
        begin("reading the samples")
        rows = read_samples(data, next(iter(nets.values())), samples, train, target=target, normalise=normalise)
        fitted = rows.train if rows.y is not None else None
        result = similarity(nets, rows.X, y=rows.y, train=fitted, progress=lambda what, done, total: begin(what))
        begin("finding what changed")
        changed = _difference(nets, rows.X, rows.y)
        if folder is not None:
            begin("writing")
            write(result, changed, rows, nets, folder, _command())
    if train and rows.y is None:
        note(f"--train ignored: {data} has no classes to measure the accuracy of maps")
    if json:
        print_json(as_json(result, changed, rows))
        return
    _print(result, rows.source)
    out.print(f"from {result.names[0]} (a) to {result.names[1]} (b)", style="bold")
    for sentence in str(changed).splitlines():
        out.print(escape(sentence), soft_wrap=True)
    if folder is None:
        print_next(repeat_command("--out", "comparison"), "save the comparison as an HTML report")
    else:
        print_next(f"python -m webbrowser {shlex.quote(str(folder / 'report.html'))}", "open the report")


def _read(models: list[str], shape: tuple[int, ...] | None, device: str) -> dict[str, Network]:
    if len(models) < 2:
        raise InputError("models", "be at least two networks", "one")
    names = [Path(name).stem if Path(name).suffix else name for name in models]
    short = names if len(set(names)) == len(names) else models
    if len(set(short)) < len(short):
        raise InputError("models", "be different networks", "the same twice")
    return {name: _reduce_precision(model.load_model(path, shape)).to(device)
            for name, path in zip(short, models, strict=True)}  # fmt: skip


def _reduce_precision(net: Network) -> Network:
    """Return networks of images in float32, in which they were trained; small ones stay in float64."""
    import torch

    return net.to(torch.float32) if net.n_in > 256 else net


def _print(result: Similarity, source: str) -> None:
    from creases.show.report import MEASURES, format_float, measure_title, pair_rows

    order = result.order()
    names = [result.names[i] for i in order]
    scores = [""] * len(names) if result.accuracy is None else [f"{100 * result.accuracy[i]:.2f} %" for i in order]
    print_table(f"{len(names)} networks at {source}", [*zip(names, scores, strict=True)], ("network", "accuracy"))
    if len(names) == 2:
        print_table("similarity", [(f"{name}: {meaning}", value) for name, meaning, value in pair_rows(result)])
        return
    for key, meaning in MEASURES.items():
        matrix = getattr(result, key)
        if matrix is None:
            continue
        rows = [(name, *(format_float(matrix[i, j], 3) for j in order)) for name, i in zip(names, order, strict=True)]
        print_table(f"{measure_title(key)}: {meaning}", rows, ("", *names))


def _difference(nets: dict[str, Network], X: NDArray[Any], y: NDArray[np.int64] | None) -> SampleDifference:
    """Compare the first network with the second."""
    from creases.compare.differences import difference_at_samples

    a, b, *_ = nets.values()
    return difference_at_samples(a, b, X, y)


def _command() -> list[str]:
    return ["creases", *sys.argv[1:]]
