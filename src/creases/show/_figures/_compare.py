"""Two networks compared: matrices, maps of the difference, compression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.path import Path
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import ArrayLike, NDArray

from creases._schema import sequence
from creases._typing import Floats
from creases._validation import as_array, check_arguments, check_numbers
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._plane import axis_names, plane_height

if TYPE_CHECKING:
    from creases.compare import Compression
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

    S = _check_square(values)
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
    _draw_matrix(ax, ordered, [names[i] for i in o], [names[i] for i in o], label, diagonal=diagonal, dark_low=distance)
    if shares is not None:
        with style.style_context():
            ax.set_title("diagonal: accuracy (%)", fontsize=8, loc="left")
    return ax


def plot_compression(results: Mapping[str, Compression], *, ax: Axes | None = None) -> Axes:
    """Plot the accuracy of compressed networks against k, the pieces of each output; the original is dotted."""
    if not any(result.k for result in results.values()):
        raise InputError("results", "have at least one k", "none")
    ax = style.get_axes(ax, 6, 4)
    for i, (name, result) in enumerate(results.items()):
        color, mark = style.class_color(i), "os^Dv"[i // len(style.active_theme().classes) % 5]
        ax.plot(
            result.k, 100 * np.array(result.accuracy), marker=mark, markersize=4, color=color, linewidth=1.3, label=name
        )
        ax.axhline(100 * result.original, color=color, linewidth=0.8, linestyle=":")
    with style.style_context():
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.set_xlabel("pieces per output, k")
        ax.set_ylabel("accuracy (%)")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="best", title="dotted: full network", title_fontsize=8)
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
        lines = _class_edges(partition, classes)
        ax.add_collection(
            LineCollection(lines, colors=style.active_theme().boundary, linewidths=1.1, linestyles=[dashes], zorder=3),
            autolim=False,
        )
    _format_plane_axes(ax, partition)
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
    ax: Axes,
    values: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    *,
    diagonal: Sequence[str] | None = None,
    dark_low: bool = False,
    form: str | None = None,
) -> None:
    """Draw a matrix as colored cells with their values; cells of a given diagonal have its text and no color."""
    on_diagonal = np.eye(len(values), dtype=bool) if diagonal is not None else np.zeros(values.shape, bool)
    colored = np.where(on_diagonal, np.nan, values)
    finite = colored[np.isfinite(colored)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    rising = style.amount_colormap(0.05)
    colors = (rising.reversed() if dark_low else rising).with_extremes(bad=style.active_theme().missing)
    power = _unit_power(finite)
    values = values / 10.0**power
    form = form or (".3f" if ((finite > 0.995) & (finite < 1)).any() else ".2f")
    with style.style_context():
        image = ax.imshow(colored, colors, vmin=low, vmax=high if high > low else low + 1, aspect="auto")
        slanted = max(map(len, columns)) > 4
        ax.set_xticks(range(len(columns)), columns)
        if slanted:
            ax.tick_params("x", labelrotation=45)
            for text in ax.get_xticklabels():
                text.set(ha="right", rotation_mode="anchor")
        ax.set_yticks(range(len(rows)), rows)
        ax.set_xticks(np.arange(1, len(columns)) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, len(rows)) - 0.5, minor=True)
        ax.grid(which="minor", color=style.active_theme().paper, linewidth=1.2)
        ax.tick_params(which="both", length=0)
        ax.spines[:].set_visible(False)
        if high > low:
            style.add_colorbar(ax, image, label, shrink=0.7)
    if power:
        with style.style_context():
            ax.set_title(f"in units of $10^{{{power}}}$", fontsize=8, loc="right")
    if len(columns) > _MAX_ANNOTATED:
        return
    cells = image.to_rgba(colored)[..., :3]
    for (i, j), number in np.ndenumerate(values):
        cell_text = f"{number:{form}}" if np.isfinite(number) else ""
        if diagonal is not None and i == j:
            cell_text = diagonal[i]
        ink = style.readable_color(cells[i, j])
        ax.text(
            j,
            i,
            cell_text,
            ha="center",
            va="center",
            color=ink,
            fontsize=7,
            weight="bold" if on_diagonal[i, j] else None,
        )


def _unit_power(values: Floats) -> int:
    """Return the power of ten, a multiple of three, to write small or large values in; 0 for others."""
    largest = float(np.abs(values).max(initial=0.0))
    return 0 if largest == 0 or 0.1 < largest < 1000 else 3 * int(np.floor(np.log10(largest) / 3))


def _check_square(values: ArrayLike) -> Floats:
    S = check_numbers(values, "values")
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not len(S):
        raise InputError("values", "be a matrix (N, N), a row and a column for each network", f"shape {S.shape}")
    return S


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


def _class_edges(partition: PlanePartition, classes: NDArray[np.int64]) -> list[Floats]:
    """Return the edges (2, 2) of a partition between regions of different classes."""
    left, right = partition.edge_regions.T
    on = (left >= 0) & (right >= 0)
    on[on] = classes[left[on]] != classes[right[on]]
    return list(partition.vertices[partition.edges[on]])


def _format_plane_axes(ax: Axes, partition: PlanePartition) -> None:
    with style.style_context():
        ax.set_xlim(*partition.box[0])
        ax.set_ylim(*partition.box[1])
        width, height = np.diff(partition.box, axis=1).ravel()
        ax.set_aspect("equal" if 0.25 <= width / height <= 4 else "auto")
        first, second = axis_names(partition)
        ax.set_xlabel(first)
        ax.set_ylabel(second)
        ax.ticklabel_format(useOffset=False, style="sci", scilimits=(-3, 4))
