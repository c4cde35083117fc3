"""Pairs of columns that act together, and hinges of both that can show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from creases._schema import expect
from creases._typing import Bools, Floats, Ints
from creases.tables._stages.basis import Circle, CurveBasis, PiecewiseLinear, check_knots, spread_changes, spread_evenly
from creases.tables._stages.knots import spread_knots

if TYPE_CHECKING:
    from creases.tables._stages.rows import Rows

#: Cells a side of the table of residuals that a pair of columns is ranked by.
BINS = 8

#: Rows that a cell's mean is shrunk by, as if so many with residual 0 were in it.
PRIOR_ROWS = 5.0

#: Rows with a level that its own curve needs, that a bend of it needs, and that two levels need together.
CURVE_ROWS, BEND_ROWS, CELL_ROWS = 8, 40, 5

#: Bends of a plane in each of two diagonal directions, at least and of a large table; of a finer one in each of six.
BENDS, MORE_BENDS = 5, 12

#: Rows for each bend of a plane that is not a finer one.
ROWS_PER_BEND = 400
DIAGONALS = ((1.0, 1.0), (1.0, -1.0))
MORE_DIAGONALS = (*DIAGONALS, (1.0, 2.0), (1.0, -2.0), (2.0, 1.0), (2.0, -1.0))

#: Rows for each hinge of a finer plane.
ROWS_PER_HINGE = 20

#: Bends of a level's own curve at least and at most.
LEVEL_BENDS = (3, 20)

#: Hats of a level's own curve of a circle at most: months, weekdays, every second hour.
MOST_HATS = 12


@dataclass(frozen=True, eq=False)
class Variable:
    """A column of the table as planes take it."""

    kind: Literal["number", "yes/no", "category"]
    column: int  #: the column of the table; of its inputs only circles have planes with each other
    features: Annotated[Ints, "f"]  #: what encodes it
    circle: Circle = None  #: where a month, weekday or hour begins and ends


def group_features(
    is_numeric: Sequence[bool], columns: Ints, groups: Ints, circles: Sequence[Circle]
) -> list[Variable]:
    """Return the variables of encoded features: levels of a category are one."""
    variables = []
    for j, numeric in enumerate(is_numeric):
        if groups[j] < 0:
            kind: Literal["number", "yes/no"] = "number" if numeric else "yes/no"
            variables.append(Variable(kind, int(columns[j]), np.array([j]), circles[j]))
        elif j == np.flatnonzero(groups == groups[j])[0]:
            variables.append(Variable("category", int(columns[j]), np.flatnonzero(groups == groups[j])))
    return variables


def rank_pairs(
    X: Floats, residuals: Floats, weight: Floats, variables: Sequence[Variable]
) -> list[tuple[float, Variable, Variable]]:
    """Return pairs of variables by what a table of the residuals (n, m) explains beyond its margins, largest first.

    This is FAST (Lou, Caruana, Gehrke, Hooker 2013), divided by the square root of the table's degrees of freedom.
    """
    cells = [_cells(X, variable) for variable in variables]
    sizes = [int(cell.max()) + 1 for cell in cells]
    weighted = [weight * residual for residual in residuals.T]
    ranked = []
    for a, first in enumerate(variables):
        for b, second in enumerate(variables[:a]):
            are_circles = first.circle is not None and second.circle is not None  # as parts of a date are, but days
            if (first.column == second.column and not are_circles) or min(sizes[a], sizes[b]) < 2:
                continue
            cell = cells[a] * sizes[b] + cells[b]
            shape, n = (sizes[a], sizes[b]), sizes[a] * sizes[b]
            rows = np.bincount(cell, weight, n).reshape(shape) + 1e-9
            gain = 0.0
            for each in weighted:
                table = np.bincount(cell, each, n).reshape(shape) / (rows + PRIOR_ROWS)
                table -= (table * rows).sum(1, keepdims=True) / rows.sum(1, keepdims=True)
                table -= (table * rows).sum(0, keepdims=True) / rows.sum(0, keepdims=True)
                gain += float((rows * table**2).sum())
            ranked.append((gain / ((shape[0] - 1) * (shape[1] - 1)) ** 0.5, first, second))
    return sorted(ranked, key=lambda each: -each[0])


def _cells(X: Floats, variable: Variable) -> Ints:
    if variable.kind == "category":
        levels = X[:, variable.features]
        return np.where(levels.any(axis=1), levels.argmax(axis=1) + 1, 0)
    x = X[:, variable.features[0]]
    if variable.kind == "yes/no":
        return (x > 0.5).astype(np.int64)
    return np.searchsorted(np.unique(np.quantile(x, np.linspace(0, 1, BINS + 1)[1:-1])), x)


@dataclass(frozen=True, eq=False)
class PairHinges:
    """Hinges ``relu(a u + b v + c)`` of two variables, their features spread evenly over [0, 1] by a few pieces.

    Two numbers have hinges along both diagonals, whose sums approximate products; a number and a category have a curve
    for each level, which is 0 for the others; two categories have one hinge for two levels together. A circle is read
    by its folds, which rise from 0 to 1 over half of it and fall over the other half: no hinge tears it open.
    """

    variables: tuple[Variable, Variable]
    knots: dict[int, Annotated[Floats, "k"]]  #: of each feature's transform, or of a fold: rising
    first: Annotated[Ints, "h"]  #: the first feature, or fold, of each hinge
    second: Annotated[Ints, "h"]
    weights: Annotated[Floats, "h", 3]  #: a, b, c
    folds: dict[int, tuple[int, float]] = field(default_factory=dict)  #: by a negative number: feature, and its place 1

    def check(self) -> None:
        """Raise ValueError where hinges read what the two variables do not have: they may be of a damaged file."""
        for knots in self.knots.values():
            check_knots(knots, 1)
        round_ = {j for each in self.variables if each.circle is not None for j in each.features.tolist()}
        keys = {*self.first.tolist(), *self.second.tolist()}
        is_known = keys <= {*self.knots, *self.folds} and set(self.knots) == set(self.features.tolist()) - round_
        expect(is_known, "a plane reads other inputs")
        is_round = all(key < 0 and j in round_ for key, (j, _) in self.folds.items())
        is_round &= all(each.circle is None or each.circle[0] < each.circle[1] for each in self.variables)
        expect(is_round, "a plane folds an input that is no circle")

    @classmethod
    def from_rows(
        cls, rows: Rows, curves: CurveBasis, first: Variable, second: Variable, *, is_fine: bool = False
    ) -> PairHinges:
        """Return the hinges of two variables on rows; two numbers may have finer ones."""
        X, copies = rows.X, rows.copies
        if second.kind == "number" and first.kind != "number":
            first, second = second, first
        knots: dict[int, Floats] = {}
        folds: dict[int, tuple[int, float]] = {}
        for variable in (first, second):
            for j in variable.features.tolist():
                if variable.circle is None:
                    is_number = variable.kind == "number"
                    knots[j] = spread_knots(X[:, j], copies, curves.knots[j]) if is_number else np.zeros(1)
        raw = cls((first, second), knots, np.zeros(0, int), np.zeros(0, int), np.zeros((0, 3)), folds)
        if second.kind == "number":
            keys = [_fold_circle(raw, each, (0.0, 0.25)) or each.features.tolist() for each in (first, second)]
            U = raw.spread(X)
            hinges = [hinge for i in keys[0] for j in keys[1] for hinge in _diagonals(U, i, j, is_fine)]
        elif first.kind == "number" and first.circle is not None:
            hinges = _level_circles(X, copies, raw, first, second.features.tolist())
        elif first.kind == "number":
            hinges = _level_curves(X, copies, raw.spread(X), int(first.features[0]), second.features.tolist())
        else:
            hinges = [
                (i, j, 1.0, 1.0, -1.0)
                for i in first.features.tolist()
                for j in second.features.tolist()
                if min(X[:, i] * X[:, j] @ copies, (1 - X[:, i]) * X[:, j] @ copies) >= CELL_ROWS
            ]
        table = np.array(hinges).reshape(-1, 5)
        return replace(raw, first=table[:, 0].astype(int), second=table[:, 1].astype(int), weights=table[:, 2:])

    @property
    def features(self) -> Ints:
        """The features of both variables."""
        return np.concatenate([each.features for each in self.variables])

    def feature_of(self, key: int) -> int:
        """Return the feature that hinges read by a number of ``first`` and ``second``: itself, or that of a fold."""
        return self.folds[key][0] if key < 0 else key

    def spread(self, X: Floats) -> dict[int, Floats]:
        """Return the transformed features and folds, each (n,)."""
        whole = {j: spread_evenly(X[:, j], knots) for j, knots in self.knots.items()}
        return whole | {key: self.fold(key)(X[:, j])[:, 0] for key, (j, _) in self.folds.items()}

    def fold(self, key: int) -> PiecewiseLinear:
        """Return a fold of a circle: 1 at its place, falling on both sides to 0 half the circle away."""
        j, place = self.folds[key]
        low, high = next(each.circle for each in self.variables if j in each.features and each.circle is not None)
        half = (high - low) / 2
        far = place + half if place < low + half else place - half
        knots = np.unique([low, place, far, high])
        distance = np.abs(knots - place)
        return PiecewiseLinear(knots, 1 - np.minimum(distance, 2 * half - distance)[:, None] / half)

    def branches(self, key: int) -> list[tuple[Floats, Floats]]:
        """Return the monotone parts of a transform or fold: knots (k,), in either order, and values (k,) that rise."""
        if key >= 0:
            return [(self.knots[key], np.linspace(0, 1, len(self.knots[key])))]
        fold = self.fold(key)
        pieces = [(fold.knots[k : k + 2], fold.values[k : k + 2, 0]) for k in range(len(fold.knots) - 1)]
        return [(knots, values) if values[0] < values[1] else (knots[::-1], values[::-1]) for knots, values in pieces]

    def changes(self, key: int) -> tuple[Floats, Floats]:
        """Return knots (k,) and changes of slope (k,) of a transform or fold; a sum of them, from 0, is its values."""
        if key < 0:
            fold = self.fold(key)
            return fold.knots, fold.changes[:, 0]
        return self.knots[key], spread_changes(self.knots[key])

    def __call__(self, X: Floats) -> Floats:
        """Return the hinges (n, h) at rows X (n, d)."""
        U = self.spread(X)
        rows = zip(self.first.tolist(), self.second.tolist(), self.weights.tolist(), strict=True)
        columns = [np.maximum(a * U[i] + b * U[j] + c, 0.0) for i, j, (a, b, c) in rows]
        return np.stack(columns).T if columns else np.zeros((len(X), 0))

    def slope_patterns(self, j: int, knots: Floats) -> list[tuple[Bools, list[Floats]]]:
        """Return the slopes of the hinges along feature j, a number, however the other variable is.

        Hinges in one direction, or those of all levels, are a family: which of its members (h,) rise together depends
        on the other variable only. For each family its members, and by piece between knots, among which those of the
        feature's transform are, the slopes (patterns, h) that can occur. A row has one pattern of each family.
        """
        is_first = j == int(self.variables[0].features[0])
        ends = spread_evenly(knots, self.knots[j])
        slopes = np.diff(ends) / np.diff(knots)
        if self.variables[1].kind == "number":
            kinds = np.column_stack([self.weights[:, :2], self.second if is_first else self.first])
            families = []
            for a, b, key in np.unique(kinds, axis=0).tolist():  # folds of a circle are at different places
                own, other = (a, b) if is_first else (b, a)
                is_member = (kinds == (a, b, key)).all(axis=1)
                reach = np.sort([0.0, other])
                spans = np.sort(own * np.stack([ends[:-1], ends[1:]], axis=1), axis=1) + reach
                patterns = [
                    own * slope * _active(is_member, -self.weights[:, 2], *span)
                    for slope, span in zip(slopes.tolist(), spans.tolist(), strict=True)
                ]
                families.append((is_member, patterns))
            return families
        patterns = []
        for slope, low, high in zip(slopes.tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            levels = [self.second == level for level in self.variables[1].features.tolist()]
            active = [_active(has, -1.0 - self.weights[:, 2], low, high) for has in levels]
            patterns.append(slope * np.concatenate([np.zeros((1, len(self.first))), *active]))
        return [(np.ones(len(self.first), bool), patterns)]

    def join(self, other: PairHinges) -> PairHinges:
        """Return these and other hinges of the same variables on the same rows."""
        first, second = np.append(self.first, other.first), np.append(self.second, other.second)
        weights = np.concatenate([self.weights, other.weights])
        return replace(self, first=first, second=second, weights=weights, folds=self.folds | other.folds)

    def select(self, kept: Ints) -> PairHinges:
        """Return these with only some of the hinges, by number."""
        first, second = self.first[kept], self.second[kept]
        folds = {key: fold for key, fold in self.folds.items() if key in first or key in second}
        return replace(self, first=first, second=second, weights=self.weights[kept], folds=folds)


def _active(is_member: Bools, places: Floats, low: float, high: float) -> Floats:
    """Return which hinges (patterns, h) rise at some number between low and high: members with smaller places."""
    order = np.flatnonzero(is_member)[np.argsort(places[is_member], kind="stable")]
    first, last = int((places[order] <= low).sum()), int((places[order] < high).sum())
    result = np.zeros((max(last - first, 0) + 1, len(places)))
    for row, count in zip(result, range(first, max(first, last) + 1), strict=True):
        row[order[:count]] = 1.0
    return result


def _diagonals(U: dict[int, Floats], i: int, j: int, is_fine: bool) -> list[tuple[float, ...]]:
    hinges: list[tuple[float, ...]] = []
    directions = MORE_DIAGONALS if is_fine else DIAGONALS
    n_rows = ROWS_PER_HINGE * len(directions) if is_fine else ROWS_PER_BEND
    n_bends = int(np.clip(len(U[i]) // n_rows, BENDS, MORE_BENDS))
    for a, b in directions:
        places = np.unique(np.quantile(a * U[i] + b * U[j], np.linspace(0, 1, n_bends + 2)[1:-1]).round(2))
        hinges += [(i, j, a, b, -place) for place in places.tolist()]
    return hinges


def _fold_circle(pair: PairHinges, variable: Variable, places: Sequence[float]) -> list[int]:
    """Return the numbers of new folds of a variable at places, as fractions of its circle; none if it is no circle."""
    if variable.circle is None:
        return []
    low, high = variable.circle
    keys = []
    for place in places:
        keys.append(-1 - len(pair.folds))
        pair.folds[keys[-1]] = (int(variable.features[0]), low + (high - low) * place)
    return keys


def _level_circles(
    X: Floats, copies: Floats, pair: PairHinges, circle: Variable, levels: list[int]
) -> list[tuple[float, ...]]:
    """Return a hat at even steps of a circle for each level that has rows, 0 for rows of other levels."""
    assert circle.circle is not None
    hinges: list[tuple[float, ...]] = []
    most = int(min(MOST_HATS, circle.circle[1] - circle.circle[0]))
    keys = {count: _fold_circle(pair, circle, [k / count for k in range(count)]) for count in (most, LEVEL_BENDS[0])}
    for level in levels:
        n_rows = min(float(copies[X[:, level] > 0.5].sum()), float(copies[X[:, level] <= 0.5].sum()))
        if n_rows < CURVE_ROWS:
            continue
        count = most if n_rows >= BEND_ROWS * most else LEVEL_BENDS[0]
        hinges += [(key, level, 1.0, 1.0, 2.0 / count - 2.0) for key in keys[count]]
    return hinges


def _level_curves(
    X: Floats, copies: Floats, U: dict[int, Floats], number: int, levels: list[int]
) -> list[tuple[float, ...]]:
    hinges: list[tuple[float, ...]] = []
    for level in levels:
        has = X[:, level] > 0.5
        if min(copies[has].sum(), copies[~has].sum()) < CURVE_ROWS:
            continue
        n_rows = int(copies[has].sum())
        n_bends = int(np.clip(n_rows // BEND_ROWS, *LEVEL_BENDS)) if n_rows >= BEND_ROWS else 0
        bends = np.quantile(U[number][has], np.linspace(0, 1, n_bends + 2)[1:-1]).round(2)
        places = np.unique(np.append(0.0, bends))
        hinges += [(number, level, 1.0, 1.0, -1.0 - place) for place in places[places < 1].tolist()]
    return hinges


@dataclass(frozen=True, eq=False)
class PurePair:
    """Hinges of a pair from which what curves of the same columns can show is taken out, scaled to size 1."""

    hinges: PairHinges
    margin: Floats  #: (p, h) weights of the curves' functions that are taken out
    offset: Floats  #: (h,)
    scale: float

    def __len__(self) -> int:
        """Return the number of hinges."""
        return len(self.hinges.first)

    def __call__(self, X: Floats, F: Floats) -> Floats:
        """Return the hinges (n, h) at rows X (n, d), at which the curves' functions are F (n, p)."""
        own = np.flatnonzero(self.margin.any(axis=1))
        curves = self.margin[own].T @ F.T[own]  # (h, n): columns are read one by one
        return np.asarray((self.hinges(X).T - self.offset[:, None] - curves) / self.scale).T


class Purifier:
    """Takes what curves can show out of hinges of pairs, by rows."""

    def __init__(self, rows: Rows, curves: CurveBasis) -> None:
        self._X, self._curves = rows.X, curves
        self._root = np.sqrt(rows.weight / rows.weight.sum())[:, None]
        self._F = curves(rows.X) * self._root

    def __call__(self, hinges: PairHinges) -> PurePair:
        """Return the hinges without their projections on the curves of their columns, and the size of the rest."""
        columns = np.flatnonzero(np.isin(self._curves.feature, self._curves.with_gaps(hinges.features)))
        A = np.hstack([self._root, self._F[:, columns]])
        Z = hinges(self._X) * self._root
        weights = project_out(A, Z)
        margin = np.zeros((self._F.shape[1], Z.shape[1]))
        margin[columns] = weights[1:]
        rest = float(np.sqrt(((Z - A @ weights) ** 2).sum() / max(Z.shape[1], 1)))
        return PurePair(hinges, margin, weights[0], max(rest, 1e-3))


def project_out(A: Floats, Z: Floats) -> Floats:
    """Return the weights (q, k) with which functions A (n, q) are nearest to others Z (n, k)."""
    gram = A.T @ A
    gram[np.diag_indices_from(gram)] += 1e-6 * np.trace(gram) / len(gram)
    return np.asarray(np.linalg.solve(gram, A.T @ Z))
