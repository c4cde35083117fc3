"""Pruning drawn: accuracy against what is left of a network, and losses of sub-networks while they are tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from creases.errors import InputError
from creases.show import style

if TYPE_CHECKING:
    import pandas as pd

#: Points that are annotated with the widths left, about.
_ANNOTATED = 8


def plot_pruning(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
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
    ax = style.get_axes(ax, 6.4, 4.0)
    with style.style_context():
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
