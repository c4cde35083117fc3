"""Slices of the input space of a growth run: along two columns, or through three samples."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.errors import InputError
from creases.growth.experiment import TableSplit, data_box
from creases.regions.geometry import slice_through
from creases.show.viewer._frames import line_frame, plane_frame, project_on_slice

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition


#: Number of columns whose pairs are shown by default.
COLUMNS = 3

#: Number of samples to rank the columns with.
RANKING_ROWS = 500

#: Share of samples on each side that may be outside a slice through three of them, and the margin of its box.
OUTSIDE, MARGIN = 0.02, 0.1


@dataclass(frozen=True, eq=False)
class Slice:
    """A box of the plane ``x = origin + basis t``, in the original units."""

    name: str
    origin: Floats  #: (d,)
    basis: Floats  #: (d, 2)
    box: Floats  #: (2, 2) bounds of t


def choose_slices(
    net: Network, data: TableSplit, columns: Sequence[str] = (), samples: Sequence[str] = ()
) -> list[Slice]:
    """Return the slices to show: given ones (``"length,width"``; rows ``"3,17,40"``), or the most informative.

    A problem of two inputs is a single slice, a problem of one input has none.
    """
    X = data.problem.X
    if X.shape[1] <= 2:
        param = "columns" if columns else "through" if samples else ""
        if param:
            raise InputError(param, "be empty for one or two inputs, which need no slice", f"{X.shape[1]} inputs")
        return [Slice("", np.zeros(2), np.eye(2), np.array(data_box(X)))] if X.shape[1] == 2 else []
    if columns or samples:
        pairs = [_parse_columns(text, data) for text in columns]
        return [
            *(slice_along_columns(data, *pair) for pair in pairs),
            *(slice_through_rows(net, data, _parse_rows(text, data)) for text in samples),
        ]
    best = np.argsort(-relevance(net, data), kind="stable")[:COLUMNS]
    slices = [slice_along_columns(data, *sorted((i, j))) for i, j in combinations(best.tolist(), 2)]
    typical = typical_rows(net, data)
    with suppress(InputError):  # if the three are collinear
        slices += [slice_through_rows(net, data, typical)] if len(typical) == 3 else []
    return slices


def slice_along_columns(data: TableSplit, i: int, j: int) -> Slice:
    """Return the plane along two columns, with all others at their medians."""
    X, names = data.problem.X, data.problem.features
    origin, basis = np.median(X, axis=0), np.zeros((X.shape[1], 2))
    origin[[i, j]] = 0.0
    basis[i, 0] = basis[j, 1] = 1.0
    return Slice(f"{names[i]} × {names[j]}", origin, basis, np.array(data_box(X[:, [i, j]])))


def slice_through_rows(net: Network, data: TableSplit, rows: Sequence[int]) -> Slice:
    """Return the plane through three samples, with a box that contains them and most others.

    Coordinates are in standard deviations, so that no column dominates by its unit.
    """
    X, numbers, spread = data.problem.X, table_rows(data), data.scaling.spread
    _, basis, t = slice_through(net, list(data.scaling.inputs(X[list(rows)])))
    origin, directions = X[rows[0]], basis * spread[:, None]
    bulk = np.quantile(project_on_slice(X, origin, directions, spread)[0], [OUTSIDE, 1 - OUTSIDE], axis=0)
    extent = np.concatenate([t, bulk])
    low, high = extent.min(axis=0), extent.max(axis=0)
    pad = MARGIN * (high - low)
    name = "through {} {}, {} and {}".format(f"{data.names['instance']}s", *(int(numbers[row]) for row in rows))
    return Slice(name, origin, directions, np.stack([low - pad, high + pad], axis=1))


def slice_frame(
    partition: LinePartition | PlanePartition,
    data: TableSplit,
    *,
    moment: int,
    number: int,
    rows: NDArray[np.int64] | None = None,
) -> bytes:
    """Encode the partition of a moment on a slice as a frame, with some rows of the data (or all)."""
    from creases.regions import LinePartition

    about, X = {"moment": moment, "slice": number}, data.problem.X
    if isinstance(partition, LinePartition):
        return line_frame(partition, about=about)
    points = None if X.shape[1] <= 2 else X if rows is None else X[rows]
    spread = data.scaling.spread
    return plane_frame(partition, decides=data.n_outputs > 1, points=points, spread=spread, about=about)


def relevance(net: Network, data: TableSplit) -> Floats:
    """Return the relevance (d,) of each column: its mean effect on the prediction, by slopes.

    That is the mean of |slope times distance from the median| over training rows; for classes the slope of the margin.
    """
    rows = data.train[:: max(1, len(data.train) // RANKING_ROWS)]
    X = data.problem.X[rows]
    J = np.concatenate([part.J for part in net.jacobians(X)])  # (n, m, d)
    if data.problem.classes is not None and J.shape[1] > 1:
        first = np.argsort(-np.asarray(net(X)), axis=1)[:, :2]
        each = np.arange(len(X))
        J = (J[each, first[:, 0]] - J[each, first[:, 1]])[:, None]
    away = X - np.median(data.problem.X, axis=0)
    return np.asarray(np.abs(J * away[:, None]).mean(axis=(0, 1)))


def typical_rows(net: Network, data: TableSplit) -> list[int]:
    """Return three rows: typical samples of three classes (of two, with the hardest), or by low to high targets."""
    from creases.show.report._hardest_samples import losses

    problem, rows = data.problem, data.train
    if problem.classes is None:
        order = rows[np.argsort(problem.y[rows], kind="stable")]
        return [int(order[round(share * (len(order) - 1))]) for share in (0.1, 0.5, 0.9)]
    scaled, y = data.scaling.inputs(problem.X), problem.y
    counts = np.bincount(y[rows])
    typical = []
    for kind in np.argsort(-counts, kind="stable")[:3]:
        of_class = rows[y[rows] == kind]
        if len(of_class):
            away = np.linalg.norm(scaled[of_class] - scaled[of_class].mean(axis=0), axis=1)
            typical.append(int(of_class[away.argmin()]))
    hardest = rows[np.argsort(-losses(net, data)[rows], kind="stable")]
    return [*typical, *(int(row) for row in hardest if row not in typical)][:3]


def table_rows(data: TableSplit) -> NDArray[np.int64]:
    """Return the row number of each sample in its table."""
    return np.arange(len(data.problem.X)) if data.problem.rows is None else data.problem.rows


def _parse_columns(text: str, data: TableSplit) -> tuple[int, int]:
    names = list(data.problem.features)
    numbers = {str(index): index for index in range(len(names))} | {name: index for index, name in enumerate(names)}
    words = text.split(",")
    pairs = [(",".join(words[:k]).strip(), ",".join(words[k:]).strip()) for k in range(1, len(words))]
    for first, second in pairs:  # a name may contain commas
        i, j = numbers.get(first), numbers.get(second)
        if i is not None and j is not None and i != j:
            return i, j
    unknown = [word for word in map(str.strip, words) if word not in numbers]
    if unknown and len(pairs) == 1:
        raise InputError("columns", f"be two of {', '.join(names)}, or their numbers", repr(unknown[0]))
    raise InputError("columns", f"be two different columns such as {names[0]},{names[1]}", repr(text))


def _parse_rows(text: str, data: TableSplit) -> list[int]:
    numbers = table_rows(data).tolist()
    try:
        selected = [int(word) for word in text.split(",")]
    except ValueError:
        selected = []
    if len(set(selected)) != 3 or len(selected) != 3:
        raise InputError("through", "be the numbers of three rows such as 0,1,2", repr(text))
    places = {number: place for place, number in enumerate(numbers)}
    for number in selected:
        if number not in places:
            raise InputError("through", f"be rows from {numbers[0]} to {numbers[-1]}", f"row {number}")
    return [places[number] for number in selected]
