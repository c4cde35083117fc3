"""The report of a map: every region of one network on a plane or an interval, and what they amount to."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._files import open_npz
from creases._typing import Floats
from creases._validation import check_box
from creases.errors import FileError, InputError
from creases.network import Network, read
from creases.problems import Problem, match_outputs, read_table
from creases.regions import LinePartition, PlanePartition, line, plane
from creases.show.report._sections import network_sections
from creases.show.report._still import check_name, write_viewer
from creases.show.report._subject import ROWS, Section
from creases.show.report._words import whole
from creases.show.viewer import line_frame, plane_frame

Partition = PlanePartition | LinePartition

#: Files that are networks; an .npz file may be one, or a partition.
NETWORKS = (".onnx", ".safetensors")

#: Half the side of the box of a network that is given without one.
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
        A partition that ``creases map --out map.npz`` or ``partition.save`` wrote, or a network of one or two inputs
        (``.safetensors``, ``.onnx``, or ``.npz`` with W0, b0, ...).
    box
        ``[(lo, hi)] * n_in`` to map of a network; what is around the data unless given, [-1, 1] without any.
    data, target
        A table of samples, and its column of what to predict.
    command
        That makes the report again.
    """
    check_name(out)
    found = _opened(path)
    net = found if isinstance(found, Network) else found.net
    problem = None if data is None else _samples(data, target, net)
    if isinstance(found, Network):
        partition = _mapped(found, box, problem)
    elif box is not None:
        raise InputError(f"box: {path.name} is a map, which has its box; leave it out, or map the network again")
    else:
        partition = found
    return write_partition_report(partition, out, name=path.stem, problem=problem, command=command)


def write_partition_report(
    partition: Partition, out: Path, *, name: str, problem: Problem | None = None, command: Sequence[str] = ()
) -> Path:
    """Write the report of a partition.

    Without samples the outputs are taken for those of classes, unless the network is a function of one number.
    """
    net = partition.net
    classes = _classes(net, problem)
    box = _around(partition, problem)
    X, y = (None, None) if problem is None else (problem.X, problem.y)
    features = None if problem is None else problem.features
    sections = network_sections(net, box=box, X=X, y=y, features=features, classes=classes, partition=partition)
    sections = [*sections, *_again(command)]
    about = {"moment": 0, "slice": 0}
    shown = _shown(problem if isinstance(partition, PlanePartition) or net.n_in == 1 else None)  # not beside a line
    if isinstance(partition, PlanePartition):
        points = problem.X[shown] if problem is not None and net.n_in > 2 else None
        frame = plane_frame(partition, decides=classes is not None, points=points, about=about)
    else:
        frame = line_frame(partition, about=about)
    told = f"{whole(partition.count)} regions"
    return write_viewer(
        out, f"{name}: {told}", _problem_json(net, name, problem, classes, shown), [frame], partition.count, sections
    )


def _opened(path: Path) -> Network | Partition:
    """The network or partition of a file."""
    if not path.is_file():
        raise FileError(f"path: there is no file {path}")
    if path.suffix in NETWORKS:
        return read(path)
    if path.suffix != ".npz":
        raise FileError(f"path: expected a map (.npz) or a network (.onnx, .safetensors, .npz), got {path.name!r}")
    try:
        with open_npz(path) as arrays:
            kind = str(arrays["kind"]) if "kind" in arrays else ""
    except (OSError, ValueError) as error:
        raise FileError(f"path: {path} is not an .npz file that creases wrote, or damaged: {error}") from None
    if not kind:
        return read(path)
    if kind != "LinePartition":
        return PlanePartition.load(path)
    found = LinePartition.load(path)
    if found.infinite:
        raise InputError(f"path: {path.name} is of a whole line, which no picture shows; save that of a segment")
    return found


def _mapped(net: Network, box: Sequence[Sequence[float]] | None, problem: Problem | None) -> Partition:
    if net.n_in not in (1, 2):
        raise InputError(
            f"path: the network has {net.n_in} inputs, so a plane must be chosen: creases map MODEL --through a.npy "
            "b.npy c.npy --out map.npz, then creases report map.npz"
        )
    limits = [(-HALF, HALF)] * net.n_in if problem is None else _data_box(problem.X)
    ends = check_box(limits if box is None else box, net.n_in)
    return line(net, ends[:, 0], ends[:, 1]) if net.n_in == 1 else plane(net, ends)


def _samples(data: Path, target: str | None, net: Network) -> Problem:
    """The table's rows, with their classes as the network numbers them."""
    problem = read_table(data, target)
    if problem.X.shape[1] != net.n_in:
        raise InputError(
            f"data: {data.name} has {problem.X.shape[1]} columns to predict from, the network takes {net.n_in} numbers"
        )
    return match_outputs(problem, net.n_out)


def _classes(net: Network, problem: Problem | None) -> tuple[str, ...] | None:
    """Names of the classes that the outputs decide between; None where they are values."""
    if problem is not None:
        return problem.classes
    return None if net.n_in == net.n_out == 1 else tuple(f"class {index}" for index in range(max(2, net.n_out)))


def _data_box(X: Floats) -> list[tuple[float, float]]:
    from creases.growth.experiment import data_box

    return data_box(X)


def _around(partition: Partition, problem: Problem | None) -> Any:
    """The box of inputs that units are judged over: that of the partition, of the data, or of what the slice holds."""
    if isinstance(partition, LinePartition):
        ends = np.stack([partition.a, partition.b])
    else:
        corners = np.stack(np.meshgrid(*partition.box), axis=-1).reshape(-1, 2)
        ends = partition.points(corners)
    if problem is not None and partition.net.n_in > 2:
        ends = np.concatenate([ends, problem.X])
    low, high = ends.min(axis=0), ends.max(axis=0)
    return np.stack([low, np.where(high > low, high, low + 1e-9 * (1 + np.abs(low)))], axis=1)


def _shown(problem: Problem | None) -> NDArray[np.int64]:
    """Samples that are drawn: all, or as many as sections look at."""
    if problem is None:
        return np.zeros(0, np.int64)
    rows = np.arange(len(problem.X))
    return rows if len(rows) <= ROWS else np.sort(np.random.default_rng(0).choice(rows, ROWS, replace=False))


def _problem_json(
    net: Network,
    name: str,
    problem: Problem | None,
    classes: tuple[str, ...] | None,
    shown: NDArray[np.int64],
) -> dict[str, Any]:
    X = np.zeros((0, net.n_in)) if problem is None else problem.X[shown]
    y = np.zeros(0) if problem is None else problem.y[shown]
    return {
        "name": name,
        "about": "" if problem is None else problem.description,
        "task": "regression" if classes is None else "classification",
        "features": list(problem.features if problem is not None else (f"x{i + 1}" for i in range(net.n_in))),
        "classes": None if classes is None else list(classes),
        "target": "" if problem is None else problem.target,
        "X": X,
        "y": y,
        "split": np.zeros(len(X), np.int64),
    }


def _again(command: Sequence[str]) -> list[Section]:
    return [{"title": "Make it again", "code": shlex.join(command)}] if command else []
