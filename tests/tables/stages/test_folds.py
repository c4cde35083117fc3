"""Folds of rows."""

import numpy as np

from creases.tables._stages.folds import deal_folds


def test_every_row_is_held_out_once_and_classes_are_spread() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(103, 2)), np.repeat([0.0, 1.0], [83, 20])
    folds = deal_folds(X, y, 0)
    assert sorted(np.concatenate([held for _, held in folds]).tolist()) == list(range(103))
    assert {int(y[held].sum()) for _, held in folds} == {4}


def test_equal_rows_are_in_one_fold() -> None:
    X = np.repeat(np.arange(100.0), 1)[:, None]
    X[50:60] = X[0]
    folds = deal_folds(X, np.tile([0.0, 1.0], 50), 0)
    twins = {0, *range(50, 60)}
    assert sum(twins <= set(held.tolist()) for _, held in folds) == 1


def test_a_table_of_repeated_rows_is_dealt_row_by_row() -> None:
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    for _, held in deal_folds(X, np.tile([0.0, 1.0], 50), 0):
        assert len(held) == 20
        assert 0 < X[held].mean() < 1


def test_a_large_table_has_one_held_out_fifth() -> None:
    X = np.random.default_rng(0).normal(size=(5000, 1))
    ((train, held),) = deal_folds(X, X[:, 0], 0)
    assert (len(train), len(held)) == (4000, 1000)
