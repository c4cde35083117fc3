"""Figures of results, in one style.

Functions with an ``ax`` parameter draw on it, or on new axes, and return the axes; the others return a whole figure.
Nothing is computed here that the result does not hold.
"""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.show._animation import animate as animate
    from creases.show._figures._compare import plot_disagreement as plot_disagreement
    from creases.show._figures._compare import plot_gradients as plot_gradients
    from creases.show._figures._compare import plot_images as plot_images
    from creases.show._figures._compare import plot_similarity as plot_similarity
    from creases.show._figures._growth import GrowthView as GrowthView
    from creases.show._figures._growth import plot_growth as plot_growth
    from creases.show._figures._line import plot_line as plot_line
    from creases.show._figures._line import plot_pieces as plot_pieces
    from creases.show._figures._line import plot_spline as plot_spline
    from creases.show._figures._line import plot_tracks as plot_tracks
    from creases.show._figures._network import plot_dual as plot_dual
    from creases.show._figures._network import plot_network as plot_network
    from creases.show._figures._plane import mark_points as mark_points
    from creases.show._figures._plane import plane_height as plane_height
    from creases.show._figures._plane import plot_plane as plot_plane
    from creases.show._figures._plane import plot_safety_map as plot_safety_map
    from creases.show._figures._plane import plot_surface as plot_surface
    from creases.show._figures._regions import plot_cell as plot_cell
    from creases.show._figures._regions import plot_space as plot_space
    from creases.show._figures._table_model import plot_curves as plot_curves
    from creases.show._figures._table_model import plot_effect as plot_effect
    from creases.show._figures._table_model import plot_importance as plot_importance
    from creases.show._style import amount_colormap as amount_colormap
    from creases.show._style import apply_theme as apply_theme
    from creases.show._style import class_color as class_color
    from creases.show._style import get_axes as get_axes
    from creases.show._style import new_figure as new_figure
    from creases.show._style import new_grid as new_grid
    from creases.show._style import readable_color as readable_color
    from creases.show._style import save_figure as save_figure
    from creases.show._style import style_context as style_context
    from creases.show._style import tint as tint
    from creases.show._themes import active_theme as active_theme
    from creases.show._themes import theme as theme

__getattr__, __dir__, __all__ = open_on_use(__name__)
