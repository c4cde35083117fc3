"""Plots of what :mod:`creases.compare` measures: similarities, disagreements, gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from numpy.typing import ArrayLike

from creases._schema import sequence
from creases._typing import Floats
from creases._validation import as_array, check_arguments, check_numbers
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._plane import axis_names, plane_height

if TYPE_CHECKING:
    from creases.compare import ActiveSubspace
    from creases.compare.differences import PartitionDifference
    from creases.regions import PlanePartition


#: Largest number of networks for which values are written into the cells.
_MAX_ANNOTATED = 24


@check_arguments(names=sequence())
def plot_similarity(
    values: ArrayLike,
    names: Sequence[str],
    *,
    ax: Axes | None = None,
    accuracy: ArrayLike | None = None,
    distance: bool = False,
    order: ArrayLike | None = None,
    label: str = "similarity",
) -> Axes:
    """Plot a matrix of similarities of networks, with their accuracies on the diagonal [1]_.

    Parameters
    ----------
    values
        Similarities (N, N).
    names
        Names of the N networks.
    ax
        Axes to draw on; new ones by default.
    accuracy
        Accuracies (N,), written on the diagonal in percent.
    distance
        Whether small values mean similar networks; small values are then dark.
    order
        Order (N,) of rows and columns; that of :func:`creases.compare.measures.similarity_order` by default.
    label
        Name of the values.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026,
       Figures 7.8 to 7.17.
    """
    from creases.compare.measures import similarity_order

    S = check_numbers(values, "values")
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not len(S):
        raise InputError("values", "be a matrix (N, N), a row and a column for each network", f"shape {S.shape}")
    if len(names) != len(S):
        raise InputError("names", f"have {len(S)} names, one for each row", str(len(names)))
    shares = None if accuracy is None else check_numbers(accuracy, "accuracy")
    if shares is not None and shares.shape != (len(S),):
        raise InputError("accuracy", f"have {len(S)} numbers, one for each network", f"shape {shares.shape}")
    o = as_array(similarity_order(S, distance=distance) if order is None else order, "order")
    if o.dtype.kind not in "iu" or o.ndim != 1 or sorted(o.tolist()) != list(range(len(S))):
        raise InputError("order", f"have each of the numbers 0 to {len(S) - 1} once", str(o.tolist()))
    size = 2.6 + 0.5 * len(S)
    ax = style.get_axes(ax, size + 0.8, size)
    ordered = S[np.ix_(o, o)]
    diagonal = None if shares is None else [f"{100 * share:.1f}" for share in shares[o]]
    _draw_matrix(ax, ordered, [names[i] for i in o], label, diagonal, dark_low=distance)
    if shares is not None:
        with style.style_context():
            ax.set_title("diagonal: accuracy (%)", fontsize=8, loc="left")
    return ax


def plot_disagreement(
    difference: PartitionDifference, *, ax: Axes | None = None, names: Sequence[str] = ("a", "b")
) -> Axes:
    """Plot the predictions of two networks on a plane: colors for the first, hatches where the second disagrees.

    The boundary of the first network is solid, that of the second dashed. Colors are paler where both agree.

    Parameters
    ----------
    difference
        A result of :func:`creases.compare.differences.difference_on_plane`.
    ax
        Axes to draw on; new ones by default.
    names
        Names of the two networks.
    """
    partition = _check_plane(difference)
    ax = style.get_axes(ax, 6, plane_height(partition, 6) + 0.4)
    polygons = np.split(partition.vertices[partition.corners], partition.starts[1:-1])
    strength = np.where(difference.differ, 0.6, 0.18)
    colors = np.array(
        [style.tint(style.class_color(int(c)), float(s)) for c, s in zip(difference.class_a, strength, strict=True)]
    )
    look: Any = {"rasterized": True, "zorder": 1}
    ax.add_collection(
        PolyCollection(polygons, facecolors=colors, edgecolors=colors, linewidths=0.4, **look), autolim=False
    )
    for c in np.unique(difference.class_b[difference.differ]).tolist():
        # One compound path, because hatching a path takes a millisecond.
        paths = [Path(polygons[r], closed=False) for r in np.flatnonzero(difference.differ & (difference.class_b == c))]
        hatched = PathCollection(
            [Path.make_compound_path(*paths)], facecolors="none", edgecolors=style.class_color(c), hatch="////", **look
        )
        hatched.set_linewidth(0)
        ax.add_collection(hatched, autolim=False)
    for classes, dashes in ((difference.class_a, "solid"), (difference.class_b, (0, (3, 2)))):
        left, right = partition.edge_regions.T
        on = (left >= 0) & (right >= 0)
        on[on] = classes[left[on]] != classes[right[on]]
        lines = list(partition.vertices[partition.edges[on]])
        ax.add_collection(
            LineCollection(lines, colors=style.active_theme().boundary, linewidths=1.1, linestyles=[dashes], zorder=3),
            autolim=False,
        )
    style.set_box(ax, partition.box, axis_names(partition))
    _add_difference_legend(ax, difference, names)
    return ax


def _add_difference_legend(ax: Axes, difference: PartitionDifference, names: Sequence[str]) -> None:
    """Write the legend below the plot, and the share of the plane that differs above it."""
    first, second = names
    handles: list[Any] = [
        Patch(facecolor=(style.class_color(c), 0.4), edgecolor=style.class_color(c), label=f"class {c}")
        for c in np.union1d(difference.class_a, difference.class_b).tolist()
    ]
    line: Any = {"color": style.active_theme().boundary, "linewidth": 1.1}
    handles.append(Line2D([], [], linestyle="solid", label=f"boundary of {first}", **line))
    handles.append(Line2D([], [], linestyle="dashed", label=f"boundary of {second}", **line))
    with style.style_context():
        ax.set_title(f"hatched ({100 * difference.share:.3g}%): {second} predicts another class", fontsize=9)
    style.add_legend_below(ax, handles)


def _draw_matrix(
    ax: Axes, values: Floats, names: Sequence[str], label: str, diagonal: Sequence[str] | None, *, dark_low: bool
) -> None:
    """Draw a matrix as colored cells with their values; cells of a given diagonal have its text and no color."""
    on_diagonal = np.eye(len(values), dtype=bool) if diagonal is not None else np.zeros(values.shape, bool)
    colored = np.where(on_diagonal, np.nan, values)
    finite = colored[np.isfinite(colored)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    rising = style.amount_colormap(0.05)
    colors = (rising.reversed() if dark_low else rising).with_extremes(bad=style.active_theme().missing)
    size = float(np.abs(finite).max(initial=0.0))  # small and large values are written in a power of 1000
    power = 0 if size == 0 or 0.1 < size < 1000 else 3 * int(np.floor(np.log10(size) / 3))
    values = values / 10.0**power
    form = ".3f" if ((finite > 0.995) & (finite < 1)).any() else ".2f"
    with style.style_context():
        image = ax.imshow(colored, colors, vmin=low, vmax=high if high > low else low + 1, aspect="auto")
        ax.set_xticks(range(len(names)), names)
        if max(map(len, names)) > 4:
            ax.tick_params("x", labelrotation=45)
            for text in ax.get_xticklabels():
                text.set(ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(names)), names)
        ax.set_xticks(np.arange(1, len(names)) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, len(names)) - 0.5, minor=True)
        ax.grid(which="minor", color=style.active_theme().paper, linewidth=1.2)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
        if high > low:
            style.add_colorbar(ax, image, label, shrink=0.7)
        if power:
            ax.set_title(f"in units of $10^{{{power}}}$", fontsize=8, loc="right")
    if len(names) > _MAX_ANNOTATED:
        return
    cells = image.to_rgba(colored)[..., :3]
    for (i, j), number in np.ndenumerate(values):
        said = f"{number:{form}}" if np.isfinite(number) else ""
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7}
        look |= {"color": style.readable_color(cells[i, j]), "weight": "bold" if on_diagonal[i, j] else None}
        ax.text(j, i, diagonal[i] if diagonal is not None and i == j else said, **look)


def _check_plane(difference: PartitionDifference) -> PlanePartition:
    from creases.regions import PlanePartition

    if not isinstance(difference.partition, PlanePartition):
        raise InputError(
            "difference",
            "be on a plane",
            f"one on a {type(difference.partition).__name__}",
            "use creases.compare.differences.difference_on_plane(a, b, box)",
        )
    return difference.partition


# Plots of sensitivity: gradients and active directions as images.


def signed_image(values: ArrayLike, shape: Sequence[int] | None = None, *, gray: bool = False) -> Floats:
    """Convert signed numbers, (h, w), (1, h, w), (3, h, w) or of a shape, to an image (h, w), in color (h, w, 3).

    Zero is gray, the largest magnitude white or, of a negative number, black, in each channel; ``gray`` sums these.
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
    top = []
    for picture in pictures:
        image = np.asarray(picture, np.float64).reshape(shape)
        image = (image - image.min()) / max(float(np.ptp(image)), 1e-300)
        top.append(image[0] if gray or len(image) == 1 else image.transpose(1, 2, 0))
    rows = [[signed_image(row, shape, gray=gray) for row in np.asarray(slopes)] for slopes in gradients.values()]
    return plot_images([top, *rows], ["image", *gradients], columns)


def plot_active_directions(
    subspaces: Mapping[str, Sequence[ActiveSubspace]],
    shape: Sequence[int],
    *,
    columns: Sequence[str] = (),
    gray: bool = False,
) -> Figure:
    """Plot the first active direction of each output as an image (c, h, w), one row for each network.

    As Figures 6.14 and 6.17 of Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State
    University, 2026; ``columns`` are the names of the outputs, ``gray`` sums the channels.
    """
    rows = [[signed_image(space.directions[0], shape, gray=gray) for space in row] for row in subspaces.values()]
    return plot_images(rows, list(subspaces), columns)
