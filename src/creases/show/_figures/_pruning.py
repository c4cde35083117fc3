"""Plots of pruning results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from creases.errors import InputError
from creases.show import _style as style

if TYPE_CHECKING:
    import pandas as pd

#: Approximate number of points annotated with their widths.
_ANNOTATED = 8


def plot_pruning(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Plot accuracy against the share of remaining weights, a curve for each pruning method.

    Parameters
    ----------
    table
        Columns ``method``, ``share``, ``accuracy`` and ``widths`` (text, annotated where it varies).
    ax
        Axes to draw on; new ones by default.
    """
    for name in ("method", "share", "accuracy", "widths"):
        if name not in table.columns:
            raise InputError("table", f"have a column {name!r}", ", ".join(map(str, table.columns)))
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
        ax.set_xlabel("fraction of weights remaining")
        ax.set_ylabel("accuracy")
        ax.legend(loc="lower right")
    return ax
