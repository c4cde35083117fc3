""""""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from creases.errors import InputError
from creases.network._reading.arrays import from_arrays
from creases.regions._line.line import line
from creases.show import plot_line, save_figure
from creases.show._figures._line import plot_pieces, plot_spline, plot_tracks
from creases.show._style import class_color, new_figure, tint
from creases.splines import OptimalFit, Shallow, Tracker
from creases.splines._spline import Pieces


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


DATA = (np.linspace(-1, 2, 7), np.linspace(-1, 2, 7) ** 2)


@pytest.fixture
def net():
    """relu(x) - 2 relu(x - 1), and a unit that the output does not see."""
    return Shallow([1.0, 1.0, 1.0], [0.0, -1.0, 0.5], [1.0, -2.0, 0.0])


@pytest.fixture
def history():
    tracker = Tracker(DATA[0])
    for w in (1.0, 0.5, 0.0, -0.5, -1.0):
        tracker(Shallow([w, 1.0], [0.3, -0.5 + w / 10], [1.0, -1.0]))
    return tracker.history()


def curve(ax, label):
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return found.get_data()


def test_the_spline_is_the_network(net):
    ax, *_ = plot_spline(net, data=DATA, target=np.square).axes
    x, f = curve(ax, "network")
    np.testing.assert_allclose(f, net(x))
    np.testing.assert_allclose(x[1:-1], [-0.5, 0, 1])
    np.testing.assert_allclose(curve(ax, "data"), DATA)
    t, y = curve(ax, "target")
    np.testing.assert_allclose(y, t**2)
    assert ax.get_ylabel() == "$f(x)$"


def test_breakpoints_that_the_output_does_not_see_are_dotted(net):
    ax, _ = plot_spline(net, window=(-2, 2)).axes
    seen, unseen = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert sorted(segment[0, 0] for segment in seen.get_segments()) == [0, 1]
    assert [segment[0, 0] for segment in unseen.get_segments()] == [-0.5]


def test_delta_slopes_stand_at_their_breakpoints(net):
    _, ax = plot_spline(net, window=(-0.2, 2)).axes
    points = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(points, [[0, 1], [1, -2]])


def test_tracks_run_through_the_frames_and_births_and_deaths_are_marked(history, ax):
    plot_tracks(history, ax=ax, window=(-10, 10))
    lines = ax.collections[-1].get_segments()
    assert sum(len(line) for line in lines) == len(history.x)
    born, dead = ([e.x for e in history.events if e.kind == kind] for kind in ("birth", "death"))
    assert sorted(curve(ax, "births")[0]) == sorted(x for x in born if abs(x) < 10)
    assert sorted(curve(ax, "deaths")[0]) == sorted(x for x in dead if abs(x) < 10)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$", "step")


def test_predicted_motion_is_drawn_as_tangents_where_it_was_predicted(history, ax):
    last = int(history.steps[-1])
    plot_tracks(history, ax=ax, window=(-10, 10), predicted=[(1, np.array([0.5, 1.0]), np.array([0.1, np.nan]))])
    (tangent,) = ax.collections[-1].get_segments()
    np.testing.assert_allclose(tangent.mean(axis=0), [0.5, 1])
    np.testing.assert_allclose(np.diff(tangent, axis=0)[0], [0.1 * last / 12.5, last / 12.5])


def test_the_figure_has_fit_delta_slopes_and_errors(net, tmp_path):
    figure = plot_spline(net, data=DATA, target=np.square, optimum=lambda x: 0 * x)
    top, _, errors = figure.axes
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["target", "data", "network", "best fit"]
    x, e = errors.lines[1].get_data()
    np.testing.assert_allclose(e, net(x) - x**2)
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "$x$"]
    named = plot_spline(net, names=("hour", "load")).axes
    assert (len(named), named[0].get_ylabel(), named[-1].get_xlabel()) == (2, "load", "hour")
    assert save_figure(figure, tmp_path / "fit.png").stat().st_size > 10_000


def test_a_function_without_breakpoints_is_drawn():
    ax, changes = plot_spline(Shallow([], [], [], 1.0, 2.0)).axes
    np.testing.assert_allclose(curve(ax, "network"), [[-1.1, 1.1], [-1.2, 3.2]])
    assert not len(changes.collections[-1].get_offsets())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: plot_tracks(h, window=(1, 0)), "window must be two finite numbers"),
        (lambda h: plot_spline(Shallow([1.0], [0.0], [1.0]), data=([1.0], [])), "y must have one target per input"),
    ],
)
def test_wrong_arguments_are_named(history, call, message):
    with pytest.raises(InputError, match=message):
        call(history)


def test_errors_are_at_the_data_where_no_target_is_known(net):
    figure = plot_spline(net, data=DATA, optimum=lambda x: 0 * x)
    points = [line for line in figure.axes[2].lines if len(line.get_xdata()) == len(DATA[0])]
    np.testing.assert_allclose(points[0].get_ydata(), net(DATA[0]) - DATA[1])
    np.testing.assert_allclose(points[1].get_ydata(), -np.asarray(DATA[1]))


# Plots of piecewise-linear fits.


X = np.array([0.0, 4.0])


def draw(fit, **options):
    ax = Figure().subplots()
    plot_pieces(fit, ax=ax, **options)
    return ax, [segment[0, 0] for segment in ax.collections[0].get_segments()], ax.lines[-1].get_xydata()


def test_pieces_are_drawn_between_knots():
    fit = OptimalFit(Pieces([1.0, 3.0], [1.0, 0.0, -1.0], [0.0, 1.0, 1.0]), 0.0, None, 0.0, True)
    ax, knots, corners = draw(fit, data=(X, X), window=(0, 4), names=("hour", "load"))
    assert knots == [1, 3]
    np.testing.assert_allclose(corners, [[0, 0], [1, 1], [3, 1], [4, 0]])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xlim()) == ("hour", "load", (0, 4))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["data", "best fit"]


def test_a_line_without_knots_is_drawn():
    _, knots, corners = draw(OptimalFit(Pieces([], [2.0], [1.0]), 0.0, None, 0.0, True))
    assert knots == []
    np.testing.assert_allclose(corners, [[-1, -1], [1, 3]])


def test_a_short_piece_far_away_is_drawn_with_its_own_slope():
    fit = OptimalFit(Pieces.through([1e9, 1e9 + 3e-6], [0.0, 1.0], 0.0, 0.0), 0.0, None, 0.0, True)
    _, _, corners = draw(fit, window=(1e9 - 1e-5, 1e9 + 1e-5))
    np.testing.assert_allclose(np.diff(corners[:, 1]), [0, 1, 0], atol=1e-6)
