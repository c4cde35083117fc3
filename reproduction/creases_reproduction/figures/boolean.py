"""Boolean functions and the networks that learn them, drawn: Fig. 3.5 to 3.9 of the dissertation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from creases import show

if TYPE_CHECKING:
    import pandas as pd

    from creases_reproduction.linearity.boolean_success import Success

_LABELS = {
    "swaps": "swaps",
    "degree": "degree",
    "influence": "influence",
    "entropy": "entropy",
    "2x2": "2x2 (%)",
    "3x1": "3x1 (%)",
    "mean": "all sizes (%)",
}


def _kinds() -> dict[str, dict[str, Any]]:
    """Return how each kind of function is marked."""
    return {
        "random": {"color": show.class_color(0), "marker": "o"},
        "xored": {"color": show.class_color(1), "marker": "s"},
        "parity": {"color": show.active_theme().ink, "marker": "D"},
    }


def plot_sizes(rates: pd.DataFrame, ax: Axes | None = None, *, outlined: pd.DataFrame | None = None) -> Axes:
    """Draw rates of success by size, in percent.

    Parameters
    ----------
    rates
        Rates in [0, 1]: a row for each depth, a column for each width.
    ax
        Axes to draw on; new ones unless given.
    outlined
        Whether each size has an outline, laid out as the rates.
    """
    ax = show.get_axes(ax, 5, 3.2)
    percent = 100 * rates.to_numpy(np.float64)  # (depths, widths)
    ax.imshow(percent, cmap=show.amount_colormap(), vmin=0, vmax=100, origin="lower", aspect="auto")
    for (row, column), value in np.ndenumerate(percent):
        color = show.active_theme().paper if value > 65 else show.active_theme().ink
        ax.text(column, row, _format_percent(value), ha="center", va="center", color=color, fontsize=8)
        if outlined is not None and outlined.iat[row, column]:
            corner = (column - 0.46, row - 0.46)
            ax.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, edgecolor=show.class_color(1), linewidth=1.4))
    ax.set_xticks(range(percent.shape[1]), [str(width) for width in rates.columns])
    ax.set_yticks(range(percent.shape[0]), [str(depth) for depth in rates.index])
    ax.set_xlabel("width")
    ax.set_ylabel("hidden layers")
    return ax


def success_figure(result: Success, *, leaks: tuple[float, ...] = (0.0, 0.1)) -> Figure:
    """Return mean and lowest successes over the classes for each size of network, by leak (Fig. 3.5)."""
    rows = len(leaks)
    figure, axes = show.new_grid(9, 3.1 * rows, rows, 2)
    with show.style_context():
        for k, leak in enumerate(leaks):
            for column, (how, what) in enumerate((("mean", "mean over the classes"), ("min", "hardest class"))):
                plot_sizes(result.sizes(leak, how), axes[k][column])  # type: ignore[arg-type]
                axes[k][column].set_title(f"{_bend(leak)}: successes (%), {what}")
    return figure


def metrics_figure(result: Success, *, leak: float = 0.1) -> Figure:
    """Return metrics and rates of every class, the easiest first.

    Colours are the least width that ever succeeded (Fig. 3.6).

    The width is that of networks with one hidden layer.
    """
    table = result.performance(leak)
    figure, grid = show.new_grid(8, 9.5, len(_LABELS), 1, sharex=True)
    place = np.arange(len(table))
    widths = sorted(table["width"].dropna().unique())
    with show.style_context():
        for (name, label), (ax,) in zip(_LABELS.items(), grid, strict=True):
            value = table[name] * (100 if "%" in label else 1)
            for k, width in enumerate(widths):
                part = (table["width"] == width).to_numpy()
                ax.scatter(place[part], value[part], s=9, color=show.class_color(k), label=f"{width:g}", linewidths=0)
            ax.set_ylabel(label)
            ax.margins(x=0.01, y=0.12)
        grid[0][0].set_title(f"{_bend(leak)}, {len(table)} classes of functions of four bits")
        grid[0][0].legend(
            title="least width of one layer",
            title_fontsize=8,
            ncols=len(widths),
            loc="lower right",
            columnspacing=0.8,
            handletextpad=0.1,
        )
        grid[-1][0].set_xlabel("class, the easiest first")
    return figure


def ten_bits_figure(table: pd.DataFrame, *, n: int = 10) -> Figure:
    """Return rates of success on n-parity and on random functions by size (Fig. 3.7).

    Sizes with an outline have a network for n-parity by the constructions. ``table`` is what
    :func:`creases_reproduction.linearity.boolean_ten_bits.by_size` gives.
    """
    from creases_reproduction.linearity.boolean_ten_bits import grid, has_parity_network

    figure, axes = show.new_figure(9, 3.2, panels=2)
    with show.style_context():
        for ax, kind, title in zip(axes, ("parity", "random"), (f"{n}-parity", f"random, {n} bits"), strict=True):
            rates = grid(table, kind)
            plot_sizes(rates, ax, outlined=has_parity_network(rates, n) if kind == "parity" else None)
            ax.set_title(f"{title}: successes (%)")
    return figure


def difficulty_figure(table: pd.DataFrame) -> Figure:
    """Return points that networks have right against each metric, a dot for each function (Fig. 3.8).

    ``table`` is what :func:`creases_reproduction.linearity.boolean_ten_bits.by_metrics` gives, of one number of bits.
    """
    n = int(table["n"].iloc[0])
    figure, axes = show.new_figure(9, 3.4, panels=3)
    with show.style_context():
        for ax, metric in zip(axes, ("degree", "entropy", "influence"), strict=True):
            for kind, mark in _kinds().items():
                part = table[table["kind"] == kind]
                ax.scatter(part[metric], part["right"] * 2**n, s=22 if kind == "parity" else 10, label=kind, **mark)
            ax.set_xlabel(f"Fourier {metric}" if metric != "influence" else metric)
        axes[0].set_ylabel(f"points right, of {2**n}")
        axes[0].legend()
    return figure


def bits_figure(means: pd.DataFrame) -> Figure:
    """Return mean rate of success, degree, entropy and influence by the number of bits.

    Metrics divided by it (Fig. 3.9).

    ``means`` is what :func:`creases_reproduction.linearity.boolean_ten_bits.means` gives.
    """
    labels = {"rate": "rate of success", "degree": "degree / n", "entropy": "entropy / n", "influence": "influence / n"}
    figure, axes = show.new_figure(11, 3, panels=4)
    with show.style_context():
        for ax, (name, label) in zip(axes, labels.items(), strict=True):
            for kind, mark in _kinds().items():
                part = means[means["kind"] == kind]
                ax.plot(part["n"], part[name], color=mark["color"], marker=mark["marker"], markersize=4, label=kind)
                if name == "rate":
                    ax.fill_between(part["n"], part["low"], part["high"], color=mark["color"], alpha=0.2, linewidth=0)
            ax.set_xlabel("bits $n$")
            ax.set_ylabel(label)
            ax.set_ylim(-0.04, 1.04)
        axes[0].legend()
    return figure


def _bend(leak: float) -> str:
    return f"leaky ReLU ({leak:g})" if leak else "ReLU"


def _format_percent(percent: float) -> str:
    """Return a percentage in whole numbers that tells 0 and 100 from nearly so."""
    if 0 < percent < 0.5:
        return "<1"
    return ">99" if 99.5 <= percent < 100 else f"{percent:.0f}"
