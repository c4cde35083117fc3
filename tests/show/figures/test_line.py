import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection

from creases.network._reading.arrays import from_arrays
from creases.regions._line.line import line
from creases.show import plot_line
from creases.show._style import class_color, new_figure, tint


@pytest.fixture
def tent():
    """f = relu(x) - 2 relu(x - 1) - 0.5 on the line: a tent with its tip at 1, positive from 0.5 to 1.5."""
    layers = [(np.ones((2, 1)), np.array([0.0, -1.0])), (np.array([[1.0, -2.0]]), np.array([-0.5]))]
    return from_arrays(layers)


@pytest.fixture
def ax():
    return new_figure()[1][0]


def curves(ax):
    return [curve for curve in ax.lines if curve.get_label().startswith("output")]


def test_the_curve_is_the_network(tent, ax):
    plot_line(line(tent, [-1.0], [3.0]), ax=ax)
    (curve,) = curves(ax)
    t, f = curve.get_data()
    np.testing.assert_allclose(t, [0, 0.25, 0.5, 1])
    np.testing.assert_allclose(f, tent(-1 + 4 * t[:, None]).ravel())


def test_breakpoints_are_marked(tent, ax):
    plot_line(line(tent, [-1.0], [3.0]), ax=ax)
    (marks,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    np.testing.assert_allclose([segment[0, 0] for segment in marks.get_segments()], [0.25, 0.5])


def test_classes_are_shaded(tent, ax):
    plot_line(line(tent, [-1.0], [3.0]), ax=ax)
    spans = [(patch.get_x(), patch.get_x() + patch.get_width(), patch.get_facecolor()[:3]) for patch in ax.patches]
    expected = [(0, 0.375, 0), (0.375, 0.625, 1), (0.625, 1, 0)]
    for (start, stop, color), (first, last, index) in zip(spans, expected, strict=True):
        assert (start, stop) == (pytest.approx(first), pytest.approx(last))
        np.testing.assert_allclose(color, tint(class_color(index), 0.15))


def test_a_whole_line_is_shown_beyond_its_breakpoints(tent, ax):
    plot_line(line(tent, [0.0], [1.0], infinite=True), ax=ax)
    assert ax.get_xlim() == (-0.25, 1.25)
    t, f = curves(ax)[0].get_data()
    np.testing.assert_allclose(t, [-0.25, 0, 1, 1.25])
    np.testing.assert_allclose(f, [-0.5, -0.5, 0.5, 0.25])


@pytest.mark.parametrize("infinite", [True, False])
def test_a_line_without_breakpoints_is_drawn(ax, infinite):
    net = from_arrays([(np.eye(2), np.zeros(2))])
    plot_line(line(net, [0.0, 1.0], [1.0, 0.0], infinite=infinite), ax=ax)
    assert len(curves(ax)) == 2
    assert len(ax.patches) == 2


def test_axes_are_labelled_and_outputs_named(ax):
    plot_line(line(from_arrays([(np.eye(2), np.zeros(2))]), [0.0, 1.0], [1.0, 0.0]), ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$t$", "output")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["output 0", "output 1"]


def test_the_partitions_own_method_draws_the_same(tent):
    ax = line(tent, [-1.0], [3.0]).plot()
    assert len(curves(ax)) == 1
    plt.close(ax.figure)
