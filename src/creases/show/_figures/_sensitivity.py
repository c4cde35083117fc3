"""Plots of sensitivity: gradients and active directions as images, spectra, outputs along a direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from creases._schema import sequence
from creases._typing import Floats
from creases._validation import check_arguments
from creases.errors import InputError
from creases.show import _style as style

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
