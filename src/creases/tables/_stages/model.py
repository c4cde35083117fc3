"""The model of a table that can be read whole: a curve for each column, planes for a few pairs, as one network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._typing import Floats, Ints
from creases._validation import check_seed, check_vector
from creases.errors import InputError
from creases.problems import Problem
from creases.tables._split.split import MIN_ROWS
from creases.tables._stages.constraints import Shape
from creases.tables._stages.folds import deal_folds
from creases.tables._stages.network_of_fit import PiecewiseLinear, curve_parts, plane_weights, to_module
from creases.tables._stages.pairs import PairHinges
from creases.tables._stages.penalized import Fit
from creases.tables._stages.rows import Rows
from creases.tables._stages.stages import Candidate, Inputs, candidates, choose, compare, count_bends, judge

if TYPE_CHECKING:
    from creases.network import Network

SHAPES = ("rising", "falling", "straight", "convex")


@dataclass(frozen=True, eq=False)
class Curve:
    """What one input adds to the scores: straight between its knots, constant beyond them, with mean 0."""

    feature: str
    knots: Floats  #: (k,) rising
    values: Floats  #: (k, m) for each score
    errors: Floats  #: (k, m) standard errors of the values

    @property
    def slopes(self) -> Floats:
        """(k - 1, m) Slopes of the pieces."""
        return PiecewiseLinear(self.knots, self.values).slopes

    def __call__(self, x: Floats) -> Floats:
        """Return what values x (n,) of the input add to the scores, (n, m)."""
        return PiecewiseLinear(self.knots, self.values)(np.asarray(x, np.float64))


@dataclass(frozen=True, eq=False)
class Plane:
    """What two columns add together beyond their curves."""

    features: tuple[tuple[str, ...], tuple[str, ...]]  #: the inputs of each column
    hinges: PairHinges
    weights: Floats  #: (h, m) of the hinges
    margins: Mapping[int, PiecewiseLinear]  #: by input: what is taken out so that the mean along each column is 0
    constant: Floats  #: (m,)

    def __call__(self, X: Floats) -> Floats:
        """Return what encoded rows X (n, d) get, (n, m)."""
        return self.hinges(X) @ self.weights + sum(part(X[:, j]) for j, part in self.margins.items()) + self.constant


@dataclass(frozen=True)
class Step:
    """What a stage brought on held-out rows."""

    stage: str  #: "linear", "curves", "3 planes" or "10 planes"
    loss: float  #: squared error in variances of the target, or log loss
    gain: float  #: on the stage before
    error: float  #: standard error of the gain
    bends: float
    is_kept: bool


@dataclass(frozen=True, eq=False)
class CurveModel:
    """A sum of curves and planes, which is a ReLU network.

    The scores are the predicted values, the logit of the second of two classes, or one score for each of more.
    """

    problem: Problem
    fit: Fit
    center: Floats  #: (m,) mean of the targets; 0 for classes
    scale: Floats  #: (m,) their standard deviation; 1 for classes
    steps: tuple[Step, ...]  #: what each stage brought
    is_numeric: tuple[bool, ...]

    @cached_property
    def network(self) -> Network:
        """The same function as a network of encoded rows; with classes it has a logit for each."""
        from creases.network import read

        m = len(self.center)
        is_binary = self.problem.classes is not None and m == 1
        mixture = np.array([[-0.5], [0.5]]) if is_binary else np.eye(m)
        return read(to_module(self.fit, self.is_numeric, self.center, self.scale, mixture))

    @property
    def n_bends(self) -> int:
        """Knots within the ranges of columns and hinges of planes."""
        return count_bends(self.fit)

    @cached_property
    def intercept(self) -> Floats:
        """(m,) The score of a row for which all curves and planes are 0."""
        return self.center + self.scale * self.fit.offset

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """A curve for each input, by its name."""
        basis = self.fit.basis.curves
        parts, _ = curve_parts(basis, self.fit.weights[: len(basis.penalty)])
        result = {}
        for j, (name, part) in enumerate(zip(self.problem.features, parts, strict=True)):
            own = np.flatnonzero(basis.feature == j)
            X = np.repeat(basis.low[None], len(part.knots), axis=0)
            X[:, j] = part.knots
            F = basis(X)[:, own]
            errors = [np.sqrt(np.einsum("kp,pq,kq->k", F, V[np.ix_(own, own)], F)) for V in self.fit.covariance]
            values = part.values - part.values[0] + F[0] @ self.fit.weights[own]
            result[name] = Curve(name, part.knots, self.scale * values, self.scale * np.stack(errors, axis=1))
        return result

    @cached_property
    def planes(self) -> list[Plane]:
        """The planes, in the order in which the rows ranked them."""
        names, planes = self.problem.features, []
        for pair, weights, margin, constant in plane_weights(self.fit):
            parts, shift = curve_parts(self.fit.basis.curves, margin)
            scaled = {j: PiecewiseLinear(parts[j].knots, self.scale * parts[j].values) for j in pair.knots}
            features = tuple(tuple(names[j] for j in variable.features) for variable in pair.variables)
            total = self.scale * (constant + shift)
            planes.append(Plane(features, pair, self.scale * weights, scaled, total))  # type: ignore[arg-type]
        return planes

    def scores(self, X: Floats) -> Floats:
        """Return the scores (n, m) of encoded rows X (n, d)."""
        return self.center + self.scale * self.fit(X)

    def parts(self, X: Floats) -> dict[str, Floats]:
        """Return what each curve and plane adds to the scores of encoded rows X (n, d), (n, m) each.

        Together with the intercept they are the scores.
        """
        parts = {name: curve(X[:, j]) for j, (name, curve) in enumerate(self.curves.items())}
        names = [" and ".join(_name(features) for features in plane.features) for plane in self.planes]
        return parts | {name: plane(X) for name, plane in zip(names, self.planes, strict=True)}


def _name(features: tuple[str, ...]) -> str:
    return features[0] if len(features) == 1 else features[0].partition("=")[0]


def fit_curves(
    problem: Problem,
    *,
    rows: Ints | None = None,
    weight: Floats | None = None,
    shapes: Mapping[str, str] | None = None,
    seed: int = 0,
) -> CurveModel:
    """Fit the model of a table that a person can read whole: lines, then curves, then planes where they pay.

    Each stage is fitted on folds and judged by its losses on held-out rows. It must beat the one before by a standard
    error of the paired differences. The chosen one is fitted again to all rows.

    Parameters
    ----------
    problem
        The table.
    rows
        Numbers of the rows to use; by default all.
    weight
        (n,) weights of the rows used.
    shapes
        By column or input: "rising", "falling" (the curve of a number), "straight" (no knots) or "convex" (within the
        column's range). It holds by construction; such a column is in no plane.
    seed
        Seed of the folds.

    Examples
    --------
    >>> from creases import problems
    >>> from creases.tables import fit_curves
    >>> model = fit_curves(problems.get("iris"))
    >>> [step.stage for step in model.steps]
    ['linear', 'curves', '3 planes', '10 planes']
    >>> model.network.n_out
    3
    """
    rows, weight = _check_rows(problem, rows, weight)
    if not isinstance(shapes, Mapping | None):
        raise InputError("shapes", 'be a mapping such as {"age": "rising"}', type(shapes).__name__)
    seed = check_seed(seed)
    n_classes = 0 if problem.classes is None else len(problem.classes)
    y = problem.y[rows].astype(np.float64)[:, None]
    center, scale = np.zeros(1 if n_classes in (0, 2) else n_classes), np.ones(1 if n_classes in (0, 2) else n_classes)
    if n_classes == 0:
        center = np.average(y, axis=0, weights=weight)
        scale = np.sqrt(np.average((y - center) ** 2, axis=0, weights=weight))
        scale[scale == 0] = 1.0
        y = (y - center) / scale
    data = Rows(problem.X[rows], y, weight / weight.mean(), n_classes)
    inputs = _inputs(problem, shapes or {}, data)
    folds = deal_folds(data.X, y[:, 0], seed)
    judged = judge(data, inputs, folds)
    held = np.concatenate([data.weight[part] for _, part in folds])
    kept, best = choose(judged, held)
    key = (kept.stage, kept.tolerance)
    fit = next(fit for stage, tolerance, fit in candidates(data, inputs) if (stage, tolerance) == key)
    return CurveModel(problem, fit, center, scale, _steps(best, kept, held), inputs.is_numeric)


def _check_rows(problem: Problem, rows: Any, weight: Any) -> tuple[Ints, Floats]:
    """Return the numbers of the rows to use, and their weights."""
    if not isinstance(problem, Problem):
        raise InputError("problem", "be a Problem", type(problem).__name__, "creases.tables.read_table makes one")
    if np.ndim(problem.y) != 1:
        raise InputError("problem", "have one target", f"targets of shape {np.shape(problem.y)}")
    numbers = np.arange(len(problem.X)) if rows is None else check_vector(rows, "rows")
    if len(np.unique(numbers)) < MIN_ROWS:
        raise InputError("rows", f"have at least {MIN_ROWS} different rows", f"{len(np.unique(numbers))}")
    if (numbers != np.floor(numbers)).any() or numbers.min() < 0 or numbers.max() >= len(problem.X):
        raise InputError("rows", f"be whole numbers from 0 to {len(problem.X) - 1}", "others")
    weights = np.ones(len(numbers)) if weight is None else check_vector(weight, "weight", len(numbers))
    if (weights < 0).any() or not (weights > 0).any():
        raise InputError("weight", "be non-negative with at least one positive entry", "others")
    return numbers.astype(np.int64), weights


def _steps(best: list[Candidate], kept: Candidate, weight: Floats) -> tuple[Step, ...]:
    steps, before = [], best[0]
    for each in best:
        gain, error = compare(before, each, weight)
        loss = float(np.average(each.losses, weights=weight))
        steps.append(Step(each.stage, loss, gain, error, each.bends, each.stage == kept.stage))
        before = each if gain > error else before
    return tuple(steps)


def _inputs(problem: Problem, shapes: Mapping[str, str], rows: Rows) -> Inputs:
    encoding: Any = problem.encoding
    d = problem.X.shape[1]
    if encoding is None:
        is_numeric = tuple(bool(np.isin(x, (0.0, 1.0)).all() is np.False_) for x in rows.X.T)
        columns, groups, names = np.arange(d), np.full(d, -1), problem.features
    else:
        features = encoding.features
        index = {column.name: k for k, column in enumerate(encoding.inputs)}
        is_numeric = tuple(feature.is_numeric for feature in features)
        columns = np.array([index[feature.column] for feature in features])
        groups = np.where([feature.kind == "category" for feature in features], columns, -1)
        names = tuple(feature.column for feature in features)
    chosen: list[Shape] = [""] * d
    for name, shape in shapes.items():
        places = [j for j in range(d) if name in (names[j], problem.features[j]) and is_numeric[j]]
        if not places:
            raise InputError("shapes", "name columns of numbers", repr(name), "a category has no shape")
        if shape not in SHAPES:
            raise InputError("shapes", f"be {', '.join(map(repr, SHAPES))}", repr(shape))
        if shape != "straight" and rows.n_scores > 1:
            raise InputError("shapes", "be 'straight' with more than two classes", repr(shape))
        for j in places:
            chosen[j] = shape  # type: ignore[call-overload]
    return Inputs(is_numeric, columns, groups, tuple(chosen))
