"""Figures of results, in one style.

Functions with an ``ax`` parameter draw on it, or on new axes, and return the axes; the others return a whole figure.
Nothing is computed here that the result does not hold.
"""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.show._animation import animate_growth
    from creases.show._figures._compare import (
        plot_disagreement,
        plot_gradients,
        plot_images,
        plot_similarity,
    )
    from creases.show._figures._growth import GrowthView, plot_growth
    from creases.show._figures._line import plot_line, plot_pieces, plot_spline, plot_tracks
    from creases.show._figures._network import plot_dual, plot_network
    from creases.show._figures._plane import mark_points, plane_height, plot_plane, plot_safety_map, plot_surface
    from creases.show._figures._regions import plot_cell, plot_space
    from creases.show._figures._table_model import plot_curves, plot_effect, plot_importance
    from creases.show._style import (
        amount_colormap,
        apply_theme,
        class_color,
        get_axes,
        new_figure,
        new_grid,
        readable_color,
        save_figure,
        style_context,
        tint,
    )
    from creases.show._themes import active_theme, theme

__all__ = [
    "GrowthView",
    "active_theme",
    "amount_colormap",
    "animate_growth",
    "apply_theme",
    "class_color",
    "get_axes",
    "mark_points",
    "new_figure",
    "new_grid",
    "plane_height",
    "plot_cell",
    "plot_curves",
    "plot_disagreement",
    "plot_dual",
    "plot_effect",
    "plot_gradients",
    "plot_growth",
    "plot_images",
    "plot_importance",
    "plot_line",
    "plot_network",
    "plot_pieces",
    "plot_plane",
    "plot_safety_map",
    "plot_similarity",
    "plot_space",
    "plot_spline",
    "plot_surface",
    "plot_tracks",
    "readable_color",
    "save_figure",
    "style_context",
    "theme",
    "tint",
]

_HOMES = {
    "_animation": ("animate_growth",),
    "_figures._compare": ("plot_disagreement", "plot_gradients", "plot_images", "plot_similarity"),
    "_figures._growth": ("GrowthView", "plot_growth"),
    "_figures._line": ("plot_line", "plot_pieces", "plot_spline", "plot_tracks"),
    "_figures._network": ("plot_dual", "plot_network"),
    "_figures._plane": ("mark_points", "plane_height", "plot_plane", "plot_safety_map", "plot_surface"),
    "_figures._regions": ("plot_cell", "plot_space"),
    "_figures._table_model": ("plot_curves", "plot_effect", "plot_importance"),
    "_style": (
        "amount_colormap",
        "apply_theme",
        "class_color",
        "get_axes",
        "new_figure",
        "new_grid",
        "readable_color",
        "save_figure",
        "style_context",
        "tint",
    ),
    "_themes": ("active_theme", "theme"),
}
__getattr__ = open_on_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
