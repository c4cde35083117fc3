"""Pictures: results drawn in one restrained style; nothing is computed here that a result does not hold."""

from creases.show._save import save_figure
from creases.show._style import new_figure, styled
from creases.show._themes import theme
from creases.show.animation._animation import animate_growth, animate_training
from creases.show.figures._cell import plot_cell
from creases.show.figures._compare import (
    plot_compression,
    plot_compression_table,
    plot_disagreement,
    plot_similarity,
    section_figure,
)
from creases.show.figures._dual import plot_dual
from creases.show.figures._geometry import plot_polytope
from creases.show.figures._growth import View, growth_figure, plot_growth
from creases.show.figures._line import plot_line
from creases.show.figures._marks import mark_record, mark_units
from creases.show.figures._network import plot_network
from creases.show.figures._plane import mark_points, plane_height, plot_plane
from creases.show.figures._pruning import plot_pruning
from creases.show.figures._sensitivity import (
    along_figure,
    directions_figure,
    gradients_figure,
    image_figure,
    signed_image,
    spectra_figure,
)
from creases.show.figures._space import plot_space
from creases.show.figures._splines import animate_tracks, plot_delta_slopes, plot_fit, plot_tracks, spline_figure
from creases.show.figures._surface import plot_surface
from creases.show.figures._sweeps import plot_heatmap
from creases_reproduction.figures.claims import claim_figure, plot_claim

__all__ = [
    "View",
    "along_figure",
    "animate_growth",
    "animate_tracks",
    "animate_training",
    "claim_figure",
    "directions_figure",
    "gradients_figure",
    "growth_figure",
    "image_figure",
    "mark_points",
    "mark_record",
    "mark_units",
    "new_figure",
    "plane_height",
    "plot_cell",
    "plot_claim",
    "plot_compression",
    "plot_compression_table",
    "plot_delta_slopes",
    "plot_disagreement",
    "plot_dual",
    "plot_fit",
    "plot_growth",
    "plot_heatmap",
    "plot_line",
    "plot_network",
    "plot_plane",
    "plot_polytope",
    "plot_pruning",
    "plot_similarity",
    "plot_space",
    "plot_surface",
    "plot_tracks",
    "save_figure",
    "section_figure",
    "signed_image",
    "spectra_figure",
    "spline_figure",
    "styled",
    "theme",
]
