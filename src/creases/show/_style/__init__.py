"""The common style of all figures: themes, colors, and figures and axes that use them."""

from typing import TYPE_CHECKING

from creases._doors import open_on_use

if TYPE_CHECKING:
    from creases.show._style._axes import (
        add_colorbar,
        add_legend_below,
        apply_theme,
        class_patches,
        get_axes,
        new_figure,
        new_grid,
        style_context,
    )
    from creases.show._style._colors import (
        amount_colormap,
        blend,
        class_color,
        contrast,
        crease_colors,
        luminance,
        random_colors,
        readable_color,
        tint,
        value_colormap,
    )
    from creases.show._style._themes import (
        DARK,
        LIGHT,
        THEMES,
        Theme,
        active_theme,
        theme,
    )

__all__ = [
    "DARK",
    "LIGHT",
    "THEMES",
    "Theme",
    "active_theme",
    "add_colorbar",
    "add_legend_below",
    "amount_colormap",
    "apply_theme",
    "blend",
    "class_color",
    "class_patches",
    "contrast",
    "crease_colors",
    "get_axes",
    "luminance",
    "new_figure",
    "new_grid",
    "random_colors",
    "readable_color",
    "style_context",
    "theme",
    "tint",
    "value_colormap",
]

_HOMES = {
    "_axes": (
        "add_colorbar",
        "add_legend_below",
        "apply_theme",
        "class_patches",
        "get_axes",
        "new_figure",
        "new_grid",
        "style_context",
    ),
    "_colors": (
        "amount_colormap",
        "blend",
        "class_color",
        "contrast",
        "crease_colors",
        "luminance",
        "random_colors",
        "readable_color",
        "tint",
        "value_colormap",
    ),
    "_themes": (
        "DARK",
        "LIGHT",
        "THEMES",
        "Theme",
        "active_theme",
        "theme",
    ),
}
__getattr__ = open_on_use(__name__, _HOMES)
