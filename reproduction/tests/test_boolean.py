from itertools import product

import pandas as pd
import pytest

from creases import boolean
from creases.show import save_figure
from creases_reproduction.figures.boolean import (
    bits_figure,
    difficulty_figure,
    metrics_figure,
    plot_sizes,
    success_figure,
    ten_bits_figure,
)
from creases_reproduction.linearity.boolean_success import Success


@pytest.fixture
def result():
    """All classes: networks of width w have 10 w successes of 100, but for 2x1 on classes below 100: none."""
    rows = [
        {"class": int(f), "width": w, "depth": d, "leak": leak, "trials": 100, "successes": 10 * w, "epochs": 1.0}
        for leak, w, d in product((0.0, 0.1), (2, 3, 10), (1, 2))
        for f in boolean.npn_classes(4).representatives
    ]
    table = pd.DataFrame(rows)
    table.loc[(table["class"] < 100) & (table["width"] == 2) & (table["depth"] == 1), "successes"] = 0
    return Success(table)


@pytest.fixture
def by_metrics():
    """One function of each kind for 5 and 6 bits, with half of 10 trainings a success."""
    kinds = product(("random", "xored", "parity"), (5, 6))
    rows = [{"kind": kind, "n": n, "function": 0, "width": 10, "depth": 2} for kind, n in kinds]
    numbers = {
        "trials": 10,
        "successes": 5,
        "right": 0.75,
        "epochs": 1.0,
        "degree": 5,
        "entropy": 2.5,
        "influence": 3.0,
    }
    return pd.DataFrame(rows).assign(**numbers)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_cells_are_percentages_and_tell_nearly_all_from_all():
    rates = pd.DataFrame([[0.0, 0.001, 0.5], [0.994, 0.999, 1.0]], index=[1, 2], columns=[2, 3, 4])
    outlined = rates > 0.9
    ax = plot_sizes(rates, outlined=outlined)
    assert texts(ax) == ["0", "<1", "50", "99", ">99", "100"]
    assert len(ax.patches) == 3
    assert [label.get_text() for label in ax.get_xticklabels()] == ["2", "3", "4"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "hidden layers")


def test_success_has_means_and_minima_of_both_bends(result, tmp_path):
    figure = success_figure(result)
    mean, least = figure.axes[:2]
    assert len(figure.axes) == 4
    assert texts(least)[0] == "0"
    assert 0 < int(texts(mean)[0]) < 20
    assert texts(mean)[1:] == texts(least)[1:] == ["30", "100", "20", "30", "100"]
    assert save_figure(figure, tmp_path / "sizes.png", dpi=40).stat().st_size


def test_metrics_have_a_dot_for_each_class_in_the_colour_of_its_width(result, tmp_path):
    figure = metrics_figure(result, leak=0.1)
    assert len(figure.axes) == 7
    for ax in figure.axes:
        two, three = (len(dots.get_offsets()) for dots in ax.collections)
        assert (two + three, three) == (222, int((boolean.npn_classes(4).representatives < 100).sum()))
    assert save_figure(figure, tmp_path / "metrics.png", dpi=40).stat().st_size


def test_parity_is_outlined_where_a_construction_exists():
    rows = product(("parity", "random"), (2, 4, 10), (1, 2, 4))
    table = pd.DataFrame(rows, columns=["kind", "width", "depth"]).assign(n=10, trials=4, successes=1)
    parity, random = ten_bits_figure(table).axes
    assert len(parity.patches) == 6  # 10x1, 4x2, 10x2, 2x4, 4x4 and 10x4: 10 <= w^l
    assert not random.patches
    assert set(texts(parity)) == {"25"}


def test_difficulty_counts_points(by_metrics):
    figure = difficulty_figure(by_metrics.query("n == 6"))
    for ax, x in zip(figure.axes, (5, 2.5, 3.0), strict=True):
        assert [dots.get_offsets().tolist() for dots in ax.collections] == [[[x, 48.0]]] * 3


def test_bits_show_means_by_kind(by_metrics):
    from creases_reproduction.linearity.boolean_ten_bits import means

    figure = bits_figure(means(by_metrics))
    rate, degree, _, _ = figure.axes
    assert [line.get_ydata().tolist() for line in rate.lines] == [[0.5, 0.5]] * 3
    assert degree.lines[0].get_ydata().tolist() == pytest.approx([1, 5 / 6])
