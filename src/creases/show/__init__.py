"""Figures of results, in one style.

Functions with an ``ax`` parameter draw on it, or on new axes, and return the axes; the others return a whole figure.
Nothing is computed here that the result does not hold.
"""

from creases.show._save import save_figure
from creases.show.animation import animate_growth, animate_tracks, animate_training
from creases.show.figures import (
    GrowthView,
    plot_active_directions,
    plot_along_direction,
    plot_cell,
    plot_compression,
    plot_compression_table,
    plot_delta_slopes,
    plot_disagreement,
    plot_dual,
    plot_fit,
    plot_gradients,
    plot_growth,
    plot_growth_curves,
    plot_heatmap,
    plot_images,
    plot_line,
    plot_network,
    plot_plane,
    plot_polytope,
    plot_pruning,
    plot_section,
    plot_similarity,
    plot_space,
    plot_spectra,
    plot_spline,
    plot_surface,
    plot_tracks,
)
from creases.show.style import theme

__all__ = [
    "GrowthView",
    "animate_growth",
    "animate_tracks",
    "animate_training",
    "plot_active_directions",
    "plot_along_direction",
    "plot_cell",
    "plot_compression",
    "plot_compression_table",
    "plot_delta_slopes",
    "plot_disagreement",
    "plot_dual",
    "plot_fit",
    "plot_gradients",
    "plot_growth",
    "plot_growth_curves",
    "plot_heatmap",
    "plot_images",
    "plot_line",
    "plot_network",
    "plot_plane",
    "plot_polytope",
    "plot_pruning",
    "plot_section",
    "plot_similarity",
    "plot_space",
    "plot_spectra",
    "plot_spline",
    "plot_surface",
    "plot_tracks",
    "save_figure",
    "theme",
]
