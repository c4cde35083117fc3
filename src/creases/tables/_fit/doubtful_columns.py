"""Columns that look like IDs: tried on held-out rows, and used where these are better predicted with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from creases._typing import Floats, Ints
from creases.problems import Problem
from creases.tables._encoding.encoding import TableEncoding
from creases.tables._reading.options import CurveConfig
from creases.tables._split.split import TableSplit, fold_weights, least_keys, mix, row_keys
from creases.tables._stages.families import Classes, Targets, family_with_exposure
from creases.tables._stages.fit import FOLDS, choose_family
from creases.tables._stages.inputs import Inputs
from creases.tables._stages.level_effects import add_effects
from creases.tables._stages.rows import Rows
from creases.tables._stages.stages import UNIT_ERRORS, Candidate, choose, compare, fit_columns

#: Rows that judge a column at most: as many as a small table has, whose curves have few pieces.
TRIAL_ROWS = 3_500

#: Why a column that was tried is used, or left out.
USEFUL, USELESS = "held-out rows are better predicted with it", "held-out rows are not better predicted with it"


def settle_columns(
    problem: Problem, config: CurveConfig, split: Callable[[Floats], TableSplit] | None = None
) -> Problem:
    """Return a table with those of its columns that look like IDs with which held-out rows are better predicted.

    ``split`` splits encoded rows (n, d), unless the targets are the problem's.
    """
    wider = problem.wider
    if wider is None:
        return problem
    data = TableSplit.from_problem(wider, config) if split is None else split(wider.X)
    used = choose_doubtful(data, problem.encoding, wider.encoding, config)
    if not used:
        return replace(problem, encoding=note_trial(problem.encoding, wider.encoding, ()), wider=None)
    encoding = note_trial(problem.encoding, wider.encoding, used)
    places, features = feature_places(wider.encoding, encoding), tuple(each.name for each in encoding.features)
    return replace(wider, X=wider.X[:, places], features=features, encoding=encoding)


def choose_doubtful(split: TableSplit, narrow: TableEncoding, wide: TableEncoding, config: CurveConfig) -> list[str]:
    """Return the columns that only the ``wide`` encoding has and that pay, by name.

    Sums of curves of single columns are fitted on folds, with one column more each time, by the family that is given or
    that the other columns favour. It must lower the loss of held-out rows by two standard errors of the paired
    differences, as units must. ``split`` has the rows of the wide encoding; those to test with are not looked at.
    """
    from threadpoolctl import threadpool_limits

    used: list[str] = []
    among = split.fitted_rows
    rows = split.rows
    sample = among[least_keys(mix(row_keys(rows.X[among], rows.y[among], config.seed)), TRIAL_ROWS)]
    n_classes = 0 if split.task == "regression" else split.n_outputs
    held = fold_weights(rows, sample, FOLDS, config.seed, stratify=n_classes > 0)
    shares = [out / rows.weight[sample] for out in held]

    def find_inputs(names: Sequence[str]) -> tuple[Ints, Inputs]:
        encoding = note_trial(narrow, wide, names)
        places = feature_places(wide, encoding)
        features = [feature.name for feature in encoding.features]
        return places, Inputs.from_table(rows.X[sample][:, places], features, encoding)

    def fit(names: Sequence[str]) -> Candidate:
        places, inputs = find_inputs(names)
        parts = [(_take(train, places), _take(out, places)) for train, out in folds]
        taken, parts, _ = add_effects(_take(data, places), parts, inputs)
        return choose(fit_columns(taken, parts, inputs), [out for _, out in parts])

    with threadpool_limits(1):  # products of matrices are rounded in another way by more threads
        places, inputs = find_inputs(used)
        name = family_with_exposure(config.family) if split.has_exposure else config.family
        plain = replace(rows, X=rows.X[:, places])
        family = Classes(n_classes) if n_classes else choose_family(name, plain, sample, shares, inputs)[0]
        data = Rows.from_unique(rows, sample, Targets.from_values(family, rows.y[sample], rows.weight[sample]))
        folds = [data.split(share) for share in shares]
        tested = [out for _, out in folds]
        best = fit(used)
        for column in new_columns(narrow, wide):
            candidate = fit([*used, column])
            gain, error = compare(best, candidate, tested)
            if gain > UNIT_ERRORS * error:
                best, used = candidate, [*used, column]
    return used


def new_columns(narrow: TableEncoding, wide: TableEncoding) -> list[str]:
    """Return the columns that are used in the wide encoding only, by name."""
    pairs = zip(narrow.columns, wide.columns, strict=True)
    return [after.name for before, after in pairs if before.use == "left out" and after.use == "input"]


def feature_places(wide: TableEncoding, encoding: TableEncoding) -> Ints:
    """Return the places of the features of one encoding in those of another that has more columns."""
    names = {column.name for column in encoding.inputs}
    return np.array([j for j, feature in enumerate(wide.features) if feature.column in names], np.int64)


def note_trial(narrow: TableEncoding, wide: TableEncoding, used: Sequence[str]) -> TableEncoding:
    """Return the wide encoding without those of its columns that were tried and are not used, and note why."""
    tried, columns = new_columns(narrow, wide), []
    for before, after in zip(narrow.columns, wide.columns, strict=True):
        column = after if after.name in used else before
        note = f"{column.kind.note}; {USEFUL if after.name in used else USELESS}"
        columns.append(replace(column, kind=replace(column.kind, note=note)) if after.name in tried else after)
    return replace(wide, columns=tuple(columns))


def _take(rows: Rows, places: Ints) -> Rows:
    return replace(rows, X=rows.X[:, places])
