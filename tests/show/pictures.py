"""The pictures whose pixels are kept: small results, written down, each drawn by one function."""

import numpy as np
from matplotlib.axes import Axes

import creases
from creases import show
from creases.compare.differences import difference_on_plane
from creases.growth import History, Record
from creases.show._figures._growth import plot_growth_curves
from creases.splines import Shallow, Tracker

#: Two classes of two inputs, folded by five units.
FOLDS = creases.read(
    [
        ([[1.0, 0.4], [-0.7, 1.0], [0.2, -1.0], [-1.0, -0.6], [0.8, -0.8]], [0.1, -0.2, 0.3, -0.1, -0.4]),
        ([[1.0, -0.8, 0.6, -1.2, 0.9], [-0.9, 0.7, -0.4, 1.1, -1.3]], [0.1, 0.2]),
    ]
)
#: One output, two layers of bends.
DEEP = creases.read(
    [
        ([[1.0, 0.3], [-0.4, 1.0], [0.6, -0.9], [-1.0, 0.2]], [0.1, 0.3, -0.1, 0.2]),
        ([[1.0, -0.8, 0.5, 0.7], [-0.6, 1.0, -0.9, 0.4], [0.3, 0.8, 1.0, -1.0]], [-0.2, 0.1, -0.4]),
        ([[1.0, -1.3, 0.9]], [-0.1]),
    ]
)
RECORD = Record(
    number=3, action="grow", epoch=12, steps=120, place="layers.0", method="fold", units=[4], removed=[], width=(4, 5),
    parameters=(22, 27), predicted=0.1, before={"loss": 0.5, "score": 0.8}, after={"loss": 0.4, "score": 0.85},
    changed=3, weights={},
    explanation={"why": {"features": [0.35, -0.45]}, "where": {"space": "input", "fold_point": [0.55, 0.05]}},
)  # fmt: skip

_ANGLE = np.linspace(0, 2 * np.pi, 24, endpoint=False)
POINTS = np.concatenate([0.35 * np.c_[np.cos(_ANGLE), np.sin(_ANGLE)], 0.8 * np.c_[np.cos(_ANGLE), np.sin(_ANGLE)]])
LABELS = np.repeat([0, 1], 24)
SPLINE = Shallow([1.0, 1.0, -1.0], [0.0, -1.0, 0.5], [1.0, -2.0, 0.7])


def folds():
    return creases.plane(FOLDS)


def deep():
    return creases.plane(DEEP)


def history():
    epochs = [
        {"epoch": e, "loss": 0.7 / e, "score": 1 - 0.4 / e, "validation_loss": 0.75 / e,
         "validation_score": 1 - 0.5 / e, "parameters": 12 + 5 * (e // 6), "widths": {"0": 2 + e // 6}}
        for e in range(1, 19)
    ]  # fmt: skip
    return History(epochs=epochs, records=[RECORD])


def tracks():
    tracker = Tracker(np.linspace(-1, 2, 7))
    for w in np.linspace(1.0, -1.0, 9):
        tracker(Shallow([w, 1.0, 1.0], [0.3, -0.5 + w / 4, 0.4 * w], [1.0, -1.0, 0.5]))
    return tracker.history()


def images():
    grid = np.linspace(-1, 1, 64).reshape(8, 8)
    return show.plot_gradients({"a": [grid, -grid], "b": [grid.T, grid * grid.T]}, [grid.T, grid], (1, 8, 8))


def similarities():
    S = np.array([[1, 0.1, 0.9, 0.2], [0.1, 1, 0.2, 0.8], [0.9, 0.2, 1, 0.1], [0.2, 0.8, 0.1, 1]])
    return show.plot_similarity(S, ["one", "two", "three", "four"], accuracy=[0.9, 0.8, 0.95, 0.7])


def solids():
    net = creases.read([([[1.0, 0.5, 0.0], [0.0, 1.0, -1.0]], [0.0, 0.2]), ([[1.0, -1.0]], [0.1])])
    return show.plot_space(creases.space(net, [(-1, 1)] * 3))


def disagreement():
    shifted = creases.read([([[1.0, 0.0], [-1.0, 0.0]], [-0.5, 0.5])])
    return show.plot_disagreement(difference_on_plane(FOLDS, shifted, [(-1, 1), (-1, 1)]))


#: By name; each gives axes or a figure.
PICTURES = {
    "plane-class": lambda: show.plot_plane(folds(), color="class", X=POINTS, y=LABELS, record=RECORD),
    "plane-random": lambda: show.plot_plane(deep(), color="random"),
    "plane-regions": lambda: show.plot_plane(deep(), X=POINTS),
    "plane-value": lambda: show.plot_plane(deep(), color="value"),
    "surface": lambda: show.plot_surface(deep()),
    "dual-bias": lambda: show.plot_dual(deep()),
    "dual-class": lambda: show.plot_dual(folds(), color="class", X=POINTS[:6]),
    "network": lambda: show.plot_network(FOLDS, record=RECORD, features=["width", "height"], classes=["out", "in"]),
    "cell": lambda: show.plot_cell(creases.cell(FOLDS, [0.2, 0.1], box=[(-1, 1), (-1, 1)])),
    "line": lambda: show.plot_line(creases.line(FOLDS, [-1, -1], [1, 0.8])),
    "spline": lambda: show.plot_spline(SPLINE, data=(np.linspace(-1, 2, 7), np.linspace(-1, 2, 7) ** 2 / 4)),
    "tracks": lambda: show.plot_tracks(tracks(), window=(-2, 3)),
    "growth": lambda: plot_growth_curves(history())[0],
    "images": images,
    "similarity": similarities,
    "space": solids,
    "disagreement": disagreement,
}


def figure_of(drawn):
    return drawn.figure if isinstance(drawn, Axes) else drawn
