"""What image networks are sensitive to, drawn: gradients and active directions as images, spectra, outputs along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases.errors import InputError
from creases.show import style

if TYPE_CHECKING:
    from creases.compare import ActiveSubspace


#: Singular values below this share of the largest are rounding of coefficients in float32.
_ROUNDING = 1e-6


def signed_image(values: ArrayLike, shape: Sequence[int] | None = None, *, grey: bool = False) -> Floats:
    """Signed numbers as an image: zero is grey, positive is white, negative black; colours channel by channel.

    Parameters
    ----------
    values
        (h, w), (1, h, w) or (3, h, w), or as many numbers of the given shape.
    shape
        Of the image that the numbers are of.
    grey
        Add up the channels: for grey images that a network sees in three equal channels.

    Returns
    -------
    numpy.ndarray
        (h, w), or (h, w, 3) in colour, from 0 to 1; scaled so that the largest magnitude is black or white.
    """
    numbers = np.asarray(values, np.float64)
    if shape is not None:
        if numbers.size != np.prod(shape):
            raise InputError(
                f"values: expected {np.prod(shape)} numbers for an image {tuple(shape)}, got {numbers.size}"
            )
        numbers = numbers.reshape(shape)
    if numbers.ndim == 2:
        numbers = numbers[None]
    if numbers.ndim != 3 or numbers.shape[0] not in (1, 3):
        raise InputError(f"values: expected an image (h, w), (1, h, w) or (3, h, w), got shape {numbers.shape}")
    if grey:
        numbers = numbers.sum(axis=0, keepdims=True)
    most = np.abs(numbers).max(initial=0.0)
    shown = 0.5 + numbers / (2 * most) if most > 0 else np.full_like(numbers, 0.5)
    return np.asarray(shown[0] if len(shown) == 1 else shown.transpose(1, 2, 0))


def plot_images(
    images: Sequence[Sequence[ArrayLike | None]],
    rows: Sequence[str],
    columns: Sequence[str] = (),
    *,
    size: float = 0.85,
) -> Figure:
    """A table of images, each (h, w) from 0 (black) to 1 or (h, w, 3); None leaves a place empty.

    Parameters
    ----------
    images
        For each row its images.
    rows, columns
        Their names.
    size
        Of an image, in inches.
    """
    count = max((len(row) for row in images), default=0)
    if len(rows) != len(images) or (columns and len(columns) != count) or not count:
        raise InputError(
            f"rows, columns: expected names of {len(images)} rows and {count} columns, got {len(rows)} and "
            f"{len(columns)}"
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
                if i == 0 and columns:
                    ax.set_title(columns[j], fontsize=8)
            axes[i, 0].set_ylabel(rows[i], rotation=0, ha="right", va="center", fontsize=8)
    return figure


def plot_gradients(
    gradients: Mapping[str, ArrayLike],
    pictures: Sequence[ArrayLike],
    shape: Sequence[int],
    *,
    columns: Sequence[str] = (),
    grey: bool = False,
) -> Figure:
    """Gradients at some images, below these (Fig. 6.3): grey is no slope, white positive, black negative.

    Parameters
    ----------
    gradients
        By network, (images, n_in) slopes of the output that is looked at.
    pictures
        The images, as signed numbers of the same shape (normalised, as networks see them).
    shape
        Of an image, (c, h, w).
    """
    top = [_picture(picture, shape, grey) for picture in pictures]
    rows = [[signed_image(one, shape, grey=grey) for one in np.asarray(own)] for own in gradients.values()]
    return plot_images([top, *rows], ["image", *gradients], columns)


def plot_active_directions(
    found: Mapping[str, Sequence[ActiveSubspace]],
    shape: Sequence[int],
    *,
    columns: Sequence[str] = (),
    grey: bool = False,
) -> Figure:
    """The first active direction of every output as an image, a row for each network (Figures 6.14, 6.17)."""
    rows = [[signed_image(one.directions[0], shape, grey=grey) for one in own] for own in found.values()]
    return plot_images(rows, list(found), columns)


def plot_spectra(found: Mapping[str, Sequence[ActiveSubspace]], *, most: int = 200) -> Figure:
    """Singular values of the gradients by output, the root mean squared slopes along the directions (Figure 6.16).

    A panel for each network, a line for each output; on the first: the share of the mean squared slope.
    """
    figure, axes = _panels(len(found))
    for ax, (name, own) in zip(axes, found.items(), strict=False):
        for j, one in enumerate(own):
            sizes = np.sqrt(one.eigenvalues[:most])
            above = sizes > _ROUNDING * sizes.max(initial=0.0)
            mark = "o" if above.sum() == 1 else None
            ax.plot(1 + np.flatnonzero(above), sizes[above], mark or "-", color=style.class_color(j), linewidth=1)
        with style.style_context():
            ax.set_yscale("log")
            ax.set_xscale("log")
            ax.set_xlim(0.9, most)
            low, high = ax.get_ylim()
            ax.set_ylim(min(low, high / 15), high)  # a decade at least, so that a tick has a number
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_minor_formatter(NullFormatter())
            share = float(np.nanmean([one.share for one in own]))
            ax.set_title(f"{name}: first has {100 * share:.0f} %", fontsize=8)
    with style.style_context():
        figure.supxlabel("direction", fontsize=9)
        figure.supylabel("singular value of the gradients", fontsize=9)
    return figure


def plot_along_direction(
    found: Mapping[str, Sequence[ActiveSubspace]],
    x: Any,
    values: Mapping[str, ArrayLike],
    *,
    output: int = 0,
    labels: ArrayLike | None = None,
) -> Figure:
    """One output of every network against the coordinate on its first direction (Figure 6.15).

    Parameters
    ----------
    found
        Active subspaces of the outputs, by network.
    x
        (p, ...) samples.
    values
        (p, n_out) outputs there, by network.
    labels
        (p,) classes: samples of the class of the output are drawn in colour.
    """
    figure, axes = _panels(len(found))
    for ax, (name, own) in zip(axes, found.items(), strict=False):
        t, v = own[output].along(x), np.asarray(values[name], np.float64)[:, output]
        if len(t) != len(v):
            raise InputError(f"values: expected {len(t)} rows for {name}, one for each sample, got {len(v)}")
        mine = np.zeros(len(t), bool) if labels is None else np.asarray(labels) == output
        for chosen, color in ((~mine, style.active_theme().quiet), (mine, style.class_color(1))):
            ax.scatter(t[chosen], v[chosen], s=4, color=color, linewidths=0, alpha=0.7)
        with style.style_context():
            ax.set_title(name, fontsize=8)
    with style.style_context():
        figure.supxlabel("coordinate on the first direction", fontsize=9)
        figure.supylabel(f"output {output}", fontsize=9)
    return figure


def _panels(count: int, across: int = 4) -> tuple[Figure, list[Axes]]:
    if not count:
        raise InputError("found: nothing to draw")
    columns = min(count, across)
    rows = -(-count // columns)
    figure, grid = style.new_grid(0.6 + 2.2 * columns, 0.6 + 1.7 * rows, rows, columns)
    axes = list(grid.ravel())
    for ax in axes[count:]:
        ax.set_visible(False)
    for ax in axes[:count]:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _picture(values: ArrayLike, shape: Sequence[int], grey: bool) -> Floats:
    """An image as networks see it, brought back to 0 .. 1 by its own extremes."""
    numbers = np.asarray(values, np.float64).reshape(shape)
    numbers = (numbers - numbers.min()) / max(float(np.ptp(numbers)), 1e-300)
    return np.asarray(numbers[0] if grey or len(numbers) == 1 else numbers.transpose(1, 2, 0))
