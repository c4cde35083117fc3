"""Plots of the effects and the importance of a table's columns."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from creases._schema import any_of, instance
from creases._text import format_number
from creases._validation import check_arguments, check_count, check_index
from creases.show import _style as style
from creases.tables import CategoryEffect, Importance, NumberEffect

#: Breakpoints of the mean that get a mark: those where it bends most.
MARKED = 12

#: A breakpoint gets a mark if the mean bends there by this share of the largest bend.
VISIBLE = 0.02


@check_arguments(effect=any_of(instance("NumberEffect"), instance("CategoryEffect")))
def plot_effect(
    effect: NumberEffect | CategoryEffect, *, output: int = 0, max_curves: int = 60, ax: Axes | None = None
) -> Axes:
    """Plot the effect of a column: the curves of single rows, and their mean with the points where it bends.

    Curves are shifted to the height of the mean at their left end, so that their shapes can be compared.

    Parameters
    ----------
    effect
        What :func:`creases.tables.effects` returns.
    output
        Number of the output to plot.
    max_curves
        Curves of single rows to draw, spread evenly over the rows.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> import creases
    >>> from creases import show, tables
    >>> net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])
    >>> effect = tables.effects(net, [[-1.0, 0.0], [3.0, -1.0]], "x0")
    >>> show.plot_effect(effect).get_xlabel()
    'x0'
    """
    output = check_index(output, len(effect.outputs), "output")
    check_count(max_curves, "max_curves", least=0)
    ax = style.get_axes(ax, 4.8, 3.4)
    with style.style_context():
        if isinstance(effect, NumberEffect):
            _draw_curves(ax, effect, output, max_curves)
        else:
            _draw_categories(ax, effect, output)
        ax.set_xlabel(effect.column)
        ax.set_ylabel(effect.outputs[output])
    return ax


def _draw_curves(ax: Axes, effect: NumberEffect, output: int, max_curves: int) -> None:
    n = len(effect.starts) - 1
    mean = effect.mean[:, output]
    rows = np.unique(np.linspace(0, n - 1, min(n, max_curves)).astype(int))
    curves = [effect.curve(int(row)) for row in rows]
    shapes = [np.column_stack([x, y[:, output] - y[0, output] + mean[0]]) for x, y in curves]
    ax.add_collection(LineCollection(shapes, colors=[style.active_theme().quiet], linewidths=0.5, alpha=0.35, zorder=1))
    ax.plot(effect.grid, mean, color=style.class_color(0), linewidth=2, zorder=3)
    bends = np.abs(effect.bends[:, output])
    order = np.argsort(-bends, kind="stable")[:MARKED]
    marked = order[bends[order] > VISIBLE * bends.max(initial=0)]
    ax.plot(effect.grid[marked + 1], mean[marked + 1], "o", color=style.class_color(0), markersize=4, zorder=4)
    inner = effect.grid[1:-1]
    ax.plot(inner, np.zeros(len(inner)), "|", color=style.active_theme().quiet, markersize=5, alpha=0.3,
            transform=ax.get_xaxis_transform(), clip_on=False, zorder=2)  # fmt: skip
    ax.autoscale_view()
    ax.margins(x=0)


def _draw_categories(ax: Axes, effect: CategoryEffect, output: int) -> None:
    heights, mean = effect.heights[:, :, output], effect.mean[:, output]
    places = np.arange(len(effect.categories))
    spread = heights - heights.mean(axis=1, keepdims=True) + mean.mean()
    low, high = np.quantile(spread, [0.1, 0.9], axis=0)
    ax.vlines(places, low, high, color=style.active_theme().quiet, linewidth=3, alpha=0.35)
    ax.plot(places, mean, "o", color=style.class_color(0), markersize=6)
    labels = [f"{name}\n{count} rows" for name, count in zip(effect.categories, effect.counts, strict=True)]
    ax.set_xticks(places, labels)
    ax.set_xlim(-0.5, len(places) - 0.5)


@check_arguments(importance=instance("Importance"))
def plot_importance(importance: Importance, *, max_columns: int = 12, ax: Axes | None = None) -> Axes:
    """Plot the importance of columns as bars, the largest on top.

    Parameters
    ----------
    importance
        What :func:`creases.tables.importance` returns.
    max_columns
        Columns to show.
    ax
        Axes to draw on; new ones by default.
    """
    count = min(check_count(max_columns, "max_columns"), len(importance.columns))
    ax = style.get_axes(ax, 4.8, 0.6 + 0.28 * count)
    with style.style_context():
        bars = ax.barh(np.arange(count), importance.values[:count], color=style.class_color(0), height=0.7)
        ax.bar_label(bars, [format_number(float(value)) for value in importance.values[:count]], padding=3, fontsize=7)
        ax.set_yticks(np.arange(count), importance.columns[:count])
        ax.invert_yaxis()
        ax.margins(x=0.12)
        unit = importance.outputs[0] if len(importance.outputs) == 1 else "class scores"
        ax.set_xlabel(f"importance, in {unit}")
    return ax
