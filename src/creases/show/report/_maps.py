"""Reports of maps: all regions of a network on a plane or an interval, with their statistics."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from creases._files import open_npz
from creases._validation import check_box
from creases.errors import FileError, InputError
from creases.network import Network, read
from creases.problems import Problem, match_outputs
from creases.regions import LinePartition, PlanePartition
from creases.show._viewer._frames import partition_frame
from creases.show.report._network_sections import network_sections
from creases.show.report._page import check_html_name, format_integer, write_viewer
from creases.show.report._subject import ROWS, map_box
from creases.tables import data_box, read_table

Partition = PlanePartition | LinePartition

#: File types of networks; an .npz file may be a network or a partition.
NETWORKS = (".onnx", ".safetensors")

#: Half the side of the default box of a network.
HALF = 1.0


def write_map_report(
    path: Path,
    out: Path,
    *,
    box: Sequence[Sequence[float]] | None = None,
    data: Path | None = None,
    target: str | None = None,
    command: Sequence[str] = (),
) -> Path:
    """Write the report of a map to an HTML file.

    Parameters
    ----------
    path
        A file of a partition, by ``partition.save``, or of a network of one or two inputs (``.safetensors``,
        ``.onnx``, or ``.npz`` with W0, b0, ...).
    out
        The HTML file to write.
    box
        Box of inputs to map, for a network; by default the box around the data, or [-1, 1] without data.
    data, target
        A table of samples, and the column to predict.
    command
        The command that writes the report, to be shown in it.
    """
    check_html_name(out)
    result = _load(path)
    net = result if isinstance(result, Network) else result.net
    problem = None if data is None else _read_samples(data, target, net)
    if isinstance(result, Network):
        partition = _map(result, box, problem)
    elif box is not None:
        raise InputError(
            "box", "be omitted for a map, which has its own box", f"a box for {path.name}", "map the network again"
        )
    else:
        partition = result
    return write_partition_report(partition, out, name=path.stem, problem=problem, command=command)


def write_partition_report(
    partition: Partition, out: Path, *, name: str, problem: Problem | None = None, command: Sequence[str] = ()
) -> Path:
    """Write the report of a partition.

    Without samples the outputs are assumed to be classes, unless the network has one input and one output.
    """
    net = partition.net
    classes = output_classes(net, problem)
    box = _enclosing_box(partition, problem)
    X, y = (None, None) if problem is None else (problem.X, problem.y)
    features = None if problem is None else problem.features
    sections = network_sections(net, box=box, X=X, y=y, features=features, classes=classes, partition=partition)
    sections += [{"title": "Reproduce it", "code": shlex.join(command)}] if command else []
    rows = np.arange(0 if X is None or (net.n_in > 1 and isinstance(partition, LinePartition)) else len(X))
    if len(rows) > ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, ROWS, replace=False))
    points = problem.X[rows] if problem is not None and net.n_in > 2 else None
    about = {"moment": 0, "slice": 0}
    frame = partition_frame(partition, decides=classes is not None, points=points, about=about)
    samples: dict[str, Any] = {}
    if problem is not None:
        samples = {"X": problem.X[rows], "y": problem.y[rows], "features": problem.features}
        samples |= {"about": problem.description, "target": problem.target}
    shown, title = samples_json(net, name, classes, **samples), f"{name}: {format_integer(partition.count)} regions"
    return write_viewer(out, title, shown, [frame], partition.count, sections)


def _load(path: Path) -> Network | Partition:
    """Load the network or partition of a file."""
    if not path.is_file():
        raise FileError(f"cannot read {path}: there is no such file")
    if path.suffix in NETWORKS:
        return read(path)
    if path.suffix != ".npz":
        raise FileError(f"cannot read {path.name!r}: expected a map (.npz) or a network (.onnx, .safetensors, .npz)")
    try:
        with open_npz(path) as arrays:
            kind = str(arrays["kind"]) if "kind" in arrays else ""
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path}: it is not an .npz file of creases, or damaged: {error}") from None
    if not kind:
        return read(path)
    if kind != "LinePartition":
        return PlanePartition.load(path)
    partition = LinePartition.load(path)
    if partition.infinite:
        raise InputError("path", "be a map of a segment", f"{path.name}, which covers an infinite line")
    return partition


def _map(net: Network, box: Sequence[Sequence[float]] | None, problem: Problem | None) -> Partition:
    if net.n_in not in (1, 2):
        raise InputError(
            "path",
            "be a network of one or two inputs, or a map",
            f"a network of {net.n_in} inputs",
            "map a slice first with creases.plane(net, origin=..., basis=...) and save it",
        )
    limits = [(-HALF, HALF)] * net.n_in if problem is None else data_box(problem.X)
    return map_box(net, check_box(limits if box is None else box, net.n_in))


def _read_samples(data: Path, target: str | None, net: Network) -> Problem:
    """Read the rows of a table, with classes numbered as the outputs of the network."""
    problem = read_table(data, target)
    encoding = problem.encoding
    if problem.X.shape[1] < net.n_in and encoding is not None and encoding.left_out:
        every = [column.name for column in encoding.columns if column.use != "target"]  # constant ones too
        problem = read_table(data, target, inputs=every)
    if problem.X.shape[1] != net.n_in:
        raise InputError(
            "data", f"have {net.n_in} input columns, as the network", f"{problem.X.shape[1]} in {data.name}"
        )
    return match_outputs(problem, net.n_out)


def output_classes(net: Network, problem: Problem | None) -> tuple[str, ...] | None:
    """Return the class names of the outputs; None for regression."""
    if problem is not None:
        return problem.classes
    return None if net.n_in == net.n_out == 1 else tuple(f"class {index}" for index in range(max(2, net.n_out)))


def _enclosing_box(partition: Partition, problem: Problem | None) -> Any:
    """Return the box of inputs for statements about units: around the partition and, on a slice, the data."""
    if isinstance(partition, LinePartition):
        ends = np.stack([partition.a, partition.b])
    else:
        corners = np.stack(np.meshgrid(*partition.box), axis=-1).reshape(-1, 2)
        ends = partition.points(corners)
    if problem is not None and partition.net.n_in > 2:
        ends = np.concatenate([ends, problem.X])
    low, high = ends.min(axis=0), ends.max(axis=0)
    return np.stack([low, np.where(high > low, high, low + 1e-9 * (1 + np.abs(low)))], axis=1)


def samples_json(
    net: Network,
    name: str,
    classes: Sequence[str] | None,
    *,
    X: Any = (),
    y: Any = (),
    features: Sequence[str] | None = None,
    about: str = "",
    target: str = "",
) -> dict[str, Any]:
    """Return the viewer's JSON of the samples of a map; inputs without names have numbers."""
    return {
        "name": name,
        "about": about,
        "task": "regression" if classes is None else "classification",
        "features": list(features or (f"x{i + 1}" for i in range(net.n_in))),
        "classes": None if classes is None else list(classes),
        "target": target,
        "X": X,
        "y": y,
        "split": np.zeros(len(X), np.int64),
    }
