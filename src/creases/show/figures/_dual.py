"""The dual plot: every piece a network uses as a point, at its coefficients (source 002, Figures 7.5 and 7.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from numpy.typing import ArrayLike, NDArray

from creases._typing import Floats
from creases._validation import check_index
from creases.errors import InputError
from creases.show import style

if TYPE_CHECKING:
    from creases.compare import Coefficients
    from creases.regions import PlanePartition


#: Area in square points of the largest and of the smallest dot.
_LARGEST, _SMALLEST = 260.0, 6.0


@dataclass(frozen=True, eq=False)
class _Dots:
    """What is drawn: a dot for each piece."""

    at: Floats  #: (R, 2)
    names: tuple[str, str]
    share: Floats  #: (R,) of the area, or of the samples
    constant: Floats  #: (R,) y of the piece
    decided: NDArray[np.int64] | None  #: (R,)
    links: NDArray[np.integer[Any]]  #: (e, 2) pairs of neighbours


def plot_dual(
    found: PlanePartition | Coefficients,
    *,
    output: int = 0,
    ax: Axes | None = None,
    color: Literal["bias", "class"] = "bias",
    data: ArrayLike | None = None,
    legend: bool = True,
    classes: Sequence[str] | None = None,
) -> Axes:
    """Draw each region's coefficients of one output as a point: where the plane has a region, the dual has a dot.

    Parameters
    ----------
    found
        What :func:`creases.plane` gives: a dot for each region at (J_1, J_2) in slice coordinates, as large as the
        region, lines between neighbours. Or :class:`creases.compare.Coefficients`: a dot for each piece that samples
        use, as large as the number of samples, on the two directions along which the slopes J vary most.
    output
        Which output, from 0.
    ax
        Axes to draw on; new ones unless given.
    color
        ``"bias"``: by the constant y of the piece, about zero; ``"class"``: by the class that is decided in the middle
        of the region (partitions only).
    data
        Points (n, 2) in slice coordinates: the pieces that hold there are ringed (partitions only).
    legend, classes
        Whether to say what the colours mean, and the names of the classes; their numbers unless given.

    Returns
    -------
    Axes
        The axes drawn on.

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

    if color not in ("bias", "class"):
        raise InputError(f"color: expected 'bias' or 'class', got {color!r}")
    plane = isinstance(found, PlanePartition)
    if not plane and (data is not None or color == "class"):
        raise InputError("data, color: samples' coefficients know no regions; give what creases.plane gives")
    output = check_index(output, found.net.n_out if isinstance(found, PlanePartition) else found.n_out, "output")
    dots = _of_plane(found, output) if isinstance(found, PlanePartition) else _of_samples(found, output)
    ax = style.get_axes(ax, 5.6, 5)
    _draw(ax, dots, color, legend, classes)
    if data is not None and isinstance(found, PlanePartition):
        _ring(ax, dots, found, data)
    return ax


def _of_plane(partition: PlanePartition, output: int) -> _Dots:
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


def _of_samples(found: Coefficients, output: int) -> _Dots:
    rows = np.asarray(found.rows(output).double().cpu())  # (p, d + 1)
    scale = float(np.abs(rows).max(initial=0.0)) or 1.0
    _, first, counts = np.unique(np.round(rows / scale, 9), axis=0, return_index=True, return_counts=True)
    J, y = rows[first, :-1], rows[first, -1]
    share = counts / counts.sum()
    none = np.zeros((0, 2), np.int64)
    if J.shape[1] == 2:
        return _Dots(J, ("$J_1$", "$J_2$"), share, y, None, none)
    centred = J - share @ J
    directions = np.linalg.svd(np.sqrt(share)[:, None] * centred, full_matrices=False)[2][:2]  # (<= 2, d)
    at = np.zeros((len(J), 2))
    at[:, : len(directions)] = centred @ directions.T
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
        drawn = ax.scatter(x, y, s=size[order], c=dots.constant[order], cmap=style.value_colormap(), norm=norm, **look)
        if legend:
            style.add_colorbar(ax, drawn, "constant $y$")
    ax.margins(0.1)
    ax.autoscale_view()
    ax.set_xlabel(dots.names[0])
    ax.set_ylabel(dots.names[1])


def _ring(ax: Axes, dots: _Dots, partition: PlanePartition, data: ArrayLike) -> None:
    from creases.show.figures._plane import check_data

    points, _ = check_data(data, None)
    regions = partition.locate(points)
    used = np.unique(regions[regions >= 0])
    ring: dict[str, Any] = {"s": 60, "facecolors": "none", "edgecolors": style.active_theme().accent, "linewidths": 1.4}
    ax.scatter(*dots.at[used].T, zorder=3, label="used by the data", **ring)
    style.add_legend_below(ax, ax.collections[-1:])
