"""Every figure, and the parts that they are composed of."""

from creases.show.figures._cell import plot_cell
from creases.show.figures._compare import (
    plot_compression,
    plot_compression_table,
    plot_disagreement,
    plot_section,
    plot_similarity,
)
from creases.show.figures._dual import plot_dual
from creases.show.figures._effects import plot_effect, plot_importance
from creases.show.figures._growth import GrowthView, plot_growth, plot_growth_curves
from creases.show.figures._line import plot_line
from creases.show.figures._marks import mark_growth_step, mark_units
from creases.show.figures._network import plot_network
from creases.show.figures._pieces import plot_pieces
from creases.show.figures._plane import mark_points, plane_height, plot_plane
from creases.show.figures._polytope import plot_polytope
from creases.show.figures._pruning import plot_pruning
from creases.show.figures._safety_map import plot_safety_map
from creases.show.figures._sensitivity import (
    plot_active_directions,
    plot_along_direction,
    plot_gradients,
    plot_images,
    plot_spectra,
    signed_image,
)
from creases.show.figures._space import plot_space
from creases.show.figures._splines import plot_delta_slopes, plot_fit, plot_spline, plot_tracks
from creases.show.figures._surface import plot_surface
from creases.show.figures._sweeps import draw_cells, format_table, heatmap_cells, heatmap_size, plot_heatmap

__all__ = [
    "GrowthView",
    "draw_cells",
    "format_table",
    "heatmap_cells",
    "heatmap_size",
    "mark_growth_step",
    "mark_points",
    "mark_units",
    "plane_height",
    "plot_active_directions",
    "plot_along_direction",
    "plot_cell",
    "plot_compression",
    "plot_compression_table",
    "plot_delta_slopes",
    "plot_disagreement",
    "plot_dual",
    "plot_effect",
    "plot_fit",
    "plot_gradients",
    "plot_growth",
    "plot_growth_curves",
    "plot_heatmap",
    "plot_images",
    "plot_importance",
    "plot_line",
    "plot_network",
    "plot_pieces",
    "plot_plane",
    "plot_polytope",
    "plot_pruning",
    "plot_safety_map",
    "plot_section",
    "plot_similarity",
    "plot_space",
    "plot_spectra",
    "plot_spline",
    "plot_surface",
    "plot_tracks",
    "signed_image",
]
