"""Maps of safety: how far every point of a plane is from the decision boundary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike

from creases._arguments import check_arguments
from creases._schema import instance
from creases._typing import Floats
from creases.show import _style as style
from creases.show._figures._plane import axis_names, check_data, draw_boundary

if TYPE_CHECKING:
    from creases.certify import SafetyMap

#: Tint of a class where the decision is farthest from changing.
STRONGEST = 0.75


@check_arguments(picture=instance("SafetyMap"))
def plot_safety_map(
    picture: SafetyMap,
    *,
    ax: Axes | None = None,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    flips: bool = False,
    names: tuple[str, str] | None = None,
    label: str = "distance to the boundary",
) -> Axes:
    """Plot the distance to the decision boundary on a plane, with lines of equal distance.

    Each class has its color, paler towards the boundary. Distances are exact within the plane.

    Parameters
    ----------
    picture
        A result of :func:`creases.certify.safety_map`.
    ax
        Axes to draw on; new ones by default.
    X, y
        Points (n, 2) in slice coordinates and their classes (n,).
    classes
        Class names; class numbers by default.
    flips
        Whether to connect each point with the nearest point of the boundary.
    names
        Of the two axes.
    label
        Of the color bar, to name the unit.
    """
    points, numbers = check_data(X, y)
    (left, right), (bottom, top) = picture.box
    shape = float(np.clip((right - left) / (top - bottom), 0.25, 4))
    ax = style.get_axes(ax, 6.9, min(9.0, 5.4 / shape + 0.85))
    farthest = float(picture.distance.max()) or 1.0
    _draw_distance(ax, picture, farthest, label)
    _draw_levels(ax, picture)
    draw_boundary(ax, picture.boundary)
    if points is not None:
        _draw_points(ax, picture, points, numbers, flips=flips)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_aspect("equal" if shape == (right - left) / (top - bottom) else "auto")
    first, second = axis_names(picture.partition) if names is None else names
    ax.set_xlabel(first)
    ax.set_ylabel(second)
    style.add_legend_below(ax, style.class_patches(np.unique(picture.classes).tolist(), classes))
    return ax


def _draw_distance(ax: Axes, picture: SafetyMap, farthest: float, label: str) -> None:
    """Draw the pixels: with two classes the signed distance, with more the tint of each class."""
    extent: Any = tuple(picture.box.ravel())
    look: dict[str, Any] = {"origin": "lower", "extent": extent, "aspect": "auto", "zorder": 1}
    labels = np.unique(picture.classes)
    if labels.max() <= 1:
        image = ax.imshow(picture.signed, cmap=style.value_colormap(), vmin=-farthest, vmax=farthest, **look)
        bar = style.add_colorbar(ax, image, label)
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):.4g}"))
        return
    pixels = np.ones((*picture.distance.shape, 3))
    strength = 0.08 + (STRONGEST - 0.08) * picture.distance / farthest
    for index in labels:
        of_class = picture.classes == index
        pixels[of_class] = style.tint(style.class_color(int(index)), strength[of_class])
    ax.imshow(pixels, **look)
    ink = style.active_theme().ink
    gray = [tuple(style.tint(ink, share)) for share in (0.05, 0.6)]
    colors = type(style.value_colormap()).from_list("creases-safety", gray)
    style.add_colorbar(ax, ScalarMappable(Normalize(0, farthest), colors), label)


def _draw_levels(ax: Axes, picture: SafetyMap) -> None:
    """Draw lines of equal distance, the same on both sides of the boundary."""
    farthest = float(picture.distance.max())
    ticks = np.asarray(MaxNLocator(6).tick_values(0.0, farthest))
    levels = ticks[(ticks > 0) & (ticks < farthest)]
    if not len(levels) or min(picture.distance.shape) < 2:
        return
    lines = ax.contour(
        picture.t1, picture.t2, picture.distance, levels, colors=style.active_theme().ink, linewidths=0.5, zorder=2
    )
    with style.style_context():
        texts = ax.clabel(lines, fmt="%g", fontsize=7, inline_spacing=3)
    low, size = picture.box[:, 0], picture.box[:, 1] - picture.box[:, 0]
    for text in texts:
        place = (np.array(text.get_position()) - low) / size
        text.set_visible(bool(np.abs(place - 0.5).max() < 0.46))  # else it would be cut off


def _draw_points(ax: Axes, picture: SafetyMap, points: Floats, numbers: Any, *, flips: bool) -> None:
    theme = style.active_theme()
    if flips:
        ends = np.stack([points, picture.flips(points)], axis=1)
        ax.add_collection(LineCollection(list(ends), colors=theme.ink, linewidths=0.9, zorder=4), autolim=False)
        ax.scatter(ends[:, 1, 0], ends[:, 1, 1], s=9, color=theme.ink, linewidths=0, zorder=4)
    colors = theme.ink if numbers is None else [style.class_color(int(index)) for index in numbers]
    ax.scatter(points[:, 0], points[:, 1], s=24, c=colors, edgecolors=theme.paper, linewidths=0.5, zorder=5)
