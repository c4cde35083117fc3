"""Rows of a table: merged, sorted, split."""

import numpy as np
import pytest

from creases.tables._split.split import fold_weights, merge_duplicates, split_copies, split_rows


def _table(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 3)).astype(float)
    return X, rng.integers(0, 3, (n, 1)).astype(float), rng.integers(0, 4, n).astype(float)


def test_weights_repetition_and_another_order_give_the_same_table_bit_for_bit() -> None:
    X, y, weight = _table()
    times = weight.astype(int)
    order = np.random.default_rng(1).permutation(times.sum())
    weighted = merge_duplicates(X, y, weight)
    repeated = merge_duplicates(X.repeat(times, axis=0)[order], y.repeat(times, axis=0)[order], np.ones(times.sum()))
    for name in ("X", "y", "weight", "count"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))


def test_rows_all_differ_and_keep_their_total_weight() -> None:
    X, y, weight = _table()
    table = merge_duplicates(X, y, weight)
    rows = np.column_stack([table.X, table.y])
    assert len(np.unique(rows, axis=0)) == len(table) < (weight > 0).sum()
    assert table.weight.sum() == weight.sum()
    assert (table.weight > 0).all()


def test_each_row_knows_where_it_came_first() -> None:
    X, y, weight = _table()
    table = merge_duplicates(X, y, weight)
    np.testing.assert_array_equal(X[table.first], table.X)
    np.testing.assert_array_equal(y[table.first, 0], table.y[:, 0])
    for row, first in zip(np.column_stack([table.X, table.y]), table.first, strict=True):
        same = (np.column_stack([X, y]) == row).all(axis=1) & (weight > 0)
        assert np.flatnonzero(same)[0] == first


def test_zero_and_minus_zero_are_one_row() -> None:
    table = merge_duplicates(np.array([[0.0], [-0.0]]), np.zeros((2, 1)), np.ones(2))
    assert len(table) == 1


@pytest.mark.parametrize("share", [0.1, 0.15, 0.5])
def test_classes_are_held_out_in_the_shares_they_have(share: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(3, 400, p=[0.7, 0.2, 0.1]).astype(float)[:, None]
    table = merge_duplicates(rng.normal(size=(400, 2)), y, np.ones(400))
    train, held = split_rows(table.y, share, 0, stratify=True)
    assert sorted([*train, *held]) == list(range(400))
    for c in range(3):
        assert abs((table.y[held] == c).sum() - share * (y == c).sum()) <= 1


def test_the_only_row_of_a_class_is_trained_on() -> None:
    y = np.array([0.0] * 20 + [1.0] * 20 + [2.0])[:, None]
    table = merge_duplicates(np.arange(41.0)[:, None], y, np.ones(41))
    for seed in range(20):
        train, _ = split_rows(table.y, 0.5, seed, stratify=True)
        assert set(table.y[train, 0]) == {0.0, 1.0, 2.0}


def test_a_table_whose_inputs_have_several_targets_deals_copies_and_others_are_not() -> None:
    X, y, _ = _table(500)
    assert merge_duplicates(X, y, np.ones(500)).deals_copies
    once = np.random.default_rng(0).normal(size=(50, 2)).repeat(10, axis=0)
    same = np.arange(50.0).repeat(10)[:, None]
    assert not merge_duplicates(once, same, np.ones(500)).deals_copies


@pytest.mark.parametrize("weighted", [False, True])
def test_copies_in_parts_keep_the_weight_of_their_row(weighted: bool) -> None:
    X, y, weight = _table(500)
    rows = merge_duplicates(X, y, weight if weighted else np.ones(500))
    dealt = rows.deal(np.arange(len(rows)))
    part = np.random.default_rng(0).integers(0, 3, len(dealt))
    copies, parts = split_copies(rows, part, dealt)
    assert copies.weight.sum() == pytest.approx(rows.weight.sum())
    assert copies.count.tolist() == copies.weight.tolist()
    np.testing.assert_array_equal(X[copies.first], copies.X)
    counted = np.flatnonzero(copies.inverse >= 0)
    np.testing.assert_array_equal(copies.X[copies.inverse[counted]], X[counted])
    np.testing.assert_array_equal(copies.y[copies.inverse[counted], 0], y[counted, 0])
    if not weighted:
        assert np.bincount(parts[copies.inverse]).tolist() == np.bincount(part).tolist()


@pytest.mark.parametrize("mixed", [False, True])
def test_folds_hold_out_every_row_once_and_every_class_in_its_share(mixed: bool) -> None:
    X, y, weight = _table(500)
    X = X if mixed else np.arange(500.0)[:, None]
    rows = merge_duplicates(X, y, weight + 1)
    assert rows.deals_copies is mixed
    among = np.flatnonzero(np.arange(len(rows)) % 4 > 0)
    held = fold_weights(rows, among, 5, 0, stratify=True)
    np.testing.assert_allclose(held.sum(axis=0), rows.weight[among])
    if not mixed:
        assert ((held > 0).sum(axis=0) == 1).all()  # copies of a row are in one fold
    for c in range(3):
        counts = (held if mixed else held > 0)[:, rows.y[among, 0] == c].sum(axis=1)
        assert np.ptp(counts) <= 1
