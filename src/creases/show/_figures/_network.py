"""Plots of networks as units and weights, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from creases._arguments import check_arguments
from creases._schema import INTEGER, optional, sequence
from creases._text import plural
from creases._typing import Floats
from creases._validation import check_count, check_index
from creases.errors import InputError
from creases.show import _style as style
from creases.show._figures._marks import new_units

if TYPE_CHECKING:
    from creases.growth import Record
    from creases.network import Network


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
