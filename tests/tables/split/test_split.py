"""The split of a table into rows to train on, to validate and to test with."""

import numpy as np

from creases.problems import Problem
from creases.tables import TableSplit


def few_categories(order):
    """200 rows of two different inputs, in both of which three quarters are of one class."""
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    y = np.repeat([0, 1, 0, 1], [75, 25, 25, 75])
    return Problem("few", X[order], y[order], features=("x",), classes=("a", "b"))


def test_rows_of_a_few_categories_have_the_same_classes_in_every_part():
    split = TableSplit.from_problem(few_categories(np.arange(200)))
    y, X = split.problem.y, split.problem.X[:, 0]
    parts = (split.train, split.validation, split.test)
    assert sorted(np.concatenate(parts).tolist()) == list(range(200))
    for rows in parts:
        assert np.mean(y[rows] == X[rows]) > 0.6
    assert split.samples("train").X.shape[0] == 4  # equal rows are one sample with a weight


def test_the_split_of_repeated_rows_does_not_depend_on_their_order():
    splits = [TableSplit.from_problem(few_categories(np.random.default_rng(k).permutation(200))) for k in (0, 1)]
    for one, other in zip(*(split.parts for split in splits), strict=True):
        for name in ("X", "y", "weight"):
            values = [getattr(split.rows, name)[rows] for split, rows in zip(splits, (one, other), strict=True)]
            np.testing.assert_array_equal(*values)


def test_rows_that_occur_once_are_never_in_two_parts():
    X = np.arange(60.0)[:, None]
    split = TableSplit.from_problem(Problem("once", np.vstack([X, X[:20]]), np.arange(80) % 60, ("x",), None))
    values = [set(split.problem.X[rows, 0].tolist()) for rows in (split.train, split.validation, split.test)]
    assert len(set.union(*values)) == sum(map(len, values))
