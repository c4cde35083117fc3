"""Small models with known curves, to be read in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from creases.problems import Problem
from creases.tables import TableModel, parse_table
from creases.tables._model.schema import RowSchema
from creases.tables._split.split import merge_duplicates
from creases.tables._stages.fit import fit_stages
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.model import Curve, CurveModel, Plane, Units
from creases.tables._stages.pairs import PairHinges, Variable


def fit_curves(problem: Problem, *, rows: Any = slice(None), weight: Any = None, shapes: Any = None, **options: Any):
    """Return the curves, planes and units of rows of a problem, none of which are held out."""
    X, y, n_classes = problem.X[rows], problem.y[rows].astype(float)[:, None], len(problem.classes or ())
    n_scores = 1 if n_classes in (0, 2) else n_classes
    inputs = Inputs.from_table(X, problem.features, problem.encoding, shapes=shapes, n_scores=n_scores)
    table = merge_duplicates(X, y, np.ones(len(X)) if weight is None else weight)
    return fit_stages(table, inputs, n_classes=n_classes, **{"family": "auto"} | options)[0]


def make_model(text: str, curves: dict[str, tuple[list[float], list[Any]]], *, intercept: Any = 0.0, **options: Any):
    """Return a model of a CSV table with given curves (knots, values), other inputs being constant, and its problem."""
    problem = parse_table(text, "table.csv", **options)
    n_classes = 0 if problem.classes is None else len(problem.classes)
    m = n_classes if n_classes > 2 else 1
    parts = []
    for j, feature in enumerate(problem.encoding.features):
        x = problem.X[:, j]
        knots, values = curves.get(feature.name, ([float(x.min()), float(x.max()) + (np.ptp(x) == 0)], np.zeros(2)))
        values = np.asarray(values, float).reshape(len(knots), -1) * np.ones(m)
        parts.append(Curve(np.asarray(knots, float), values, 0 * values, feature.is_numeric))
    unknown = set(curves) - set(problem.features)
    assert not unknown, f"{unknown} are no inputs of {problem.features}"
    function = CurveModel(n_classes, np.asarray(intercept, float) * np.ones(m), tuple(parts))
    schema = RowSchema(
        features=problem.features,
        classes=problem.classes,
        targets=(problem.target,),
        encoding=problem.encoding,
        center=problem.X.mean(axis=0),
        spread=np.where(problem.X.std(axis=0) > 0, problem.X.std(axis=0), 1.0),
        ranges=np.stack([problem.X.min(axis=0), problem.X.max(axis=0)], axis=1),
    )
    return TableModel(function=function, schema=schema), problem


def set_threshold(model: TableModel, threshold: float) -> TableModel:
    """Return the model with another threshold."""
    return replace(model, schema=replace(model.schema, threshold=threshold))


TEXT = "age,home,garden,sold,y\n" + "".join(
    f"{'' if k % 7 == 0 else 20 + k % 9},{['own', 'rent', 'none', ''][k % 4]},{['yes', 'no'][k % 2]},"
    f"2012-0{1 + k % 3}-{1 + k % 28:02},{['no', 'yes', 'perhaps'][k % 3]}\n"
    for k in range(84)
)


def random_model(seed, n_classes, *, units=False, plane=False):
    """Return a model with random curves, and units or a plane of age and home, and its problem."""
    rng = np.random.default_rng(seed)
    text = TEXT.replace("perhaps\n", "yes\n") if n_classes == 2 else TEXT
    for word, number in () if n_classes else (("no", "1.5"), ("yes", "2.5"), ("perhaps", "3.75")):
        text = text.replace(f",{word}\n", f",{number}\n")
    m = 3 if n_classes == 3 else 1
    _, problem = make_model(text, {})
    curves = {}
    for j, feature in enumerate(problem.encoding.features):
        x = problem.X[:, j]
        knots = np.linspace(x.min(), x.max(), 4) if feature.is_numeric else np.array([0.0, 1.0])
        curves[feature.name] = (knots, rng.normal(size=(len(knots), m)))
    model, problem = make_model(text, curves, intercept=rng.normal(size=m))
    X, d = problem.X, problem.X.shape[1]
    if units:
        knots = tuple(np.array([x.min(), x.max() if np.ptp(x) else x.min() + 1]) for x in X.T)
        parts = rng.normal(size=(6, d)), rng.normal(size=6), rng.normal(size=(6, m)), rng.normal(size=m)
        model = replace(model, function=replace(model.function, units=Units(knots, *parts)))
    if plane:
        levels = [j for j, feature in enumerate(problem.encoding.features) if feature.column == "home"]
        variables = (Variable("number", 0, np.array([0])), Variable("category", 1, np.array(levels)))
        knots = {0: np.array([X[:, 0].min(), X[:, 0].max()])} | {j: np.array([0.0, 1.0]) for j in levels}
        hinges = PairHinges(variables, knots, np.zeros(4, int), np.array(levels), np.tile([1.0, 1.0, -1.2], (4, 1)))
        one = Plane(hinges, 5 * rng.normal(size=(4, m)), {}, np.zeros(m))
        model = replace(model, function=replace(model.function, planes=(one,)))
    return model, problem
