"""Slices of the input space of a growth run: along two columns, of most variation, or through three samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._text import format_number
from creases._typing import Floats
from creases.errors import InputError
from creases.problems import Problem
from creases.show._viewer._frames import partition_frame, project_on_slice
from creases.tables import TableSplit, data_box

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition


# The columns of a table behind the inputs of its network: numbers, and categories of several 0-1 inputs.


@dataclass(frozen=True, eq=False)
class Category:
    """A column of categories: some inputs of 0 and 1, or one input with two values."""

    name: str
    inputs: tuple[int, ...]  #: positions of its k inputs
    levels: tuple[str, ...]  #: its L categories
    codes: Floats  #: (L, k) values of the inputs in each category
    counts: tuple[int, ...]  #: rows in each category

    @property
    def most_frequent(self) -> int:
        """Number of the most frequent category."""
        return int(np.argmax(self.counts))

    def level_of(self, x: Floats) -> str:
        """Return the category of an input (d,)."""
        return self.levels[int(np.abs(self.codes - x[list(self.inputs)]).sum(axis=1).argmin())]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table: positions of numeric inputs, and categories."""

    numeric: tuple[int, ...]
    categories: tuple[Category, ...]


def find_columns(problem: Problem) -> Columns:
    r"""Return the numeric and the categorical columns of a problem.

    Inputs that are the values of a category are one column; another input with at most two different values is a
    column of two categories.

    Examples
    --------
    >>> from creases.tables import parse_table
    >>> table = "size,color,kind\n1,red,a\n2,blue,b\n3,red,a\n4,red,b\n"
    >>> found = find_columns(parse_table(table))
    >>> found.numeric, [(column.name, column.levels, column.counts) for column in found.categories]
    ((0,), [('color', ('blue', 'red'), (1, 3))])
    """
    groups: dict[str | int, list[int]] = defaultdict(list)
    names, numeric, categories = names_of(problem)["names"], list[int](), list[Category]()
    for position, name in enumerate(names):
        groups[position if isinstance(name, str) else name[0]].append(position)
    for key, inputs in sorted(groups.items(), key=lambda item: item[1]):
        values, counts = np.unique(problem.X[:, inputs], axis=0, return_counts=True)
        if isinstance(key, str):  # inputs of 0 and 1 for its levels, in their order; rows of none of them last
            parts = [names[position][1] for position in inputs]
            values, counts, rest = values[::-1], counts[::-1], f"not {parts[0]}" if len(parts) == 1 else "other"
            levels = [parts[int(code.argmax())] if code.any() else rest for code in values]
        elif len(values) <= 2:
            words = _words_of(problem, key)
            levels = [words.get(value, f"{value:g}") for value in values[:, 0].tolist()]
        else:
            numeric.append(key)
            continue
        name = key if isinstance(key, str) else names[key]
        categories.append(Category(name, tuple(inputs), tuple(levels), values, tuple(counts.tolist())))
    return Columns(tuple(numeric), tuple(categories))


def _words_of(problem: Problem, position: int) -> dict[float, str]:
    """Return the words of a column of yes and no for 0 and 1; none for other inputs."""
    if problem.encoding is None:
        return {}
    feature = problem.encoding.features[position]
    column = next(column for column in problem.encoding.inputs if column.name == feature.column)
    values = [] if feature.is_level or feature.is_gap else column.kind.codec.levels(column, [feature.name])
    return {float(inputs[0]): text for text, inputs in values}


def column_weights(net: Network, data: TableSplit) -> dict[str, float]:
    """Return the importance of each column at the training rows, largest first: see :func:`creases.tables.importance`.

    That is the mean size of the coefficient times the standard deviation of the column.
    """
    from creases.tables import importance  # imports torch

    problem = data.problem
    weights: dict[str, float] = importance(net, problem.X[data.train], **names_of(problem))["importance"].to_dict()
    return weights


def names_of(problem: Problem) -> dict[str, Any]:
    """Return the names of inputs, classes and target, as the functions of :mod:`creases.tables` take them."""
    names = problem.features if problem.encoding is None else problem.encoding.input_names
    return {"names": names, "classes": problem.classes, "target": problem.target or None}


#: Number of columns whose pairs are shown by default.
COLUMNS = 3

#: Number of samples that directions are chosen with.
RANKING_ROWS = 500

#: Largest number of small multiples: categories of a column.
LEVELS = 6

#: Largest number of fixed columns that are listed.
LISTED = 6

#: Share of samples on each side that may be outside a slice through three of them, and the margin of its box.
OUTSIDE, MARGIN = 0.02, 0.1


@dataclass(frozen=True, eq=False)
class Slice:
    """A box of the plane ``x = origin + basis t``, in the original units."""

    name: str
    origin: Floats  #: (d,)
    basis: Floats  #: (d, 2)
    box: Floats  #: (2, 2) bounds of t
    axes: tuple[str, str] = ("", "")  #: names of the two coordinates
    fixed: str = ""  #: what the other columns are, in words
    fills: bool = False  #: whether the two axes have unlike units, so that a picture need not keep their proportions
    level: str = ""  #: of small multiples: the category


def choose_slices(
    net: Network, data: TableSplit, columns: Sequence[str] = (), samples: Sequence[str] = ()
) -> list[Slice]:
    """Return the slices to show: given ones (``"length,width"``; rows ``"3,17,40"``), or the most informative.

    A problem of two inputs is a single slice, a problem of one input has none.
    """
    X, problem = data.problem.X, data.problem
    if X.shape[1] <= 2:
        param = "columns" if columns else "through" if samples else ""
        if param:
            raise InputError(param, "be omitted for one or two inputs, which need no slice", f"{X.shape[1]} inputs")
        if X.shape[1] == 1:
            return []
        first, second = problem.features
        box, is_table = np.array(data_box(X)), bool(problem.target)
        return [Slice("", np.zeros(2), np.eye(2), box, (first, second), fills=is_table)]
    if columns or samples:
        pairs = [_parse_columns(text, data) for text in columns]
        return [
            *(slice_along_columns(data, *pair) for pair in pairs),
            *(slice_through_rows(net, data, _parse_rows(text, data)) for text in samples),
        ]
    weights, numeric = column_weights(net, data), find_columns(problem).numeric
    best = sorted(numeric, key=lambda i: -weights.get(problem.features[i], 0.0))[:COLUMNS]
    return [
        *(slice_along_columns(data, *sorted(pair)) for pair in combinations(best, 2)),
        slice_of_variation(net, data),
    ]


def multiply_slices(net: Network, data: TableSplit, first: Slice) -> tuple[str, list[Slice]]:
    """Return the most important column of categories, and a slice like the first for each of its categories.

    Without such a column the name is "", and there are none. Of many categories the most frequent are shown.
    """
    problem, columns = data.problem, find_columns(data.problem).categories
    columns = tuple(
        column for column in columns if len(column.levels) > 1 and not first.basis[list(column.inputs)].any()
    )
    if problem.X.shape[1] <= 2 or not columns:
        return "", []
    weights = column_weights(net, data)
    column = max(columns, key=lambda column: weights.get(column.name, 0.0))
    slices, before = [], f"{column.name} = {column.levels[column.most_frequent]}"
    for level in np.sort(np.argsort(-np.array(column.counts), kind="stable")[:LEVELS]).tolist():
        origin, now = first.origin.copy(), f"{column.name} = {column.levels[level]}"
        origin[list(column.inputs)] = column.codes[level]
        name, fixed = f"{first.name}, {now}", first.fixed.replace(before, now)
        slices.append(replace(first, name=name, origin=origin, fixed=fixed, level=column.levels[level]))
    return column.name, slices


def slice_along_columns(data: TableSplit, i: int, j: int) -> Slice:
    """Return the plane along two columns; the others are at their medians, or most frequent categories."""
    origin, fixed = _typical_input(data, (i, j))
    return axis_slice(data.problem.features, i, j, origin, data_box(data.problem.X[:, [i, j]]), fixed, fills=True)


def axis_slice(
    names: Sequence[str], i: int, j: int, origin: Floats, box: Any, fixed: str, *, fills: bool = False
) -> Slice:
    """Return the plane along two inputs through a point (d,)."""
    basis = np.zeros((len(origin), 2))
    basis[i, 0] = basis[j, 1] = 1.0
    start = np.where(basis.any(axis=1), 0.0, origin)
    return Slice(f"{names[i]} × {names[j]}", start, basis, np.array(box), (names[i], names[j]), fixed, fills=fills)


def slice_of_variation(net: Network, data: TableSplit) -> Slice:
    """Return the plane through the typical input along which the network varies most.

    Its two directions are the first of the active subspace: the eigenvectors of the mean of g gᵀ over training rows,
    g the coefficients in standard deviations of the inputs.

    References
    ----------
    .. [1] Paul Constantine, "Active Subspaces", SIAM, 2015.
    """
    X, spread = data.problem.X, data.scaling.spread
    rows = data.train[:: max(1, len(data.train) // RANKING_ROWS)]
    J = np.concatenate([part.J for part in net.jacobians(X[rows])])  # (n, m, d)
    if J.shape[1] > 1:
        J = J - J.mean(axis=1, keepdims=True)
    slopes = (J * spread).reshape(-1, X.shape[1])
    variation, scaled = slopes.T @ slopes, data.scaling.inputs(X[rows])
    size = float(np.trace(variation)) or 1.0
    variation = variation / size + 1e-9 * np.atleast_2d(np.cov(scaled.T))  # of a linear model: along the data
    directions = np.linalg.eigh(variation)[1][:, :-3:-1]
    directions = directions * np.sign(directions[np.abs(directions).argmax(axis=0), [0, 1]])
    origin, fixed = _typical_input(data, ())
    basis = directions * spread[:, None]
    low, high = _bulk(X, origin, basis, spread)
    names, features = [], data.problem.features
    for direction in directions.T:  # in words: its two largest components
        largest = np.argsort(-np.abs(direction), kind="stable")[:2]
        words = " ".join(f"{direction[k]:+.2g} {features[k]}" for k in largest).removeprefix("+")
        names.append(f"{words}{' …' if len(features) > 2 else ''} (std)".replace("-", "−"))
    box = np.stack([low, high], axis=1)
    return Slice("directions of largest variation", origin, basis, box, (names[0], names[1]), f"through {fixed}")


def _typical_input(data: TableSplit, free: tuple[int, ...]) -> tuple[Floats, str]:
    """Return an input (d,) of medians and most frequent categories, and the columns in words, without some."""
    problem, columns = data.problem, find_columns(data.problem)
    origin = np.median(problem.X, axis=0)
    words = {i: f"{problem.features[i]} = {format_number(float(origin[i]))}" for i in columns.numeric}
    for column in columns.categories:
        level = column.most_frequent
        origin[list(column.inputs)] = column.codes[level]
        words[column.inputs[0]] = f"{column.name} = {column.levels[level]}"
    by_kind = sorted(words.items(), key=lambda item: (item[0] in columns.numeric, item[0]))
    listed = [word for i, word in by_kind if i not in free]
    more = f" and {len(listed) - LISTED} more at their medians" if len(listed) > LISTED else ""
    return origin, ", ".join(listed[:LISTED]) + more


def _bulk(X: Floats, origin: Floats, basis: Floats, spread: Floats, corners: Floats | None = None) -> Floats:
    """Return the lower and upper bounds (2, 2) of most rows on a slice and of some corners (k, 2), with a margin."""
    bounds = np.quantile(project_on_slice(X, origin, basis, spread)[0], [OUTSIDE, 1 - OUTSIDE], axis=0)
    extent = bounds if corners is None else np.concatenate([corners, bounds])
    low, high = extent.min(axis=0), extent.max(axis=0)
    pad = np.where(high > low, MARGIN * (high - low), 1.0)
    return np.stack([low - pad, high + pad])


def slice_through_rows(net: Network, data: TableSplit, rows: Sequence[int]) -> Slice:
    """Return the plane through three samples, with a box that contains them and most others.

    Coordinates are in standard deviations, so that no column dominates by its unit.
    """
    from creases.regions.geometry import slice_through  # imports torch

    X, numbers, spread = data.problem.X, table_rows(data), data.scaling.spread
    _, basis, t = slice_through(net, list(data.scaling.inputs(X[list(rows)])))
    origin, directions = X[rows[0]], basis * spread[:, None]
    low, high = _bulk(X, origin, directions, spread, t)
    name = "through {} {}, {} and {}".format(f"{data.names['instance']}s", *(int(numbers[row]) for row in rows))
    axes = ("first direction (std)", "second direction (std)")
    return Slice(name, origin, directions, np.stack([low, high], axis=1), axes)


def slice_frame(
    partition: LinePartition | PlanePartition,
    data: TableSplit,
    cut: Slice | None,
    *,
    moment: int,
    number: int,
    rows: NDArray[np.int64] | None = None,
) -> bytes:
    """Encode the partition of a moment on a slice as a frame, with some rows of the data (or all)."""
    X, about = data.problem.X, dict[str, Any](moment=moment, slice=number)
    if cut is not None:
        about |= {"axes": list(cut.axes), "fills": cut.fills}
    points = None if X.shape[1] <= 2 else X if rows is None else X[rows]
    look: dict[str, Any] = {"decides": data.n_outputs > 1, "points": points, "spread": data.scaling.spread}
    return partition_frame(partition, about=about, **look)


def slices_json(slices: Sequence[Slice], column: str = "") -> dict[str, Any]:
    """Return the slices of a run for the viewer: names, fixed columns, and small multiples by category."""
    levels = [k for k, cut in enumerate(slices) if cut.level]
    multiples = {"column": column, "slices": levels, "levels": [slices[k].level for k in levels]}
    return {
        **({"slices": [cut.name for cut in slices]} if slices and slices[0].name else {}),
        "fixed": [cut.fixed for cut in slices],
        **({"multiples": multiples} if levels else {}),
    }


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
