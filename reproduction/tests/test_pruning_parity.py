import numpy as np
import pytest

from creases_reproduction.experiment import stored_table
from creases_reproduction.linearity.pruning_parity import (
    PRINTED_DEEP,
    PRINTED_WIDE,
    loss_curves,
    originals,
    parity,
    pruned_wide,
)


def test_the_printed_table_is_whole():
    assert list(PRINTED_WIDE) == list(range(2, 15))
    assert all(len(row) == 6 for row in PRINTED_WIDE.values())
    assert all(one is None or one[0] <= width for width, row in PRINTED_WIDE.items() for one in row)


def test_originals_have_all_points_right():
    networks = originals(3, [6], 6, seed=0)
    X, y = parity(3)
    assert networks.count
    assert ((networks.outputs(X)[..., 0] > 0) == (y == 1)).all()


@pytest.mark.slow
def test_two_digits_need_two_units_and_four_at_least_three():
    table = pruned_wide("quick").table
    assert (table.loc[table["digits"] == 2, "width"].dropna() == 2).all()
    assert (table.loc[table["digits"] == 4, "width"].dropna() >= 3).all()


def test_sub_networks_end_where_the_lab_says(monkeypatch):
    monkeypatch.setattr("creases_reproduction.linearity.pruning_parity.EPOCHS", 200)
    curves = loss_curves(n=2, width=4, every=100)
    assert curves.groupby("width")["sub_network"].nunique().to_dict() == {1: 4, 2: 6, 3: 4}
    assert sorted(curves["epoch"].unique()) == [0, 100, 200]
    assert np.isfinite(curves["loss"]).all()


def test_stored_prunings_of_wide_networks_reach_the_printed_widths():
    table = stored_table("pruning_wide").table
    both = table.dropna(subset=["width", "printed_width"])
    assert len(both) > 60
    assert (both["width"] <= both["printed_width"]).mean() > 0.8


def test_stored_prunings_of_deep_networks_reach_the_printed_sizes_but_for_a_unit_with_six_digits():
    table = stored_table("pruning_deep").table
    for digits, part in table.groupby("digits"):
        assert part["units"].min() <= min(map(sum, PRINTED_DEEP[digits])) + (digits == 6)
