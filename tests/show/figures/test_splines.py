import numpy as np
import pytest
from matplotlib.collections import LineCollection

from creases.errors import InputError
from creases.show import save_figure
from creases.show._figures._splines import plot_delta_slopes, plot_fit, plot_spline, plot_tracks
from creases.show._style import new_figure
from creases.splines import Shallow, Tracker

DATA = (np.linspace(-1, 2, 7), np.linspace(-1, 2, 7) ** 2)


@pytest.fixture
def net():
    """relu(x) - 2 relu(x - 1), and a unit that the output does not see."""
    return Shallow([1.0, 1.0, 1.0], [0.0, -1.0, 0.5], [1.0, -2.0, 0.0])


@pytest.fixture
def ax():
    return new_figure()[1][0]


@pytest.fixture
def history():
    tracker = Tracker(DATA[0])
    for w in (1.0, 0.5, 0.0, -0.5, -1.0):
        tracker(Shallow([w, 1.0], [0.3, -0.5 + w / 10], [1.0, -1.0]))
    return tracker.history()


def curve(ax, label):
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return found.get_data()


def test_the_curve_is_the_network(net, ax):
    plot_fit(net, ax=ax, data=DATA, target=np.square)
    x, f = curve(ax, "network")
    np.testing.assert_allclose(f, net(x))
    np.testing.assert_allclose(x[1:-1], [-0.5, 0, 1])
    np.testing.assert_allclose(curve(ax, "data"), DATA)
    t, y = curve(ax, "target")
    np.testing.assert_allclose(y, t**2)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$", "$f(x)$")


def test_breakpoints_that_the_output_does_not_see_are_dotted(net, ax):
    plot_fit(net, ax=ax, window=(-2, 2))
    seen, unseen = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert sorted(segment[0, 0] for segment in seen.get_segments()) == [0, 1]
    assert [segment[0, 0] for segment in unseen.get_segments()] == [-0.5]


def test_delta_slopes_stand_at_their_breakpoints(net, ax):
    plot_delta_slopes(net, ax=ax, window=(-0.2, 2))
    points = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(points, [[0, 1], [1, -2]])


def test_tracks_run_through_the_frames_and_births_and_deaths_are_marked(history, ax):
    plot_tracks(history, ax=ax, window=(-10, 10))
    lines = ax.collections[-1].get_segments()
    assert sum(len(line) for line in lines) == len(history.x)
    born, dead = ([e.x for e in history.events() if e.kind == kind] for kind in ("birth", "death"))
    assert sorted(curve(ax, "births")[0]) == sorted(x for x in born if abs(x) < 10)
    assert sorted(curve(ax, "deaths")[0]) == sorted(x for x in dead if abs(x) < 10)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x$", "step")


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


def test_a_function_without_breakpoints_is_drawn(ax):
    plot_fit(Shallow([], [], [], 1.0, 2.0), ax=ax)
    np.testing.assert_allclose(curve(ax, "network"), [[-1.1, 1.1], [-1.2, 3.2]])
    plot_delta_slopes(Shallow([], [], [], 1.0, 2.0), ax=ax)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda h: plot_tracks(h, window=(1, 0)), "window must be two finite numbers"),
        (lambda h: plot_fit(Shallow([1.0], [0.0], [1.0]), data=([1.0], [])), "y must have one target per input"),
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
