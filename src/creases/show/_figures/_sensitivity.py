"""Plots of sensitivity: gradients and active directions as images, spectra, outputs along a direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from creases._schema import any_of, instance, sequence
from creases._text import format_number
from creases._typing import Floats
from creases._validation import check_arguments, check_count, check_index
from creases.errors import InputError
from creases.show import _style as style
from creases.tables import CategoryEffect, Importance, NumberEffect

if TYPE_CHECKING:
    from creases.compare import ActiveSubspace


#: Singular values below this fraction of the largest are rounding errors of float32 coefficients.
_ROUNDING = 1e-6

#: Directions up to which their axis is linear.
_FEW_DIRECTIONS = 20


def signed_image(values: ArrayLike, shape: Sequence[int] | None = None, *, gray: bool = False) -> Floats:
    """Convert signed numbers to an image: zero is gray, positive white, negative black, in each channel.

    Parameters
    ----------
    values
        (h, w), (1, h, w) or (3, h, w), or any array with as many numbers as ``shape``.
    shape
        Shape of the image.
    gray
        Sum the channels: for gray images with three equal channels.

    Returns
    -------
    numpy.ndarray
        (h, w), or (h, w, 3) in color, from 0 to 1; scaled so that the largest magnitude is black or white.
    """
    numbers = np.asarray(values, np.float64)
    if shape is not None:
        if numbers.size != np.prod(shape):
            raise InputError("values", f"have {np.prod(shape)} numbers for an image {tuple(shape)}", str(numbers.size))
        numbers = numbers.reshape(shape)
    if numbers.ndim == 2:
        numbers = numbers[None]
    if numbers.ndim != 3 or numbers.shape[0] not in (1, 3):
        raise InputError("values", "be an image (h, w), (1, h, w) or (3, h, w)", f"shape {numbers.shape}")
    if gray:
        numbers = numbers.sum(axis=0, keepdims=True)
    largest = np.abs(numbers).max(initial=0.0)
    pixels = 0.5 + numbers / (2 * largest) if largest > 0 else np.full_like(numbers, 0.5)
    return np.asarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0))


@check_arguments(images=sequence(sequence()), rows=sequence(), columns=sequence())
def plot_images(
    images: Sequence[Sequence[ArrayLike | None]],
    rows: Sequence[str],
    columns: Sequence[str] = (),
    *,
    size: float = 0.85,
) -> Figure:
    """Plot a table of images, each (h, w) from 0 (black) to 1, or (h, w, 3); None leaves a cell empty.

    Parameters
    ----------
    images
        The images of each row.
    rows, columns
        Names of the rows and the columns.
    size
        Size of an image, in inches.
    """
    for param, names in (("rows", rows), ("columns", columns)):
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise InputError(param, "be names", f"{wrong[0]!r} among them")
    count = max((len(row) for row in images), default=0)
    if len(rows) != len(images) or (len(columns) and len(columns) != count) or not count:
        raise InputError(
            "rows", f"name {len(images)} rows, and columns {count} columns", f"{len(rows)} and {len(columns)}"
        )
    figure, axes = style.new_grid(1.4 + size * count, 0.4 + size * len(images), len(images), count)
    with style.style_context():
        for i, row in enumerate(images):
            for j, ax in enumerate(axes[i]):
                ax.set_xticks([])
                ax.set_yticks([])
                ax.spines[:].set_visible(False)
                image = row[j] if j < len(row) else None
                if image is not None:
                    ax.imshow(np.asarray(image, np.float64), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
                if i == 0 and len(columns):
                    ax.set_title(columns[j], fontsize=8)
            axes[i, 0].set_ylabel(rows[i], rotation=0, ha="right", va="center", fontsize=8)
    return figure


def plot_gradients(
    gradients: Mapping[str, ArrayLike],
    pictures: Sequence[ArrayLike],
    shape: Sequence[int],
    *,
    columns: Sequence[str] = (),
    gray: bool = False,
) -> Figure:
    """Plot images and, below them, the gradients of networks there: gray is zero, white positive, black negative.

    Parameters
    ----------
    gradients
        For each network the gradients (images, n_in) of an output.
    pictures
        The images as the networks get them (normalized), of the same shape.
    shape
        Shape (c, h, w) of an image.
    columns
        Names of the images.
    gray
        Whether to sum the channels.
    """
    top = [_rescale(picture, shape, gray) for picture in pictures]
    rows = [[signed_image(row, shape, gray=gray) for row in np.asarray(slopes)] for slopes in gradients.values()]
    return plot_images([top, *rows], ["image", *gradients], columns)


def plot_active_directions(
    subspaces: Mapping[str, Sequence[ActiveSubspace]],
    shape: Sequence[int],
    *,
    columns: Sequence[str] = (),
    gray: bool = False,
) -> Figure:
    """Plot the first active direction of each output as an image, one row for each network [1]_.

    Parameters
    ----------
    subspaces
        For each network the active subspaces of its outputs.
    shape
        Shape (c, h, w) of an image.
    columns
        Names of the outputs.
    gray
        Whether to sum the channels.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026,
       Figures 6.14 and 6.17.
    """
    rows = [[signed_image(space.directions[0], shape, gray=gray) for space in row] for row in subspaces.values()]
    return plot_images(rows, list(subspaces), columns)


def plot_spectra(subspaces: Mapping[str, Sequence[ActiveSubspace]], *, max_directions: int = 200) -> Figure:
    """Plot the singular values of the gradients: the root mean squared slopes along the active directions.

    Each network has a panel, each output a line; the title gives the first direction's share of the mean squared slope.

    Parameters
    ----------
    subspaces
        For each network the active subspaces of its outputs.
    max_directions
        Maximal number of directions drawn.
    """
    figure, axes = _panels(len(subspaces))
    for ax, (name, spaces) in zip(axes, subspaces.items(), strict=False):
        for j, space in enumerate(spaces):
            sizes = np.sqrt(space.eigenvalues[:max_directions])
            above = sizes > _ROUNDING * sizes.max(initial=0.0)
            mark = "o" if above.sum() == 1 else None
            ax.plot(1 + np.flatnonzero(above), sizes[above], mark or "-", color=style.class_color(j), linewidth=1)
        with style.style_context():
            ax.set_yscale("log")
            _scale_directions(ax, min(max_directions, max((len(space.eigenvalues) for space in spaces), default=1)))
            low, high = ax.get_ylim()
            ax.set_ylim(min(low, high / 15), high)  # at least a decade, so that a tick has a number
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_minor_formatter(NullFormatter())
            share = float(np.nanmean([space.share for space in spaces]))
            ax.set_title(f"{name}: first direction {100 * share:.0f}%", fontsize=8)
    with style.style_context():
        figure.supxlabel("direction", fontsize=9)
        figure.supylabel("singular value of the gradients", fontsize=9)
    return figure


def _scale_directions(ax: Axes, count: int) -> None:
    """Set the axis of the numbers of directions: linear for a few, logarithmic for many."""
    if count <= _FEW_DIRECTIONS:
        ax.set_xlim(0.8, max(2, count) + 0.2)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        ax.set_xscale("log")
        ax.set_xlim(0.9, count)


def _panels(count: int, across: int = 4) -> tuple[Figure, list[Axes]]:
    if not count:
        raise InputError("subspaces", "have at least one network", "none")
    columns = min(count, across)
    rows = -(-count // columns)
    figure, grid = style.new_grid(0.6 + 2.2 * columns, 0.6 + 1.7 * rows, rows, columns)
    axes = list(grid.ravel())
    for ax in axes[count:]:
        ax.set_visible(False)
    for ax in axes[:count]:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _rescale(values: ArrayLike, shape: Sequence[int], gray: bool) -> Floats:
    """Rescale a normalized image to 0 .. 1 by its extremes."""
    numbers = np.asarray(values, np.float64).reshape(shape)
    numbers = (numbers - numbers.min()) / max(float(np.ptp(numbers)), 1e-300)
    return np.asarray(numbers[0] if gray or len(numbers) == 1 else numbers.transpose(1, 2, 0))


# Plots of the effects and the importance of a table's columns.

#: Breakpoints of the mean that get a mark: those where it bends most.
MARKED = 12

#: A breakpoint gets a mark if the mean bends there by this share of the largest bend.
VISIBLE = 0.02


@check_arguments(effect=any_of(instance("NumberEffect"), instance("CategoryEffect")))
def plot_effect(
    effect: NumberEffect | CategoryEffect, *, output: int = 0, max_curves: int = 60, ax: Axes | None = None
) -> Axes:
    """Plot the effect of a column: the curves of single rows, and their mean with the points where it bends.

    Curves are shifted to the height of the mean at their left end, so that their shapes can be compared.

    Parameters
    ----------
    effect
        What :func:`creases.tables.effects` returns.
    output
        Number of the output to plot.
    max_curves
        Curves of single rows to draw, spread evenly over the rows.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> import creases
    >>> from creases import show, tables
    >>> net = creases.read([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])])
    >>> effect = tables.effects(net, [[-1.0, 0.0], [3.0, -1.0]], "x0")
    >>> show.plot_effect(effect).get_xlabel()
    'x0'
    """
    output = check_index(output, len(effect.outputs), "output")
    check_count(max_curves, "max_curves", least=0)
    ax = style.get_axes(ax, 4.8, 3.4)
    with style.style_context():
        if isinstance(effect, NumberEffect):
            _draw_curves(ax, effect, output, max_curves)
        else:
            _draw_categories(ax, effect, output)
        ax.set_xlabel(effect.column)
        ax.set_ylabel(effect.outputs[output])
    return ax


def _draw_curves(ax: Axes, effect: NumberEffect, output: int, max_curves: int) -> None:
    n = len(effect.starts) - 1
    mean = effect.mean[:, output]
    rows = np.unique(np.linspace(0, n - 1, min(n, max_curves)).astype(int))
    curves = [effect.curve(int(row)) for row in rows]
    shapes = [np.column_stack([x, y[:, output] - y[0, output] + mean[0]]) for x, y in curves]
    ax.add_collection(LineCollection(shapes, colors=[style.active_theme().quiet], linewidths=0.5, alpha=0.35, zorder=1))
    ax.plot(effect.grid, mean, color=style.class_color(0), linewidth=2, zorder=3)
    bends = np.abs(effect.bends[:, output])
    order = np.argsort(-bends, kind="stable")[:MARKED]
    marked = order[bends[order] > VISIBLE * bends.max(initial=0)]
    ax.plot(effect.grid[marked + 1], mean[marked + 1], "o", color=style.class_color(0), markersize=4, zorder=4)
    inner = effect.grid[1:-1]
    ax.plot(inner, np.zeros(len(inner)), "|", color=style.active_theme().quiet, markersize=5, alpha=0.3,
            transform=ax.get_xaxis_transform(), clip_on=False, zorder=2)  # fmt: skip
    ax.autoscale_view()
    ax.margins(x=0)


def _draw_categories(ax: Axes, effect: CategoryEffect, output: int) -> None:
    heights, mean = effect.heights[:, :, output], effect.mean[:, output]
    places = np.arange(len(effect.categories))
    spread = heights - heights.mean(axis=1, keepdims=True) + mean.mean()
    low, high = np.quantile(spread, [0.1, 0.9], axis=0)
    ax.vlines(places, low, high, color=style.active_theme().quiet, linewidth=3, alpha=0.35)
    ax.plot(places, mean, "o", color=style.class_color(0), markersize=6)
    labels = [f"{name}\n{count} rows" for name, count in zip(effect.categories, effect.counts, strict=True)]
    ax.set_xticks(places, labels)
    ax.set_xlim(-0.5, len(places) - 0.5)


@check_arguments(importance=instance("Importance"))
def plot_importance(importance: Importance, *, max_columns: int = 12, ax: Axes | None = None) -> Axes:
    """Plot the importance of columns as bars, the largest on top.

    Parameters
    ----------
    importance
        What :func:`creases.tables.importance` returns.
    max_columns
        Columns to show.
    ax
        Axes to draw on; new ones by default.
    """
    count = min(check_count(max_columns, "max_columns"), len(importance.columns))
    ax = style.get_axes(ax, 4.8, 0.6 + 0.28 * count)
    with style.style_context():
        bars = ax.barh(np.arange(count), importance.values[:count], color=style.class_color(0), height=0.7)
        ax.bar_label(bars, [format_number(float(value)) for value in importance.values[:count]], padding=3, fontsize=7)
        ax.set_yticks(np.arange(count), importance.columns[:count])
        ax.invert_yaxis()
        ax.margins(x=0.12)
        unit = importance.outputs[0] if len(importance.outputs) == 1 else "class scores"
        ax.set_xlabel(f"importance, in {unit}")
    return ax
