"""A plot of a piecewise-linear fit over its data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from creases.show import _style as style
from creases.show._figures._splines import Window, draw_targets, pad_interval
from creases.splines import OptimalFit


def plot_pieces(
    fit: OptimalFit,
    *,
    ax: Axes | None = None,
    data: tuple[Any, Any] | None = None,
    target: Any = None,
    window: Window | None = None,
    names: tuple[str, str] = ("$x$", "$f(x)$"),
) -> Axes:
    """Plot the best piecewise-linear fit with its knots, over its data.

    Parameters
    ----------
    fit
        A result of :func:`creases.splines.optimal_fit`.
    ax
        Axes to draw on; new ones by default.
    data, target
        As in :func:`plot_fit`.
    window
        Interval of inputs to show; by default that of the data, or of the knots.
    names
        Names of the input and the output.
    """
    ax = style.get_axes(ax, 7, 4)
    x = np.asarray(fit.knots if data is None else data[0], np.float64)
    low, high = window or (pad_interval(float(x.min()), float(x.max())) if len(x) else (-1.0, 1.0))
    draw_targets(ax, data, target, low, high)
    knots = fit.knots
    if fit.period is not None:
        turns = np.arange(np.floor((low - knots[0]) / fit.period), np.ceil((high - knots[0]) / fit.period) + 1)
        knots = (knots + turns[:, None] * fit.period).ravel()
    knots = knots[(knots > low) & (knots < high)]
    ends = np.concatenate([[low], knots, [high]])
    middles = (ends[1:] + ends[:-1]) / 2
    at = middles if fit.period is None else fit.knots[0] + (middles - fit.knots[0]) % fit.period
    slopes = fit.pieces.slopes[np.searchsorted(fit.knots, at)]
    segments = [
        [(a, value - slope * (middle - a)), (b, value + slope * (b - middle))]
        for a, b, middle, value, slope in zip(ends[:-1], ends[1:], middles, fit(middles), slopes, strict=True)
    ]
    ax.vlines(
        knots, 0, 1, colors=style.active_theme().quiet, linewidth=0.6, transform=ax.get_xaxis_transform(), zorder=1
    )
    ax.add_collection(LineCollection(segments, colors=style.class_color(0), linewidths=1.6, zorder=4, label="best fit"))
    ax.autoscale_view(scalex=False)
    ax.set_xlim(low, high)
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    with style.style_context():
        ax.legend(loc="best")
    return ax
