"""Pruning drawn: accuracy against what is left of a network, and losses of sub-networks while they are tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from creases.errors import InputError
from creases.show import _style as style

if TYPE_CHECKING:
    import pandas as pd

#: Points that are annotated with the widths left, about.
_ANNOTATED = 8


def plot_pruning(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw accuracy against the share of weights left, a curve for each way of pruning (Figs. 3.11 and 3.12).

    Parameters
    ----------
    table
        Columns ``method``, ``share``, ``accuracy`` and ``widths`` (text; those of channels are annotated), such as
        :func:`creases_reproduction.linearity.pruning_images.pruned_images` gives for one data set.
    """
    for name in ("method", "share", "accuracy", "widths"):
        if name not in table.columns:
            raise InputError(f"table: there is no column {name!r}; it has {', '.join(map(str, table.columns))}")
    ax = style.own_axes(ax, 6.4, 4.0)
    with style.styled():
        for i, (method, part) in enumerate(table.groupby("method", sort=False)):
            part = part.sort_values("share")
            color = style.class_color(i)
            ax.plot(part["share"], part["accuracy"], marker="o", markersize=2.5, linewidth=1, color=color, label=method)
            if part["widths"].nunique() > 1:
                for _, row in part.iloc[:: max(1, len(part) // _ANNOTATED)].iterrows():
                    ax.annotate(row["widths"], (row["share"], row["accuracy"]), (0, -10), textcoords="offset points",
                                fontsize=6, ha="center", color=color)  # fmt: skip
        ax.set_xlabel("share of the weights that is left")
        ax.set_ylabel("accuracy")
        ax.legend(loc="lower right")
    return ax


def plot_sub_networks(curves: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the losses of sub-networks while they are fine-tuned, coloured by width (Fig. 3.10); the right ones bold.

    Parameters
    ----------
    curves
        Columns ``width``, ``sub_network``, ``epoch``, ``loss`` and ``right``, such as
        :func:`creases_reproduction.linearity.pruning_parity.loss_curves` gives.
    """
    ax = style.own_axes(ax, 6.4, 4.0)
    with style.styled():
        for i, (width, part) in enumerate(curves.groupby("width")):
            label: str | None = f"width {width}"
            for _, one in part.groupby("sub_network"):
                right = one["right"].iloc[-1] == 1
                ax.plot(
                    one["epoch"], one["loss"], color=style.class_color(i), linewidth=1.8 if right else 0.5, label=label
                )
                label = None
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss")
        ax.legend(loc="upper right")
    return ax
