"""Where gradient descent on XOR ends: how often at each loss, and with which functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from creases import show
from creases_reproduction.linearity import xor

if TYPE_CHECKING:
    from creases_reproduction.linearity.boolean_optima import Loss, Optima, Run

_NAMES = {"mean": "trained on the mean, rate 0.1", "sum": "trained on the sum, rate 0.1"}


def optima_figure(result: Optima, *, loss: Loss = "mean", functions: int = 60) -> Figure:
    """Return shares of the losses that networks end at, and below some of their functions for each loss.

    Parameters
    ----------
    result
        What :func:`creases_reproduction.linearity.boolean_optima.table_3_2` gives.
    loss
        Which networks' functions are drawn.
    functions
        At most so many for each loss.
    """
    with show.style_context():
        figure = Figure(figsize=(8, 6), layout="constrained")
        grid = figure.add_gridspec(2, 3, height_ratios=(1, 1.1))
        plot_loss_shares(result, show.apply_theme(figure.add_subplot(grid[0, :])))
        below = [show.apply_theme(figure.add_subplot(grid[1, k])) for k in range(3)]
    for level, ax in enumerate(below):
        plot_solutions(result.runs[loss], level, ax, functions=functions)
        ax.set_ylabel("$v(x)$" if level == 0 else "")
    return figure


def plot_loss_shares(result: Optima, ax: Axes | None = None) -> Axes:
    """Draw how often each loss of a steady state is where networks end, with 95 % intervals."""
    ax = show.get_axes(ax, 7, 3)
    frame = result.frequencies()
    width = 0.38
    for k, (loss, part) in enumerate(frame.groupby("trained on", sort=False)):
        at = np.arange(len(part)) + (k - 0.5) * width
        share = part["share"].to_numpy()
        error = np.abs(np.stack([part["low"], part["high"]]) - share)
        error_look: Any = {"elinewidth": 0.8, "capsize": 2, "ecolor": show.active_theme().ink}
        ax.bar(at, share, width, color=show.class_color(2 * k), label=_NAMES[loss], yerr=error, error_kw=error_look)
        for x, item, top in zip(at, share, part["high"], strict=True):
            look: Any = {"ha": "center", "fontsize": 8, "color": show.active_theme().ink}
            ax.annotate(f"{item:.3f}", (x, top), (0, 3), textcoords="offset points", **look)
    ax.set_xticks(range(len(xor.LOSSES)), [str(item) for item in xor.LOSSES])
    ax.set_xlabel("loss: sum of squared errors at $-1, 0, 0, 1$")
    ax.set_ylabel("share of networks")
    ax.margins(y=0.15)
    with show.style_context():
        ax.legend(loc="upper right")
    return ax


def plot_solutions(run: Run, level: int, ax: Axes | None = None, *, functions: int = 60) -> Axes:
    """Draw functions of networks that have ended at one loss, number ``level`` of ``xor.LOSSES``, over the targets."""
    ax = show.get_axes(ax, 3, 3)
    which = np.flatnonzero(run.ends.level == level)
    x = np.linspace(-2, 2, 401)
    values = run.networks[which[:functions]].outputs(x[:, None])[:, :, 0]
    lines = [np.column_stack([x, row]) for row in values]
    ax.add_collection(LineCollection(lines, colors=show.class_color(0), linewidths=0.7, alpha=0.35))
    ax.plot(xor.POINTS, xor.TARGETS, "o", color=show.class_color(1), markersize=6, zorder=3)
    ax.set_xlim(-2, 2)
    ax.set_ylim(-2.5, 2.5)
    ax.set_xlabel("$x$")
    with show.style_context():
        ax.set_title(f"loss {xor.LOSSES[level]}: {len(which):,} of {len(run.ends.level):,}")
    return ax
