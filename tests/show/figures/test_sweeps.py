import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from creases.errors import InputError
from creases.show import plot_heatmap
from creases.show._figures._sweeps import format_table, heatmap_cells
from creases.show._style import new_figure


@pytest.fixture
def table():
    grid = [(w, d, run) for w in (8, 2) for d in (1, 3) for run in (0, 1) if (w, d) != (2, 3)]
    rows = [{"key": f"{w}{d}{r}", "width": w, "depth": d, "seed": r, "success": w / 10 + r / 10} for w, d, r in grid]
    return pd.DataFrame(rows)


@pytest.fixture
def ax():
    return new_figure()[1][0]


def drawn(ax):
    return ax.images[0].get_array().filled(np.nan)


def test_cells_are_means_in_ascending_order_and_gaps_are_left_open(table, ax):
    plot_heatmap(table, "width", "depth", "success", ax=ax)
    np.testing.assert_allclose(drawn(ax), [[0.25, 0.85], [np.nan, 0.85]])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2", "8"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["1", "3"]
    assert sorted(text.get_text() for text in ax.texts) == ["0.25", "0.85", "0.85"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "depth")
    assert ax.figure.axes[-1].get_ylabel() == "mean success"


def test_a_cell_of_one_row_is_no_mean(table, ax):
    plot_heatmap(table[table["seed"] == 0], "width", "depth", "success", ax=ax)
    assert ax.figure.axes[-1].get_ylabel() == "success"


def test_shares_are_coloured_from_0_to_1_and_changes_about_zero(table, ax):
    plot_heatmap(table, "width", "depth", "success", ax=ax)
    assert ax.images[0].get_clim() == (0, 1)
    plot_heatmap(table.assign(success=table["success"] - 0.5), "width", "depth", "success", ax=ax)
    low, high = ax.images[1].get_clim()
    assert low == -high < 0


def test_true_and_false_are_shares_and_texts_and_lists_are_names(ax):
    table = pd.DataFrame({"a": ["x", "y"], "b": [[1, 2], [3]], "ok": [True, False]})
    plot_heatmap(table, "a", "b", "ok", ax=ax)
    assert np.nansum(drawn(ax)) == 1
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["[1, 2]", "[3]"]


def test_all_the_same_or_nothing_measured_can_be_drawn(table, ax):
    plot_heatmap(table.assign(success=7), "width", "depth", "success", ax=ax)
    plot_heatmap(table.assign(success=np.nan), "width", "depth", "success", ax=ax)


def test_many_cells_are_not_annotated(ax):
    table = pd.DataFrame({"a": range(40), "b": 0, "c": 1.0})
    plot_heatmap(table, "a", "b", "c", ax=ax)
    assert not ax.texts


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("width", "nothing", "success"), "table must have a column 'nothing', got key, width"),
        (("width", "width", "success"), "y must be another column than x, got 'width' for both"),
        (("width", "depth", "key"), "value must be a column of numbers, got 'key', which holds"),
    ],
)
def test_columns_that_cannot_be_drawn_are_refused(table, words, error):
    with pytest.raises(InputError, match=error):
        heatmap_cells(table, *words)


def test_a_table_without_rows_is_refused(table):
    with pytest.raises(InputError, match="table must have at least one row"):
        heatmap_cells(table[:0], "width", "depth", "success")


def told(table, **options):
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(format_table(table, **options))
    return console.export_text()


def test_the_listed_table_has_no_keys_and_says_once_what_all_rows_agree_in(table):
    text = told(table.assign(problem="xor [2d]", loss=[None, 0.123456, *[1.0] * 4]), max_rows=3)
    lines = text.splitlines()
    assert lines[0].strip() == "problem xor [2d]"
    assert lines[1].split() == ["width", "depth", "success", "loss"]
    assert len(lines) == 5
    assert "0.1235" in lines[3]


def test_a_table_of_one_row_or_none_can_be_listed(table):
    assert "0.8" in told(table[:1])
    assert "success" in told(table[:0])
