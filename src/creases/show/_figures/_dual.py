"""The dual plot: each linear piece of a network as a point at its coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from numpy.typing import ArrayLike, NDArray

from creases._arguments import check_arguments
from creases._schema import any_of, instance
from creases._typing import Floats
from creases._validation import check_choice, check_index
from creases.errors import InputError
from creases.show import _style as style

if TYPE_CHECKING:
    from creases.compare import Coefficients
    from creases.regions import PlanePartition


#: Area in square points of the largest and of the smallest dot.
_LARGEST, _SMALLEST = 260.0, 6.0


@dataclass(frozen=True, eq=False)
class _Dots:
    """The dots to draw, one for each piece."""

    at: Floats  #: (R, 2)
    names: tuple[str, str]
    share: Floats  #: (R,) of the area, or of the samples
    constant: Floats  #: (R,) y of the piece
    decided: NDArray[np.int64] | None  #: (R,)
    links: NDArray[np.integer[Any]]  #: (e, 2) pairs of neighbors


@check_arguments(pieces=any_of(instance("PlanePartition"), instance("Coefficients")))
def plot_dual(
    pieces: PlanePartition | Coefficients,
    *,
    output: int = 0,
    ax: Axes | None = None,
    color: Literal["bias", "class"] = "bias",
    X: ArrayLike | None = None,
    legend: bool = True,
    classes: Sequence[str] | None = None,
) -> Axes:
    """Plot the coefficients of each region as a point: a region of the plane is a dot of the dual plot [1]_.

    Parameters
    ----------
    pieces
        A result of :func:`creases.plane`: a dot for each region at (J_1, J_2) in slice coordinates, with the region's
        area, and lines between neighbors. Or :class:`creases.compare.Coefficients`: a dot for each piece that contains
        samples, with an area by their number, projected on the two directions along which the slopes J vary most.
    output
        Number of the output, from 0.
    ax
        Axes to draw on; new ones by default.
    color
        ``"bias"``: by the constant y of the piece; ``"class"``: by the class predicted at the center of the region
        (partitions only).
    X
        Points (n, 2) in slice coordinates: the pieces that contain them are ringed (partitions only).
    legend, classes
        Whether to draw a legend, and the class names in it; class numbers by default.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026,
       Figures 7.5 and 7.6.

    Examples
    --------
    >>> import creases
    >>> from creases.show import plot_dual
    >>> net = creases.read([([[1.0, 0.0]], [0.0]), ([[2.0]], [-0.5])])  # 2 relu(x1) - 0.5
    >>> ax = plot_dual(creases.plane(net))
    >>> sorted(map(tuple, ax.collections[-1].get_offsets().tolist()))
    [(0.0, 0.0), (2.0, 0.0)]
    """
    from creases.regions import PlanePartition

    check_choice(color, ("bias", "class"), "color")
    if isinstance(pieces, PlanePartition):
        dots = _dots_of_plane(pieces, check_index(output, pieces.net.n_out, "output"))
    elif X is not None or color == "class":
        raise InputError("pieces", "be a result of creases.plane for X or color='class'", type(pieces).__name__)
    else:
        dots = _dots_of_samples(pieces, check_index(output, pieces.n_out, "output"))
    ax = style.get_axes(ax, 5.6, 5)
    _draw(ax, dots, color, legend, classes)
    if X is not None and isinstance(pieces, PlanePartition):
        _ring(ax, dots, pieces, X)
    return ax


def _dots_of_plane(partition: PlanePartition, output: int) -> _Dots:
    piece = partition.pieces()
    middle = np.asarray(partition.net(partition.points(partition.centers()))).reshape(partition.count, -1)
    decided = middle.argmax(axis=1) if middle.shape[1] > 1 else (middle[:, 0] > 0).astype(np.int64)
    inner = (partition.edge_regions >= 0).all(axis=1)
    area = partition.areas()
    names = ("$J_1$", "$J_2$")
    links = partition.edge_regions[inner]
    return _Dots(
        np.asarray(piece.J[:, output]), names, area / area.sum(), np.asarray(piece.y[:, output]), decided, links
    )


def _dots_of_samples(coefficients: Coefficients, output: int) -> _Dots:
    rows = np.asarray(coefficients.rows(output).double().cpu())  # (p, d + 1)
    scale = float(np.abs(rows).max(initial=0.0)) or 1.0
    _, first, counts = np.unique(np.round(rows / scale, 9), axis=0, return_index=True, return_counts=True)
    J, y = rows[first, :-1], rows[first, -1]
    share = counts / counts.sum()
    none = np.zeros((0, 2), np.int64)
    if J.shape[1] == 2:
        return _Dots(J, ("$J_1$", "$J_2$"), share, y, None, none)
    centered = J - share @ J
    directions = np.linalg.svd(np.sqrt(share)[:, None] * centered, full_matrices=False)[2][:2]  # (<= 2, d)
    at = np.zeros((len(J), 2))
    at[:, : len(directions)] = centered @ directions.T
    return _Dots(at, ("first direction of $J$", "second direction of $J$"), share, y, None, none)


def _draw(ax: Axes, dots: _Dots, color: str, legend: bool, names: Sequence[str] | None) -> None:
    size = np.clip(_LARGEST * dots.share / dots.share.max(), _SMALLEST, None)
    order = np.argsort(-size)  # small dots on top
    width = float(np.clip(20 / np.sqrt(max(1, len(dots.links))), 0.15, 0.8))
    lines = dots.at[dots.links]
    ax.add_collection(LineCollection(list(lines), colors=style.active_theme().crease_first, linewidths=width, zorder=1))
    look: dict[str, Any] = {"edgecolors": style.active_theme().crease_last, "linewidths": 0.6, "zorder": 2}
    x, y = dots.at[order].T
    if color == "class" and dots.decided is not None:
        faces = [style.tint(style.class_color(int(index)), 0.7) for index in dots.decided[order]]
        ax.scatter(x, y, s=size[order], color=faces, **{**look, "edgecolors": style.active_theme().paper})
        if legend:
            style.add_legend_below(ax, style.class_patches(np.unique(dots.decided).tolist(), names))
    else:
        limit = float(np.abs(dots.constant).max()) or 1.0
        norm = Normalize(-limit, limit)
        artist = ax.scatter(x, y, s=size[order], c=dots.constant[order], cmap=style.value_colormap(), norm=norm, **look)
        if legend:
            style.add_colorbar(ax, artist, "constant $y$")
    ax.margins(0.1)
    ax.autoscale_view()
    ax.set_xlabel(dots.names[0])
    ax.set_ylabel(dots.names[1])


def _ring(ax: Axes, dots: _Dots, partition: PlanePartition, X: ArrayLike) -> None:
    from creases.show._figures._plane import check_data

    points, _ = check_data(X, None)
    regions = partition.locate(points)
    used = np.unique(regions[regions >= 0])
    ring: dict[str, Any] = {
        "s": 60,
        "facecolors": "none",
        "edgecolors": style.active_theme().accent,
        "linewidths": 1.4,
    }
    ax.scatter(*dots.at[used].T, zorder=3, label="used by the data", **ring)
    style.add_legend_below(ax, ax.collections[-1:])
