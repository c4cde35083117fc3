"""The networks of a comparison on one plane: a map of each, and where the first two decide differently."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from creases._files import open_npz
from creases._typing import Floats
from creases.compare.differences import PartitionDifference, difference_on_line, difference_on_plane
from creases.errors import FileError
from creases.growth.experiment import data_box
from creases.network import Network, read
from creases.regions import LinePartition, PlanePartition, line, plane
from creases.regions.geometry import slice_through
from creases.show.report._pictures import both
from creases.show.report._subject import ROWS, Section, parameters
from creases.show.report._words import counted, number, percent
from creases.show.viewer import line_frame, plane_frame

#: Networks that are mapped, units that each may have, and inputs of samples that are shown.
MOST, UNITS, COLUMNS = 8, 1000, 64

#: How far a plane goes beyond its three samples, as a share of their range along its first direction or second.
MARGIN = 0.4

#: Samples nearer to the line through two others than this share of the data's range are on it.
FLAT = 1e-6


@dataclass(frozen=True, eq=False)
class Planes:
    """What the viewer is given of a comparison."""

    names: list[str]  #: of the networks that are mapped
    frames: list[bytes]  #: one for each
    counts: list[int]  #: regions of each
    units: list[int]
    parameters: list[int]
    where: str  #: in words, shortly, where they are mapped
    problem: dict[str, Any]  #: as the viewer's run has it, but for its name
    difference: Section | None  #: where the first two decide differently


@dataclass(frozen=True, eq=False)
class _Place:
    """Where networks are mapped: a box of the plane ``x = origin + basis t``, or of the one input there is."""

    box: Floats
    origin: Floats | None
    basis: Floats | None
    where: str  #: in words
    short: str  #: in few


def mapped(folder: Path, told: dict[str, Any]) -> Planes | None:
    """The networks that a comparison keeps, on one plane; None where it keeps none, or only large ones."""
    files, kept = told.get("networks") or [], told.get("kept_samples")
    if not files or not kept:
        return None
    nets = [read(folder / name) for name in files[:MOST]]
    if any(net.n_units > UNITS for net in nets):
        return None
    try:
        with open_npz(folder / kept) as arrays:
            X = np.asarray(arrays["X"], np.float64)
            y = np.asarray(arrays["y"]) if "y" in arrays else None
    except (OSError, ValueError, KeyError) as error:
        raise FileError(f"folder: {folder / kept} cannot be read: {error}") from None
    X = X.reshape(len(X), -1)
    place = _place(nets[0], X, y, [row["sample"] for row in told.get("listed", [])])
    if place is None:
        return None
    partitions = [_partition(net, place) for net in nets]
    shown = X[: ROWS if y is not None and nets[0].n_in <= COLUMNS else 0]
    points = shown if nets[0].n_in > 2 and len(shown) else None
    frames = [_frame(partition, points, k) for k, partition in enumerate(partitions)]
    classes = max(2, nets[0].n_out)
    problem = {
        "task": "classification",
        "features": [f"x{i + 1}" for i in range(nets[0].n_in)],
        "classes": [f"class {index}" for index in range(classes)],
        "X": shown,
        "y": np.zeros(0) if y is None else y[: len(shown)],
        "split": np.zeros(len(shown), np.int64),
    }
    return Planes(
        names=told["names"][: len(nets)],
        frames=frames,
        counts=[partition.count for partition in partitions],
        units=[net.n_units for net in nets],
        parameters=[parameters(net) for net in nets],
        where=place.short,
        problem=problem,
        difference=_difference(nets[0], nets[1], place, told["names"]),
    )


def _place(net: Network, X: Floats, y: NDArray[Any] | None, listed: list[int]) -> _Place | None:
    """The inputs themselves where there are one or two, else the plane through three samples that tell most."""
    if not len(X):
        return None
    if net.n_in <= 2:
        where = "in the interval" if net.n_in == 1 else "in the box"
        return _Place(np.array(data_box(X)), None, None, where, where)
    rows = _three(X, [*_typical(X, y), *listed])
    if rows is None:
        return None
    origin, basis, t = slice_through(net, list(X[rows]))
    low, high = t.min(axis=0), t.max(axis=0)
    pad = MARGIN * (high - low).max()  # the same all around: three samples that are nearly on a line make no strip
    where = "on the plane through samples {}, {} and {}".format(*rows)
    return _Place(np.stack([low - pad, high + pad], axis=1), origin, basis, where, "on the plane")


def _typical(X: Floats, y: NDArray[Any] | None) -> list[int]:
    """Of the three largest classes the sample nearest to the class's mean; none without classes."""
    if y is None:
        return []
    kinds, counts = np.unique(y, return_counts=True)
    found = []
    for kind in kinds[np.argsort(-counts, kind="stable")[:3]]:
        own = np.flatnonzero(y == kind)
        found.append(int(own[np.linalg.norm(X[own] - X[own].mean(axis=0), axis=1).argmin()]))
    return found


def _three(X: Floats, wanted: list[int]) -> list[int] | None:
    """Three samples that are not on one line: those wanted as far as they are, then the farthest from the others."""
    size = float(np.ptp(X, axis=0).max())
    first = wanted[0] if wanted else 0
    rows, away = [first], X - X[first]
    while len(rows) < 3:
        distance = np.linalg.norm(away, axis=1)
        far = distance > FLAT * size
        if not far.any():
            return None
        new = next((row for row in wanted if far[row]), int(distance.argmax()))
        rows.append(new)
        along = away[new] / distance[new]
        away = away - (away @ along)[:, None] * along
    return rows


def _partition(net: Network, place: _Place) -> PlanePartition | LinePartition:
    if len(place.box) == 1:
        return line(net, place.box[:, 0], place.box[:, 1])
    return plane(net, place.box, place.origin, place.basis)


def _frame(partition: PlanePartition | LinePartition, points: Floats | None, k: int) -> bytes:
    about = {"moment": 0, "slice": k}
    if isinstance(partition, LinePartition):
        return line_frame(partition, about=about)
    return plane_frame(partition, points=points, about=about)


def _difference(a: Network, b: Network, place: _Place, names: list[str]) -> Section:
    """Where two networks decide differently, exactly."""
    if len(place.box) == 1:
        found = difference_on_line(a, b, place.box[:, 0], place.box[:, 1])
    else:
        found = difference_on_plane(a, b, place.box, place.origin, place.basis)
    section: Section = {"title": "Where they decide differently", "text": _told(found, names, place)}
    parts = found.parts()
    if parts:
        rows = [[f"{i} and {j}", counted(n, "part"), percent(size)] for i, j, n, size in _pairs(found)]
        columns = [f"{names[0]} and {names[1]} say", "in", "share of all"]
        section["table"] = {"columns": columns, "rows": rows}
    if isinstance(found.partition, PlanePartition):
        section["picture"] = both(lambda: _drawn(found, names))
    return section


def _told(found: PartitionDifference, names: list[str], place: _Place) -> str:
    worst = int(found.largest.argmax())
    if found.empty:
        return f"{names[0]} and {names[1]} are the same function {place.where}, up to rounding."
    text = f"{names[0]} and {names[1]} decide alike everywhere {place.where}."
    if found.differ.any():
        text = f"{names[0]} and {names[1]} decide differently on {percent(found.share)} of what is {place.where}."
    most = number(float(found.largest[worst]))
    return f"{text} Their outputs differ by {most} at most (output {worst}). Both are exact."


def _pairs(found: PartitionDifference) -> list[tuple[int, int, int, float]]:
    """For each pair of classes: a's, b's, the number of connected parts, their share of all; the largest first."""
    sizes: dict[tuple[int, int], list[float]] = {}
    for part in found.parts():
        sizes.setdefault(part.classes, []).append(part.size)
    whole = float(found.sizes.sum())
    rows = [(i, j, len(own), sum(own) / whole) for (i, j), own in sizes.items()]
    return sorted(rows, key=lambda row: -row[3])[:20]


def _drawn(found: PartitionDifference, names: list[str]) -> Figure:
    from creases.show import plot_disagreement
    from creases.show.figures import plane_height
    from creases.show.style import new_figure

    assert isinstance(found.partition, PlanePartition)
    figure, (ax,) = new_figure(4.6, plane_height(found.partition, 4.6) + 0.4)
    plot_disagreement(found, ax=ax, names=names[:2])
    return figure
