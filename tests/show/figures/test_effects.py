"""Effects are drawn where they are, with marks where the mean bends."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

import creases
from creases.errors import InputError
from creases.show import plot_effect, plot_importance
from creases.tables import effects, importance
from table_networks import NAMES, random_net, table_rows


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_the_mean_is_drawn_with_its_bends(ax):
    net = creases.read([([[1.0, 0.0], [1.0, 0.0]], [-1.0, 1.0]), ([[1.0, 2.0]], [0.0])])  # bends at 1 and at -1
    effect = effects(net, np.array([[-3.0, 0.0], [0.0, 1.0], [3.0, 2.0]]), "x0")
    plot_effect(effect, ax=ax)
    mean, marks = ax.lines[:2]
    np.testing.assert_allclose(mean.get_xdata(), [-3, -1, 1, 3])
    np.testing.assert_allclose(mean.get_ydata(), [0, 0, 4, 10], atol=1e-12)
    assert sorted(marks.get_xdata()) == pytest.approx([-1, 1])
    assert len(ax.collections[0].get_segments()) == 3
    with pytest.raises(InputError, match="output must be an integer from 0 to 0"):
        plot_effect(effect, output=1, ax=ax)


def test_categories_have_a_point_each(ax):
    effect = effects(random_net((5, 4, 3)), table_rows(30), "color", names=NAMES, classes=["a", "b", "c"])
    plot_effect(effect, output=2, ax=ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), effect.mean[:, 2])
    assert ax.get_xticklabels()[0].get_text().startswith("red\n")
    assert ax.get_ylabel() == "score of c"


def test_importance_has_the_largest_bar_on_top(ax):
    result = importance(random_net((5, 4, 1)), table_rows(30), names=NAMES)
    plot_importance(result, max_columns=2, ax=ax)
    assert [bar.get_width() for bar in ax.patches] == result.values[:2].tolist()
    assert ax.yaxis_inverted()
