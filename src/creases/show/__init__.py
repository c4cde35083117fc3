"""Pictures: results drawn in one restrained style; nothing is computed here that a result does not hold."""

from creases.show.animation import animate_growth, animate_training
from creases.show.cell import plot_cell
from creases.show.compare import (
    plot_compression,
    plot_compression_table,
    plot_disagreement,
    plot_similarity,
    section_figure,
)
from creases.show.dual import plot_dual
from creases.show.geometry import plot_polytope
from creases.show.growth import View, growth_figure, plot_growth
from creases.show.line import plot_line
from creases.show.marks import mark_record, mark_units
from creases.show.network import plot_network
from creases.show.plane import mark_points, plane_height, plot_plane
from creases.show.pruning import plot_pruning
from creases.show.reproduction import claim_figure, plot_claim
from creases.show.save import save_figure
from creases.show.sensitivity import (
    along_figure,
    directions_figure,
    gradients_figure,
    image_figure,
    signed_image,
    spectra_figure,
)
from creases.show.space import plot_space
from creases.show.splines import animate_tracks, plot_delta_slopes, plot_fit, plot_tracks, spline_figure
from creases.show.style import new_figure, styled
from creases.show.surface import plot_surface
from creases.show.sweeps import plot_heatmap
from creases.show.themes import theme

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
