"""Networks beside each other: similarities, compression, where two disagree, what a grid sees of a section."""

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
from numpy.typing import ArrayLike, NDArray

from creases._typing import Floats
from creases.errors import InputError
from creases.show import style
from creases.show.figures._plane import axis_names, plane_height

if TYPE_CHECKING:
    from creases.compare import Compression, Section
    from creases.compare.differences import PartitionDifference
    from creases.regions import PlanePartition


#: Values are written into cells of matrices of up to this many networks.
_MOST = 24


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
    """Draw a matrix of similarities of networks, with their accuracies on the diagonal (Figures 7.8 to 7.17).

    Parameters
    ----------
    values
        (N, N), rows and columns by network.
    names
        Of the N networks.
    ax
        Axes to draw on; new ones unless given.
    accuracy
        (N,) shares of samples that each classifies right: written on the diagonal, in percent. The colours are those
        of the other cells.
    distance
        Whether small values mean that networks are alike: these are then dark.
    order
        (N,) the order of rows and columns; that of :func:`creases.compare.measures.similarity_order` unless given.
    label
        What the values are.
    """
    from creases.compare.measures import similarity_order

    S = _square(values)
    if len(names) != len(S):
        raise InputError(f"names: expected {len(S)} of them, one for each row, got {len(names)}")
    own = None if accuracy is None else np.asarray(accuracy, np.float64)
    if own is not None and own.shape != (len(S),):
        raise InputError(f"accuracy: expected {len(S)} of them, one for each network, got shape {own.shape}")
    o = np.asarray(similarity_order(S, distance=distance) if order is None else order, np.int64)
    if sorted(o.tolist()) != list(range(len(S))):
        raise InputError(f"order: expected the numbers 0 to {len(S) - 1}, each once, got {o.tolist()}")
    size = 2.6 + 0.5 * len(S)
    ax = style.get_axes(ax, size + 0.8, size)
    shown = S[np.ix_(o, o)]
    diagonal = None if own is None else [f"{100 * one:.1f}" for one in own[o]]
    _matrix(ax, shown, [names[i] for i in o], [names[i] for i in o], label, diagonal=diagonal, dark_low=distance)
    if own is not None:
        with style.style_context():
            ax.set_title("on the diagonal: right (%)", fontsize=8, loc="left")
    return ax


def plot_compression(results: Mapping[str, Compression], *, ax: Axes | None = None) -> Axes:
    """Draw the accuracy of networks with k pieces for each output against k, and the networks' own (dotted)."""
    if not any(one.k for one in results.values()):
        raise InputError("results: nothing to draw")
    ax = style.get_axes(ax, 6, 4)
    for i, (name, one) in enumerate(results.items()):
        color, mark = style.class_color(i), "os^Dv"[i // len(style.active_theme().classes) % 5]
        ax.plot(one.k, 100 * np.array(one.accuracy), marker=mark, markersize=4, color=color, linewidth=1.3, label=name)
        ax.axhline(100 * one.original, color=color, linewidth=0.8, linestyle=":")
    with style.style_context():
        ax.set_xscale("log")
        ax.set_xlabel("pieces for each output, k")
        ax.set_ylabel("right (%)")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="best", title="dotted: the network itself", title_fontsize=8)
    return ax


def plot_compression_table(results: Mapping[str, Compression], *, ax: Axes | None = None) -> Axes:
    """The same as a table: a row for each network, a column for each k, the network's own accuracy last."""
    ks = {one.k for one in results.values()}
    if len(ks) != 1:
        raise InputError(f"results: expected the same k for all networks, got {sorted(ks)}")
    ax = style.get_axes(ax, 3.4 + 0.6 * (1 + len(next(iter(ks)))), 1.2 + 0.34 * len(results))
    cells = 100 * np.array([[*one.accuracy, one.original] for one in results.values()])
    columns = [*(str(k) for k in next(iter(ks))), "all"]
    _matrix(ax, cells, list(results), columns, "right (%)", form=".1f")
    with style.style_context():
        ax.set_xlabel("pieces for each output")
    return ax


def plot_disagreement(found: PartitionDifference, *, ax: Axes | None = None, names: Sequence[str] = ("a", "b")) -> Axes:
    """Draw what two networks decide on a plane: the first by colour, the second by hatching where it says otherwise.

    The boundary of the first network is a whole line, that of the second dashed. Classes are paler where both agree.
    """
    partition = _plane_of(found)
    ax = style.get_axes(ax, 6, plane_height(partition, 6) + 0.4)
    polygons = np.split(partition.vertices[partition.corners], partition.starts[1:-1])
    strength = np.where(found.differ, 0.6, 0.18)
    colors = np.array(
        [style.tint(style.class_color(int(c)), float(s)) for c, s in zip(found.class_a, strength, strict=True)]
    )
    look: Any = {"rasterized": True, "zorder": 1}
    ax.add_collection(
        PolyCollection(polygons, facecolors=colors, edgecolors=colors, linewidths=0.4, **look), autolim=False
    )
    for c in np.unique(found.class_b[found.differ]).tolist():
        # One path of all: each path is hatched on its own, which takes a millisecond.
        chosen = [Path(polygons[r], closed=False) for r in np.flatnonzero(found.differ & (found.class_b == c))]
        whole = [Path.make_compound_path(*chosen)]
        hatched = PathCollection(whole, facecolors="none", edgecolors=style.class_color(c), hatch="////", **look)
        hatched.set_linewidth(0)
        ax.add_collection(hatched, autolim=False)
    for classes, dashes in ((found.class_a, "solid"), (found.class_b, (0, (3, 2)))):
        lines = _between(partition, classes)
        ax.add_collection(
            LineCollection(lines, colors=style.active_theme().boundary, linewidths=1.1, linestyles=[dashes], zorder=3),
            autolim=False,
        )
    _dress_plane(ax, partition)
    _name_decisions(ax, found, names)
    return ax


def _name_decisions(ax: Axes, found: PartitionDifference, names: Sequence[str]) -> None:
    """Which colour is which class, below the picture; above it how much of the plane differs."""
    first, second = names
    handles: list[Any] = [
        Patch(facecolor=(style.class_color(c), 0.4), edgecolor=style.class_color(c), label=f"class {c}")
        for c in np.union1d(found.class_a, found.class_b).tolist()
    ]
    line: Any = {"color": style.active_theme().boundary, "linewidth": 1.1}
    handles.append(Line2D([], [], linestyle="solid", label=f"boundary of {first}", **line))
    handles.append(Line2D([], [], linestyle="dashed", label=f"boundary of {second}", **line))
    with style.style_context():
        ax.set_title(f"hatched, {100 * found.share:.3g} %: {second} says otherwise", fontsize=9)
    style.add_legend_below(ax, handles)


def plot_section(found: Section) -> Figure:
    """A section as it is, and as a grid sees it by patterns and by coefficients, one random colour for each region.

    After Figure 6.13. Boundaries between classes are black; the three inputs are marked where they are in the picture.
    """
    partition, counts = found.partition, found.counts
    height = plane_height(partition, 3.4) + 0.6
    figure, (exact, pattern, coefficients) = style.new_figure(12, height, panels=3)
    polygons = np.split(partition.vertices[partition.corners], partition.starts[1:-1])
    colors = style.random_colors(partition.count)
    exact.add_collection(
        PolyCollection(polygons, facecolors=colors, edgecolors="face", linewidths=0.2, rasterized=True), autolim=False
    )
    extent = (*partition.box[0], *partition.box[1])
    for ax, groups in ((pattern, found.by_pattern), (coefficients, found.by_coefficients)):
        shown = style.random_colors(int(groups.max()) + 1)[groups]
        ax.imshow(shown, extent=extent, interpolation="nearest", aspect="auto")
    p = len(found.grid)
    titles = [
        f"exact: {counts['exact']} regions",
        f"{p} x {p} points, by pattern: {counts['by pattern']}",
        f"... by coefficients (within {found.tolerance:g}): {counts['by coefficients']}",
    ]
    decision = partition.boundary().segments
    for ax, title in zip((exact, pattern, coefficients), titles, strict=True):
        ax.add_collection(
            LineCollection(list(decision), colors=style.active_theme().boundary, linewidths=1.2), autolim=False
        )
        _dress_plane(ax, partition)
        with style.style_context():
            ax.set_title(title)
        for name, point in zip("ABC", found.points, strict=True):
            if (point >= partition.box[:, 0]).all() and (point <= partition.box[:, 1]).all():
                ax.plot(
                    *point,
                    "o",
                    color=style.active_theme().ink,
                    markeredgecolor=style.active_theme().paper,
                    markersize=6,
                    zorder=5,
                )
                ax.annotate(name, point, (6, 6), textcoords="offset points", color=style.active_theme().ink, zorder=5)
    return figure


def _matrix(
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
    """A matrix as coloured cells with their values; with a text for each cell of the diagonal, those have no colour."""
    own = np.eye(len(values), dtype=bool) if diagonal is not None else np.zeros(values.shape, bool)
    colored = np.where(own, np.nan, values)
    finite = colored[np.isfinite(colored)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    rising = style.amount_colormap(0.05)
    colors = (rising.reversed() if dark_low else rising).with_extremes(bad=style.active_theme().missing)
    power = _power(finite)
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
    if len(columns) > _MOST:
        return
    shown = image.to_rgba(colored)[..., :3]
    for (i, j), number in np.ndenumerate(values):
        written = f"{number:{form}}" if np.isfinite(number) else ""
        if diagonal is not None and i == j:
            written = diagonal[i]
        ink = style.readable_color(shown[i, j])
        ax.text(j, i, written, ha="center", va="center", color=ink, fontsize=7, weight="bold" if own[i, j] else None)


def _power(values: Floats) -> int:
    """The power of ten, a multiple of three, that small or large values are written in units of; 0 for others."""
    most = float(np.abs(values).max(initial=0.0))
    return 0 if most == 0 or 0.1 < most < 1000 else 3 * int(np.floor(np.log10(most) / 3))


def _square(values: ArrayLike) -> Floats:
    S = np.array(values, np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not len(S):
        raise InputError(f"values: expected a matrix (N, N), a row and a column for each network, got shape {S.shape}")
    return S


def _plane_of(found: PartitionDifference) -> PlanePartition:
    from creases.regions import PlanePartition

    if not isinstance(found.partition, PlanePartition):
        raise InputError(f"found: expected a difference on a plane, got one on a {type(found.partition).__name__}")
    return found.partition


def _between(partition: PlanePartition, classes: NDArray[np.int64]) -> list[Floats]:
    """Edges (2, 2) of a partition between regions of different classes."""
    left, right = partition.edge_regions.T
    on = (left >= 0) & (right >= 0)
    on[on] = classes[left[on]] != classes[right[on]]
    return list(partition.vertices[partition.edges[on]])


def _dress_plane(ax: Axes, partition: PlanePartition) -> None:
    with style.style_context():
        ax.set_xlim(*partition.box[0])
        ax.set_ylim(*partition.box[1])
        width, height = np.diff(partition.box, axis=1).ravel()
        ax.set_aspect("equal" if 0.25 <= width / height <= 4 else "auto")
        first, second = axis_names(partition)
        ax.set_xlabel(first)
        ax.set_ylabel(second)
        ax.ticklabel_format(useOffset=False, style="sci", scilimits=(-3, 4))
