"""Plots of networks as units and weights, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from creases._schema import INTEGER, any_of, instance, optional, sequence
from creases._text import plural
from creases._typing import Floats
from creases._validation import check_arguments, check_choice, check_count, check_index
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._marks import new_units

if TYPE_CHECKING:
    from creases.compare import Coefficients
    from creases.growth import Record
    from creases.network import Network
    from creases.regions import PlanePartition


#: Largest matrix of a layer, in entries, that is computed: larger ones cannot be drawn anyway.
_MAX_WEIGHTS = 4_000_000


@dataclass(frozen=True, eq=False)
class _Layer:
    """Inputs, units of a bend, or outputs, with their positions."""

    name: str
    width: int
    nodes: NDArray[np.int64]  #: numbers of the nodes drawn
    weights: Floats | None  #: (width, width of the layer before); None for the inputs
    x: float
    y: Floats  #: (shown,) heights, the first on top
    gap: float | None  #: height of the dots that stand for omitted nodes


@check_arguments(newest=sequence(INTEGER), features=optional(sequence()))
def plot_network(
    model: Any,
    *,
    newest: Sequence[int] = (),
    record: Record | None = None,
    ax: Axes | None = None,
    features: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    max_nodes: int = 12,
) -> Axes:
    """Plot a network: a node for each input, unit and output, a line for each weight.

    The width of a line is the magnitude of the weight, relative to its layer; positive weights have the color of class
    1, negative ones that of class 0. All steps between two bends are drawn as one linear map.

    Parameters
    ----------
    model
        A network, a torch module or a file name; each step must use the value of the previous one only.
    newest
        Numbers of the units to mark.
    record
        The growth step that created this network: its new units are marked.
    ax
        Axes to draw on; new ones by default.
    features, classes
        Names of the inputs and of the outputs.
    max_nodes
        Maximal number of nodes drawn for a layer: the marked ones, then the first and the last.

    Examples
    --------
    >>> import creases
    >>> from creases.show import plot_network
    >>> net = creases.read([([[1.0, 0.0], [0.0, -1.0]], [0.0, 0.0]), ([[1.0, 2.0]], [0.0])])
    >>> ax = plot_network(net, newest=[1])
    >>> [text.get_text() for text in ax.texts][-3:]
    ['2 inputs', '2 units', '1 output']
    """
    net = _network(model)
    highlighted = {check_index(unit, net.n_units, "newest") for unit in newest}
    highlighted |= set(new_units(net, record)) if record is not None else set()
    max_nodes = max(3, check_count(max_nodes, "max_nodes"))
    for names, count, what in ((features, net.n_in, "features"), (classes, net.n_out, "classes")):
        if names is not None and len(names) != count:
            raise InputError(what, f"have {count} names", str(len(names)))
    layers = _layers(net, highlighted, max_nodes)
    ax = style.get_axes(ax, 1.6 + 1.7 * len(layers), 1.2 + 0.34 * max(len(layer.nodes) for layer in layers))
    with style.style_context():
        for before, layer in pairwise(layers):
            _draw_weights(ax, before, layer)
        starts = [None, *net.unit_starts.tolist()[:-1], None]
        for layer, start in zip(layers, starts, strict=True):
            _draw_nodes(ax, layer, set() if start is None else {unit - start for unit in highlighted})
        _write_names(ax, layers, features, classes)
        _add_legend(ax, bool(highlighted))
    return ax


def _network(model: Any) -> Network:
    from creases.network import as_network

    net = as_network(model)
    for number, step in enumerate(net.steps):
        if step.inputs != (number,):
            raise InputError(
                "model",
                "be a chain of steps to be drawn as units and weights",
                f"{step.path or step.op!r}, which uses values of steps other than the previous one",
            )
    return net


def _layers(net: Network, highlighted: set[int], max_nodes: int) -> list[_Layer]:
    ends = [*net.bends, len(net.steps)]
    sizes = [net.n_in, *np.diff(net.unit_starts).tolist(), net.n_out]
    starts, layers = [0, *(bend + 1 for bend in net.bends)], []
    for number, width in enumerate(sizes):
        local: set[int] = set()
        if 0 < number < len(sizes) - 1:
            local = {unit - int(net.unit_starts[number - 1]) for unit in highlighted}
        nodes = _choose_nodes(width, {unit for unit in local if 0 <= unit < width}, max_nodes)
        weights = None if number == 0 else _matrix(net, starts[number - 1], ends[number - 1])
        kind = "input" if number == 0 else "output" if number == len(sizes) - 1 else "unit"
        y, gap = _heights(nodes)
        layers.append(_Layer(plural(width, kind), width, nodes, weights, float(number), y, gap))
    return layers


def _matrix(net: Network, start: int, stop: int) -> Floats:
    """Return the linear map (out, in) of the affine steps ``start`` to ``stop - 1``.

    A unit that chooses among K candidates gets the mean of their weights.
    """
    import torch

    shape = net.shapes[start]
    width = int(np.prod(shape))
    out = int(np.prod(net.shapes[stop]))
    if width * out > _MAX_WEIGHTS:
        raise InputError(
            "model",
            f"have layers of at most {_MAX_WEIGHTS:,} weights to be drawn",
            f"a map from {width} to {out} values",
        )
    value = torch.eye(width, dtype=net.dtype, device=net.device).reshape(width, *shape)
    for step in net.steps[start:stop]:
        value = step.linear([value])
    if stop < len(net.steps) and net.steps[stop].op == "choice":
        value = value.mean(dim=-1)
    return np.asarray(value.reshape(width, -1).T.double().cpu())


def _choose_nodes(width: int, highlighted: set[int], max_nodes: int) -> NDArray[np.int64]:
    """Return the numbers of the nodes to draw: all, or the marked ones and then the first and the last."""
    if width <= max_nodes:
        return np.arange(width)
    nodes = set(sorted(highlighted)[-max_nodes:])
    for k in range(width):
        for node in (k, width - 1 - k):
            if len(nodes) < max_nodes:
                nodes.add(node)
    return np.array(sorted(nodes), np.int64)


def _heights(nodes: NDArray[np.int64]) -> tuple[Floats, float | None]:
    """Return heights one apart, centered at 0, with a gap at the widest jump in the numbers."""
    gaps = np.diff(nodes)
    at = int(gaps.argmax()) if len(gaps) and gaps.max() > 1 else None
    y = -np.arange(len(nodes), dtype=np.float64)
    if at is not None:
        y[at + 1 :] -= 1
    y -= (y[0] + y[-1]) / 2
    return y, None if at is None else float((y[at] + y[at + 1]) / 2)


def _draw_weights(ax: Axes, before: _Layer, layer: _Layer) -> None:
    assert layer.weights is not None
    w = layer.weights[np.ix_(layer.nodes, before.nodes)]
    largest = float(np.abs(layer.weights).max(initial=0.0)) or 1.0
    size = np.abs(w) / largest
    order = np.argsort(size, axis=None)  # large ones on top
    to, out = np.unravel_index(order, w.shape)
    visible = size[to, out] > 0.01
    to, out = to[visible], out[visible]
    segments = [[(before.x, before.y[j]), (layer.x, layer.y[i])] for i, j in zip(to, out, strict=True)]
    colors = [
        (*style.tint(style.class_color(int(w[i, j] > 0)), 0.35 + 0.65 * size[i, j]),)
        for i, j in zip(to, out, strict=True)
    ]
    ax.add_collection(LineCollection(segments, colors=colors, linewidths=0.3 + 2.4 * size[to, out], zorder=1))


def _draw_nodes(ax: Axes, layer: _Layer, highlighted: set[int]) -> None:
    theme = style.active_theme()
    new = np.isin(layer.nodes, list(highlighted))
    for which, face, edge, width in ((~new, theme.paper, theme.ink, 0.9), (new, theme.accent, theme.accent, 1.5)):
        if which.any():
            x, y = np.full(which.sum(), layer.x), layer.y[which]
            look: dict[str, Any] = {"s": 90, "facecolors": face, "edgecolors": edge, "linewidths": width}
            ax.scatter(x, y, zorder=3, **look)
    if layer.gap is not None:
        y = layer.gap + np.array([-0.25, 0.0, 0.25])
        ax.scatter(np.full(3, layer.x), y, s=5, color=theme.ink, linewidths=0, zorder=3)


def _add_legend(ax: Axes, highlighted: bool) -> None:
    handles: list[Any] = [
        Line2D([], [], color=style.class_color(sign), linewidth=2, label=f"{name} weight")
        for sign, name in ((1, "positive"), (0, "negative"))
    ]
    if highlighted:
        look: dict[str, Any] = {"markersize": 8, "color": style.active_theme().accent, "linestyle": "none"}
        handles.append(Line2D([], [], marker="o", label="newest", **look))
    close: Any = {"handlelength": 1.0, "handletextpad": 0.5, "columnspacing": 1.0, "borderaxespad": 0}
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, **close)


def _write_names(ax: Axes, layers: list[_Layer], features: Sequence[str] | None, classes: Sequence[str] | None) -> None:
    """Write input names on the left, output names on the right, and the size of each layer below it."""
    text: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8}
    for layer, names, side in ((layers[0], features, -1), (layers[-1], classes, 1)):
        for number, y in zip(layer.nodes.tolist(), layer.y.tolist(), strict=True) if names is not None else ():
            ax.annotate(names[number], (layer.x, y), (9 * side, 0), ha="left" if side > 0 else "right", **text)  # type: ignore[index]
    bottom = min(float(layer.y.min()) for layer in layers) - 0.9
    top = max(float(layer.y.max()) for layer in layers) + 0.6
    for layer in layers:
        ax.annotate(layer.name, (layer.x, bottom), (0, 0), ha="center", **text)
    longest = [
        max((len(name) for name in names), default=0) if names is not None else 0 for names in (features, classes)
    ]
    ax.set_xlim(-0.45 - 0.05 * longest[0], len(layers) - 0.55 + 0.05 * longest[1])
    ax.set_ylim(bottom - 0.5, top)
    ax.axis("off")


# The dual plot: each linear piece of a network as a point at its coefficients.

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
