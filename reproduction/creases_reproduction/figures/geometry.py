"""Figures of the dissertation's chapters 4 and 5: shells and what networks enclose, sine by width and depth."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from creases import line, read, show
from creases_reproduction.experiment import ResultTable

if TYPE_CHECKING:
    import pandas as pd

    from creases_reproduction.linearity.sine_sizes import SineNetworks


def _kind_colors() -> dict[str, str]:
    return {
        "hyperoctahedron": show.class_color(0),
        "between": show.class_color(2),
        "expanded simplex": show.class_color(1),
        "other": show.class_color(4),
        "unbounded": show.active_theme().quiet,
        "none": show.active_theme().missing,
    }


def plot_hyperparameters(result: ResultTable) -> Figure:
    """Return rates of success in every setting with 95 % intervals, beside the printed ones (Table 4.2)."""
    figure, (left, right) = show.new_figure(9, 4.6, panels=2)
    for ax, (loss, name) in zip(
        (left, right), (("bce", "binary cross-entropy"), ("mse", "squared error")), strict=True
    ):
        part = result.table[result.table["loss"] == loss].sort_values(["batch", "leak", "normalise"])
        y = np.arange(len(part))[::-1]
        _draw_rates(ax, part, y)
        labels = [
            f"{batch}, {leak:g}, {'yes' if normalise else 'no'}"
            for batch, leak, normalise in zip(part["batch"], part["leak"], part["normalise"], strict=True)
        ]
        with show.style_context():
            ax.set_yticks(y, labels)
            ax.set_title(name)
            ax.set_xlabel("networks that succeed (%)")
    left.set_ylabel("batch size, leak, normalised")
    with show.style_context():
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def plot_dimensions(result: ResultTable) -> Figure:
    """Return share of networks that reach each threshold, by dimension; ReLU left, leaky ReLU right (Fig. 4.8)."""
    table = result.table
    leaks = sorted(table["leak"].unique())
    figure, axes = show.new_figure(4.2 * len(leaks), 3.4, panels=len(leaks))
    thresholds = sorted(table["threshold"].unique())
    for ax, leak in zip(axes, leaks, strict=True):
        for k, threshold in enumerate(thresholds):
            part = table[(table["leak"] == leak) & (table["threshold"] == threshold)].sort_values("dimension")
            x = part["dimension"] + 0.06 * (k - (len(thresholds) - 1) / 2)
            _draw_interval(ax, x, part, color=show.class_color(k), marker="osD^"[k % 4], label=f"{100 * threshold:g} %")
        with show.style_context():
            ax.set_title("ReLU" if leak == 0 else f"leaky ReLU, {leak:g}")
        ax.set_xlabel("dimension")
        ax.set_xticks(sorted(table["dimension"].unique()))
        ax.set_ylim(-3, 103)
        ax.set_ylabel("networks (%)")
    with show.style_context():
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside right center", title="right at least", title_fontsize=8)
    return figure


def plot_orthogonality(result: ResultTable) -> Figure:
    """Return mean and largest magnitude of cosines between n random vectors in n dimensions (Fig. 4.7)."""
    figure, (ax,) = show.new_figure(5, 3.4)
    table = result.table
    for k, name in enumerate(("largest", "mean")):
        color = show.class_color(k)
        ax.plot(table["n"], table[name], color=color, linewidth=1.4, label=name)
        ax.fill_between(table["n"], table[f"{name}_low"], table[f"{name}_high"], color=color, alpha=0.25, linewidth=0)
    ax.plot(
        table["n"],
        table["formula"],
        color=show.active_theme().ink,
        linewidth=0.8,
        linestyle=(0, (4, 3)),
        label="expected mean",
    )
    ax.set_xlabel("dimension $n$ and number of vectors")
    ax.set_ylabel("magnitude of the cosine")
    ax.set_ylim(0, 1)
    with show.style_context():
        ax.legend()
    return figure


def plot_kinds(result: ResultTable) -> Figure:
    """Return what trained networks of n + 1 units enclose, by dimension and leak."""
    figure, (ax,) = show.new_figure(6.4, 3.4)
    bars = list(result.table.groupby(["dimension", "leak"], sort=True))
    colors = _kind_colors()
    for x, (_, part) in enumerate(bars):
        below = 0.0
        for kind, rate in zip(part["kind"], part["rate"], strict=True):
            ax.bar(x, 100 * rate, 0.62, bottom=below, color=colors[kind], label=kind if x == 0 else None)
            if rate >= 0.06:
                color = show.readable_color(colors[kind])
                ax.text(x, below + 50 * rate, f"{100 * rate:.0f}", ha="center", va="center", color=color, fontsize=8)
            below += 100 * rate
    names = [f"$n$ = {n}\n{'ReLU' if leak == 0 else f'leak {leak:g}'}" for (n, leak), _ in bars]
    ax.set_xticks(range(len(bars)), names)
    ax.set_ylabel("networks (%)")
    with show.style_context():
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def plot_sine(result: ResultTable) -> Figure:
    """Return rates of success by width and depth, and the printed number of starts until the first (Table 5.1)."""
    table = result.table
    rates = table.pivot(index="width", columns="depth", values="rate")
    printed = table.pivot(index="width", columns="depth", values="printed").to_numpy()
    agrees = table.pivot(index="width", columns="depth", values="agrees").to_numpy()
    figure, (ax,) = show.new_figure(7.2, 4.6)
    ax.imshow(rates, cmap=show.amount_colormap(), vmin=0, vmax=1, aspect="auto")
    for (row, column), rate in np.ndenumerate(rates.to_numpy()):
        color = show.active_theme().paper if rate > 0.65 else show.active_theme().ink
        number = f"{100 * rate:.3g}" if rate else "0"
        ax.text(column, row - 0.16, number, ha="center", va="center", color=color, fontsize=8)
        count = f"{printed[row, column]}" if printed[row, column] else ">1000"
        weight = "normal" if agrees[row, column] else "bold"
        ax.text(column, row + 0.22, f"({count})", ha="center", va="center", color=color, fontsize=6.5, weight=weight)
    ax.set_xticks(range(rates.shape[1]), [str(depth) for depth in rates.columns])
    ax.set_yticks(range(rates.shape[0]), [str(width) for width in rates.index])
    ax.set_xlabel("hidden layers")
    ax.set_ylabel("width")
    with show.style_context():
        ax.set_title("starts that succeed (%), and printed starts until the first (bold: not within 95 %)")
    return figure


def plot_sine_networks(found: SineNetworks, *, coefficients: bool = False) -> Figure:
    """Return sine by networks of each size with their errors, or the coefficients of their pieces (Fig. 5.5)."""
    widths, depths = (sorted(found.table[name].unique()) for name in ("width", "depth"))
    rows, columns = len(widths), len(depths)
    figure, _ = show.new_grid(1 + 1.7 * columns, 0.8 + 1.35 * rows, rows, columns, sharex=True, sharey=True)
    for row, width in enumerate(widths):
        for column, depth in enumerate(depths):
            ax = figure.axes[row * len(depths) + column]
            model = found.models.get((int(width), int(depth)))
            if model is not None:
                partition = line(read(model, (1,)), [-pi], [pi])
                part = found.table.query("width == @width and depth == @depth").iloc[0]
                (_draw_coefficients if coefficients else _draw_sine)(ax, partition)
                note = f"{int(part['regions'])} regions" if coefficients else f"MSE {part['mse']:.2g}"
                ax.text(0.04, 0.95, note, transform=ax.transAxes, va="top", fontsize=7, color=show.active_theme().ink)
            if row == 0:
                ax.set_title(f"{depth} hidden", fontsize=9, color=show.active_theme().ink)
            if column == 0:
                ax.set_ylabel(f"width {width}\n" + ("constant" if coefficients else "$f(x)$"))
            if row == len(widths) - 1:
                ax.set_xlabel("slope" if coefficients else "$x$")
    return figure


def _draw_rates(ax: Axes, own: pd.DataFrame, y: NDArray[Any]) -> None:
    """Return rates in percent with their intervals, and printed ones, one below the other."""
    color = show.class_color(0)
    ax.hlines(y, 100 * own["low"], 100 * own["high"], colors=color, linewidth=1.2)
    ax.plot(100 * own["rate"], y, "o", color=color, markersize=4, label="here, with 95 % interval")
    ax.plot(own["printed"], y, "x", color=show.class_color(1), markersize=5, label="printed")
    ax.set_xlim(-2, 102)


def _draw_interval(ax: Axes, x: Any, own: pd.DataFrame, *, color: str, marker: str, label: str) -> None:
    ax.vlines(x, 100 * own["low"], 100 * own["high"], colors=color, linewidth=0.8, alpha=0.6)
    ax.plot(x, 100 * own["rate"], color=color, marker=marker, markersize=4, linewidth=1.2, label=label)


def _draw_sine(ax: Axes, line: Any) -> None:
    x = np.linspace(-pi, pi, 200)
    ax.plot(x, np.sin(x), color=show.active_theme().quiet, linewidth=1.0)
    ends = np.concatenate([[0.0], line.breakpoints, [1.0]])
    at = -pi + 2 * pi * ends
    values = line.net(at[:, None])[:, 0]
    ax.plot(at, values, color=show.class_color(0), linewidth=1.2, marker="o", markersize=1.8)
    ax.set_xlim(-pi, pi)
    ax.set_ylim(-1.5, 1.8)


def _draw_coefficients(ax: Axes, line: Any) -> None:
    """Return slope and constant of each piece, over those of sine's tangents."""
    x = np.linspace(-pi, pi, 400)
    ax.plot(np.cos(x), np.sin(x) - x * np.cos(x), color=show.active_theme().quiet, linewidth=1.0)
    middle = (np.concatenate([[0.0], line.breakpoints]) + np.concatenate([line.breakpoints, [1.0]])) / 2
    piece = line.net.piece((-pi + 2 * pi * middle)[:, None])
    ax.plot(np.asarray(piece.J)[:, 0, 0], np.asarray(piece.y)[:, 0], "o", color=show.class_color(0), markersize=2.5)
    ax.set_xlim(-2, 2)
    ax.set_ylim(-4.5, 4.5)
