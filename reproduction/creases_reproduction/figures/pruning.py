"""Losses of sub-networks while they are fine-tuned (the dissertation, Fig. 3.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from creases import show

if TYPE_CHECKING:
    import pandas as pd


def plot_sub_networks(curves: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the losses of sub-networks while they are fine-tuned, coloured by width (Fig. 3.10); the right ones bold.

    Parameters
    ----------
    curves
        Columns ``width``, ``sub_network``, ``epoch``, ``loss`` and ``right``, such as
        :func:`creases_reproduction.linearity.pruning_parity.loss_curves` gives.
    """
    ax = show.get_axes(ax, 6.4, 4.0)
    with show.style_context():
        for i, (width, part) in enumerate(curves.groupby("width")):
            label: str | None = f"width {width}"
            for _, method in part.groupby("sub_network"):
                right = method["right"].iloc[-1] == 1
                ax.plot(
                    method["epoch"],
                    method["loss"],
                    color=show.class_color(i),
                    linewidth=1.8 if right else 0.5,
                    label=label,
                )
                label = None
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss")
        ax.legend(loc="upper right")
    return ax
