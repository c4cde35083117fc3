"""Colors of classes, creases, values and amounts in the active theme."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, hsv_to_rgb, to_rgb
from numpy.typing import NDArray

from creases.show._style._themes import active_theme


def class_color(index: int) -> str:
    """Return the full color of a class."""
    classes = active_theme().classes
    return classes[index % len(classes)]


def tint(color: str, strength: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Blend a color with the theme's paper: 0 is the paper, 1 the color; (..., 3) for strengths (...)."""
    return blend(active_theme().paper, color, strength)


def blend(first: str, last: str, share: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Interpolate between two colors: (..., 3) for shares (...) in [0, 1]."""
    a, b = np.array(to_rgb(first)), np.array(to_rgb(last))
    return np.asarray(a + (b - a) * np.asarray(share, np.float64)[..., None])


def crease_colors(bends: NDArray[np.integer[Any]], n_bends: int) -> NDArray[np.float64]:
    """Return a color (e, 3) for each crease by its bend: deeper bends are darker, a single bend is in between."""
    share = bends / (n_bends - 1) if n_bends > 1 else np.full(len(bends), 0.4)
    return blend(active_theme().crease_first, active_theme().crease_last, share)


def random_colors(count: int) -> NDArray[np.float64]:
    """Return random colors (count, 3) close to the paper's; the same count gives the same colors."""
    rng = np.random.default_rng(0)
    hue, saturation, value = rng.random((3, count))
    if active_theme().name == "dark":
        return np.asarray(hsv_to_rgb(np.stack([hue, 0.3 + 0.3 * saturation, 0.22 + 0.22 * value], axis=1)))
    return np.asarray(hsv_to_rgb(np.stack([hue, 0.08 + 0.24 * saturation, 0.88 + 0.1 * value], axis=1)))


def value_colormap() -> LinearSegmentedColormap:
    """Return a diverging colormap: class 0 below zero, the paper at zero, class 1 above."""
    ends = [tuple(tint(class_color(index), 0.75)) for index in (0, 1)]
    return LinearSegmentedColormap.from_list("creases", [ends[0], to_rgb(active_theme().paper), ends[1]])


def amount_colormap(least: float = 0.0) -> LinearSegmentedColormap:
    """Return a sequential colormap from the paper (tinted by ``least``) to the color of class 0."""
    ends = [tuple(tint(class_color(0), strength)) for strength in (least, 1.0)]
    return LinearSegmentedColormap.from_list("creases", ends)


def readable_color(background: Any) -> str:
    """Return the theme's ink or paper, whichever has more contrast with a background."""
    theme = active_theme()
    light = luminance(background)
    return max((theme.ink, theme.paper), key=lambda color: contrast(light, luminance(color)))


def contrast(first: float, second: float) -> float:
    """Return the contrast ratio of two luminances, 1 to 21, as defined by WCAG 2."""
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)


def luminance(color: Any) -> float:
    """Return the relative luminance of a color, 0 to 1, as defined by WCAG 2."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
