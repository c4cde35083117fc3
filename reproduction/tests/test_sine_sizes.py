from __future__ import annotations

import numpy as np
import pytest

from creases.errors import InputError
from creases_reproduction.experiment import stored_table
from creases_reproduction.linearity.sine_sizes import PRINTED, _agrees, interpolation_error, sine_networks, sine_sizes


@pytest.mark.parametrize(("lines", "error"), [(1, 0.5), (3, 0.0661), (9, 0.00097)])
def test_interpolating_sine_by_equal_lines_has_the_errors_of_figure_5_4(lines, error):
    assert interpolation_error(lines) == pytest.approx(error, rel=2e-3)
    knots, x = np.linspace(-np.pi, np.pi, lines + 1), np.linspace(-np.pi, np.pi, 200_001)
    squares = (np.sin(x) - np.interp(x, knots, np.sin(knots))) ** 2
    assert interpolation_error(lines) == pytest.approx(np.trapezoid(squares, x) / (2 * np.pi), rel=1e-6)


def test_shallow_networks_succeed_and_very_deep_ones_do_not():
    table = sine_sizes().table.set_index(["width", "depth"])
    assert table.loc[(5, 1), "rate"] == 1
    assert table.loc[(5, 5), "rate"] > 0.6
    assert table.loc[(5, 10), "rate"] < 0.1
    assert table.loc[(5, 10), "printed"] == 599 == PRINTED[4][9]


def test_networks_of_figure_5_5_fit_better_than_zero_and_have_their_regions_counted():
    found = sine_networks()
    table = found.table.set_index(["width", "depth"])
    assert set(found.models) == set(table.index)
    assert (table["mse"] < 0.45).all()
    assert table.loc[(10, 1), "regions"] <= 11
    assert table.loc[(10, 3), "regions"] > table.loc[(10, 1), "regions"]


def test_a_printed_number_of_starts_agrees_with_rates_that_make_it_likely():
    assert _agrees(1, 0.9, 1.0)
    assert not _agrees(100, 0.2, 0.3)  # far too many starts
    assert not _agrees(1, 0.0, 0.01)  # far too few
    assert _agrees(0, 0.0, 0.001)
    assert not _agrees(0, 0.1, 0.2)


def test_an_unknown_scale_is_refused():
    for experiment in (sine_sizes, sine_networks):
        with pytest.raises(InputError, match="scale must be 'quick' or 'full'"):
            experiment("slow")


def test_rates_at_full_scale_are_the_specified_ones():
    rate = stored_table("sine_sizes").table.set_index(["width", "depth"])["rate"]
    assert rate[5, 1] == pytest.approx(1.0, abs=0.01)
    assert rate[5, 5] == pytest.approx(0.83, abs=0.08)
    assert rate[5, 7] == pytest.approx(0.21, abs=0.09)
    assert rate[5, 10] < 0.02
