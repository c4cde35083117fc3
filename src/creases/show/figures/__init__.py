"""Figures of results."""

from creases.show.figures._line import plot_line
from creases.show.figures._sweeps import draw_cells, heatmap_cells, heatmap_size, result_table

__all__ = [
    "draw_cells",
    "heatmap_cells",
    "heatmap_size",
    "plot_line",
    "result_table",
]
