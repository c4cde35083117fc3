"""Slices of a growth run's inputs that its report shows: pairs of columns, planes through three samples."""

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
from creases.show.viewer._frames import line_frame, on_slice, plane_frame

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition


#: Columns whose pairs are shown unless others are asked for.
COLUMNS = 3

#: Samples that tell which columns matter.
LOOK = 500

#: The share of samples on each side that a slice through three of them need not reach, and how far it goes beyond.
LEFT_OUT, MARGIN = 0.02, 0.1


@dataclass(frozen=True, eq=False)
class Slice:
    """A box of the plane ``x = origin + basis t``, in the inputs' own units."""

    name: str
    origin: Floats  #: (d,)
    basis: Floats  #: (d, 2)
    box: Floats  #: (2, 2) bounds of t


def choose_slices(
    net: Network, data: TableSplit, columns: Sequence[str] = (), samples: Sequence[str] = ()
) -> list[Slice]:
    """The slices to show: those asked for (``"length,width"``; rows ``"3,17,40"``), else those that tell most.

    A problem of two inputs is one slice, one of one input none.
    """
    X = data.problem.X
    if X.shape[1] <= 2:
        asked = "--columns" if columns else "--through" if samples else ""
        if asked:
            raise InputError(
                f"{asked}: {data.problem.name} has {X.shape[1]} inputs, which are shown whole; leave it out"
            )
        return [Slice("", np.zeros(2), np.eye(2), np.array(data_box(X)))] if X.shape[1] == 2 else []
    if columns or samples:
        pairs = [_columns(text, data) for text in columns]
        return [
            *(of_columns(data, *pair) for pair in pairs),
            *(of_rows(net, data, _rows(text, data)) for text in samples),
        ]
    best = np.argsort(-relevance(net, data), kind="stable")[:COLUMNS]
    found = [of_columns(data, *sorted((i, j))) for i, j in combinations(best.tolist(), 2)]
    typical = typical_rows(net, data)
    with suppress(InputError):  # where the three lie on one line
        found += [of_rows(net, data, typical)] if len(typical) == 3 else []
    return found


def of_columns(data: TableSplit, i: int, j: int) -> Slice:
    """The plane along two columns, all others at their medians."""
    X, names = data.problem.X, data.problem.features
    origin, basis = np.median(X, axis=0), np.zeros((X.shape[1], 2))
    origin[[i, j]] = 0.0
    basis[i, 0] = basis[j, 1] = 1.0
    return Slice(f"{names[i]} × {names[j]}", origin, basis, np.array(data_box(X[:, [i, j]])))


def of_rows(net: Network, data: TableSplit, rows: Sequence[int]) -> Slice:
    """The plane through three samples, with them and most others in its box.

    t counts standard deviations, so that no column's units decide alone.
    """
    X, numbers, spread = data.problem.X, table_rows(data), data.scaling.spread
    _, basis, t = slice_through(net, list(data.scaling.inputs(X[list(rows)])))
    origin, directions = X[rows[0]], basis * spread[:, None]
    most = np.quantile(on_slice(X, origin, directions, spread)[0], [LEFT_OUT, 1 - LEFT_OUT], axis=0)
    there = np.concatenate([t, most])
    low, high = there.min(axis=0), there.max(axis=0)
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
    """The viewer's frame of a moment's network on its slice of this number, with these rows of the data (or all)."""
    from creases.regions import LinePartition

    about, X = {"moment": moment, "slice": number}, data.problem.X
    if isinstance(partition, LinePartition):
        return line_frame(partition, about=about)
    points = None if X.shape[1] <= 2 else X if rows is None else X[rows]
    spread = data.scaling.spread
    return plane_frame(partition, decides=data.outputs > 1, points=points, spread=spread, about=about)


def relevance(net: Network, data: TableSplit) -> Floats:
    """How much each column matters (d,): what its distance from its median contributes to what decides, in the mean.

    That is |slope times distance|, over training rows; for classes the slope of the largest output less the second's.
    """
    rows = data.train[:: max(1, len(data.train) // LOOK)]
    X = data.problem.X[rows]
    J = np.concatenate([part.J for part in net.jacobians(X)])  # (n, m, d)
    if data.problem.classes is not None and J.shape[1] > 1:
        first = np.argsort(-np.asarray(net(X)), axis=1)[:, :2]
        each = np.arange(len(X))
        J = (J[each, first[:, 0]] - J[each, first[:, 1]])[:, None]
    away = X - np.median(data.problem.X, axis=0)
    return np.asarray(np.abs(J * away[:, None]).mean(axis=(0, 1)))


def typical_rows(net: Network, data: TableSplit) -> list[int]:
    """Three rows: the most typical of three classes (of two: with the hardest); by value: low, middle, high."""
    from creases.show.report._hardest import losses

    problem, rows = data.problem, data.train
    if problem.classes is None:
        order = rows[np.argsort(problem.y[rows], kind="stable")]
        return [int(order[round(share * (len(order) - 1))]) for share in (0.1, 0.5, 0.9)]
    scaled, y = data.scaling.inputs(problem.X), problem.y
    counts = np.bincount(y[rows])
    found = []
    for one in np.argsort(-counts, kind="stable")[:3]:
        own = rows[y[rows] == one]
        if len(own):
            away = np.linalg.norm(scaled[own] - scaled[own].mean(axis=0), axis=1)
            found.append(int(own[away.argmin()]))
    hardest = rows[np.argsort(-losses(net, data)[rows], kind="stable")]
    return [*found, *(int(row) for row in hardest if row not in found)][:3]


def table_rows(data: TableSplit) -> NDArray[np.int64]:
    """The number of each sample in its table."""
    return np.arange(len(data.problem.X)) if data.problem.rows is None else data.problem.rows


def _columns(text: str, data: TableSplit) -> tuple[int, int]:
    names = list(data.problem.features)
    numbers = {str(index): index for index in range(len(names))} | {name: index for index, name in enumerate(names)}
    words = text.split(",")
    pairs = [(",".join(words[:k]).strip(), ",".join(words[k:]).strip()) for k in range(1, len(words))]
    for first, second in pairs:  # a name may have commas of its own
        i, j = numbers.get(first), numbers.get(second)
        if i is not None and j is not None and i != j:
            return i, j
    unknown = [word for word in map(str.strip, words) if word not in numbers]
    if unknown and len(pairs) == 1:
        raise InputError(
            f"--columns: there is no column {unknown[0]!r}; give two of {', '.join(names)}, or their numbers"
        )
    raise InputError(f"--columns: expected two different columns such as {names[0]},{names[1]}, got {text!r}")


def _rows(text: str, data: TableSplit) -> list[int]:
    numbers = table_rows(data).tolist()
    try:
        wanted = [int(word) for word in text.split(",")]
    except ValueError:
        wanted = []
    if len(set(wanted)) != 3 or len(wanted) != 3:
        raise InputError(f"--through: expected the numbers of three rows such as 0,1,2, got {text!r}")
    places = {number: place for place, number in enumerate(numbers)}
    for number in wanted:
        if number not in places:
            raise InputError(f"--through: there is no row {number}; rows are from {numbers[0]} to {numbers[-1]}")
    return [places[number] for number in wanted]
