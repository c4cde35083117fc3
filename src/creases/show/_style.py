"""The common style of all figures: colors of the active theme, figures and axes that use them, and their files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, hsv_to_rgb, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from creases._files import write_atomically
from creases.errors import InputError
from creases.show._themes import active_theme as active_theme  # figures take it from here

if TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar


# Colors of classes, creases, values and amounts in the active theme.


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


_RC: dict[str, Any] = {
    "axes.linewidth": 0.7,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.hashsalt": "creases",  # the same figure gives the same file
    "svg.fonttype": "none",
}
_ON_PAPER = ("figure.facecolor", "axes.facecolor")
_IN_INK = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")

#: matplotlib's settings are global: only one thread at a time may change them.
_SETTINGS = RLock()


@contextmanager
def style_context() -> Iterator[None]:
    """Apply the style in the active theme inside a ``with`` block, without changing global settings."""
    theme = active_theme()
    colors = dict.fromkeys(_ON_PAPER, theme.paper) | dict.fromkeys(_IN_INK, theme.ink)
    settings: Any = {**_RC, **colors}
    with _SETTINGS, rc_context(settings):
        yield


def new_figure(width: float = 6.0, height: float = 6.0, *, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Create a figure with a row of axes in the style, outside pyplot: no window, no global state."""
    figure, axes = new_grid(width, height, 1, panels)
    return figure, list(axes[0])


def new_grid(width: float, height: float, rows: int, columns: int, **shared: Any) -> tuple[Figure, Any]:
    """Create a figure with an array (rows, columns) of axes in the style; ``shared`` goes to ``Figure.subplots``."""
    with style_context():
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **shared)
    for ax in axes.flat:
        apply_theme(ax)
    return figure, axes


def get_axes(ax: Axes | None, width: float, height: float, *, solid: bool = False) -> Axes:
    """Return ``ax``, or new pyplot axes if it is None, so that ``plt.show()`` and notebooks display them.

    With ``solid`` the new axes are three-dimensional.
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot

    with style_context():
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
        return apply_theme(figure.add_subplot(projection="3d") if solid else figure.add_subplot())


def apply_theme(ax: Axes) -> Axes:
    """Apply the theme to the ticks of new axes, which matplotlib would style only when it draws them."""
    ink, look = (
        active_theme().ink,
        {"which": "both", "labelsize": _RC["xtick.labelsize"], "width": _RC["xtick.major.width"]},
    )
    ax.tick_params(color=ink, labelcolor=ink, **look)
    for axis in ("x", "y", "z"):
        if hasattr(ax, f"{axis}axis"):
            getattr(ax, f"{axis}axis").get_offset_text().set_color(ink)
    return ax


def add_colorbar(ax: Axes, artist: ScalarMappable, label: str, *, shrink: float = 0.8) -> Colorbar:
    """Add a color bar beside the axes."""
    with style_context():
        bar = ax.figure.colorbar(artist, ax=ax, shrink=shrink, pad=0.02)
        bar.set_label(label)
        bar.outline.set_visible(False)
    apply_theme(bar.ax)
    return bar


def add_legend(ax: Axes, **look: Any) -> None:
    """Add a legend in the style, where there is room."""
    with style_context():
        ax.legend(**{"loc": "best", **look})


def set_box(ax: Axes, box: NDArray[np.float64], names: tuple[str, str]) -> None:
    """Let axes show a whole box (2, 2) of a plane, in its proportions unless it is very long, with names."""
    (left, right), (bottom, top) = box
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_aspect("equal" if 0.25 <= (right - left) / (top - bottom) <= 4 else "auto")
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])


def set_solid_box(ax: Any, limits: Sequence[Any], names: Sequence[str]) -> None:
    """Let axes of three dimensions show a box, with names and a few ticks."""
    for axis, (start, stop), name in zip("xyz", limits, names, strict=True):
        getattr(ax, f"set_{axis}lim")(start, stop)
        getattr(ax, f"set_{axis}label")(name)
        getattr(ax, f"{axis}axis").set_major_locator(MaxNLocator(4))
        getattr(ax, f"{axis}axis").set_pane_color((1, 1, 1, 0))
    ax.grid(False)


def add_legend_below(ax: Axes, handles: Sequence[Any]) -> None:
    """Add handles to the legend below the axes, after those already there."""
    before = ax.get_legend()
    if before is not None:
        handles = [*before.legend_handles, *handles]
    if not handles:
        return
    columns = len(handles) if len(handles) <= 3 else min(5, -(-len(handles) // 2))
    below = ScaledTranslation(0, -0.46, ax.figure.dpi_scale_trans)  # inches: clear of ticks and label
    look: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + below}
    with style_context():
        ax.legend(handles=handles, ncols=columns, handlelength=1.2, columnspacing=1.4, borderaxespad=0, **look)


def class_patches(classes: Sequence[int], names: Sequence[str] | None = None) -> list[Patch]:
    """Return legend handles with the color and the name of each class; its number without ``names``."""
    if names is not None and classes and max(classes) >= len(names):
        raise InputError("classes", f"name each of the {max(classes) + 1} classes", f"{len(names)} names")
    patches = []
    for index in classes:
        full, name = class_color(index), f"class {index}" if names is None else names[index]
        patches.append(Patch(facecolor=(full, 0.4), edgecolor=full, label=name))
    return patches


# Write figures to files.

#: Accepted endings, each with the metadata to omit so that the same figure gives the same file.
PICTURES: dict[str, dict[str, str | None]] = {".png": {"Software": None}, ".svg": {"Date": None}}


def save_figure(figure: Figure, path: str | Path, *, dpi: int = 160) -> Path:
    """Write a figure as ``.png`` or ``.svg``, atomically."""
    path = Path(path)
    if path.suffix not in PICTURES:
        raise InputError("path", f"end in {' or '.join(PICTURES)}", repr(path.name))
    with write_atomically(path) as temporary, style_context():
        figure.savefig(temporary, dpi=dpi, metadata=PICTURES[path.suffix])
    return path


def reduce_colors(png: bytes, colors: int = 255) -> bytes:
    """Return a PNG with a palette of so many colors, which takes about a third of the bytes."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(io.BytesIO(png)) as image:
        choose_palette(image.convert("RGB"), colors).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def choose_palette(image: Any, colors: int) -> Any:
    """Return an image of PIL with a palette of so many colors.

    A rare color far from the others, such as that of a few points of a class, has its place: a palette by the median
    cut gives it to one more shade of a large region instead.
    """
    from PIL import Image

    return image.quantize(colors, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
