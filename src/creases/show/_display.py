"""Plots of results by their kind: what ``result.plot()`` and notebooks call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from creases.growth import History
from creases.regions import Cell, LinePartition, PlanePartition, SpacePartition
from creases.show._figures._cell import plot_cell
from creases.show._figures._growth import plot_growth_curves
from creases.show._figures._line import plot_line
from creases.show._figures._plane import plot_plane
from creases.show._figures._space import plot_space
from creases.show.notebook._html import to_html

__all__ = ["plot", "to_html"]


def plot(result: Any, **options: Any) -> Any:
    """Plot a result by the function of its kind; return its axes, or the figure of a history."""
    return next(draw for kind, draw in _KINDS.items() if isinstance(result, kind))(result, **options)


def _plot_history(history: History, **options: Any) -> Any:
    return plot_growth_curves(history, kept_epoch=history.kept, score=history.measure, **options)[0].figure


_KINDS: dict[type, Callable[..., Any]] = {
    Cell: plot_cell,
    LinePartition: plot_line,
    PlanePartition: plot_plane,
    SpacePartition: plot_space,
    History: _plot_history,
}
