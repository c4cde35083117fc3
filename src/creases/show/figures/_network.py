"""A network as units and weights: layer by layer, the newest units marked."""

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

from creases._typing import Floats
from creases._validation import check_count, check_index
from creases.errors import InputError
from creases.show import style
from creases.show.figures._marks import new_units

if TYPE_CHECKING:
    from creases.growth import Record
    from creases.network import Network


#: Entries of a layer's matrix beyond which it is not computed: such a layer is no drawing of units and weights.
_MOST_WEIGHTS = 4_000_000


@dataclass(frozen=True, eq=False)
class _Layer:
    """Inputs, units of a bend, or outputs, as they are drawn."""

    name: str
    width: int
    shown: NDArray[np.int64]  #: numbers of those that are drawn
    weights: Floats | None  #: (width, width of the layer before); None for the inputs
    x: float
    y: Floats  #: (shown,) heights, the first on top
    gap: float | None  #: where dots stand for those that are left out


def plot_network(
    model: Any,
    *,
    newest: Sequence[int] = (),
    record: Record | None = None,
    ax: Axes | None = None,
    features: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    most: int = 12,
) -> Axes:
    """Draw a network: a node for every input, unit and output, a line for every weight.

    Lines are as wide as weights are large (within a layer), in the colour of class 1 for positive ones and of class 0
    for negative ones. What lies between two bends is one map, whatever it is made of.

    Parameters
    ----------
    model
        A network, or what :func:`creases.read` reads; each step must use the value of the one before.
    newest
        Units to mark, by their numbers in the network.
    record
        A growth step that made this network: its new units are marked.
    ax
        Axes to draw on; new ones unless given.
    features, classes
        Names of the inputs and of the outputs.
    most
        Nodes of a layer that are drawn at most; of wider ones the first and the last, and those that are marked.

    Returns
    -------
    Axes
        The axes drawn on.

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
    marked = {check_index(unit, net.n_units, "newest") for unit in newest}
    marked |= set(new_units(net, record)) if record is not None else set()
    most = max(3, check_count(most, "most"))
    for names, count, what in ((features, net.n_in, "features"), (classes, net.n_out, "classes")):
        if names is not None and len(names) != count:
            raise InputError(f"{what}: expected {count} names, got {len(names)}")
    layers = _layers(net, marked, most)
    ax = style.get_axes(ax, 1.6 + 1.7 * len(layers), 1.2 + 0.34 * max(len(layer.shown) for layer in layers))
    with style.style_context():
        for before, layer in pairwise(layers):
            _draw_weights(ax, before, layer)
        starts = [None, *net.unit_starts.tolist()[:-1], None]
        for layer, start in zip(layers, starts, strict=True):
            _draw_nodes(ax, layer, set() if start is None else {unit - start for unit in marked})
        _name(ax, layers, features, classes)
        _say_colors(ax, bool(marked))
    return ax


def _network(model: Any) -> Network:
    from creases.network import Network, read

    net: Network = model if isinstance(model, Network) else read(model)
    for number, step in enumerate(net.steps):
        if step.inputs != (number,):
            raise InputError(
                f"model: only chains can be drawn as units and weights; {step.path or step.op!r} uses values of other "
                "steps than the one before it"
            )
    return net


def _layers(net: Network, marked: set[int], most: int) -> list[_Layer]:
    ends = [*net.bends, len(net.steps)]
    sizes = [net.n_in, *np.diff(net.unit_starts).tolist(), net.n_out]
    starts, layers = [0, *(bend + 1 for bend in net.bends)], []
    for number, width in enumerate(sizes):
        own: set[int] = set()
        if 0 < number < len(sizes) - 1:
            own = {unit - int(net.unit_starts[number - 1]) for unit in marked}
        shown = _chosen(width, {unit for unit in own if 0 <= unit < width}, most)
        weights = None if number == 0 else _matrix(net, starts[number - 1], ends[number - 1])
        kind = "input" if number == 0 else "output" if number == len(sizes) - 1 else "unit"
        y, gap = _heights(shown)
        layers.append(
            _Layer(f"{width} {kind}{'' if width == 1 else 's'}", width, shown, weights, float(number), y, gap)
        )
    return layers


def _matrix(net: Network, start: int, stop: int) -> Floats:
    """The linear map (out, in) of the affine steps from ``start`` on, to before ``stop``; of a choice, its candidates'.

    Each unit of a choice among K candidates has the mean of their weights.
    """
    import torch

    shape = net.shapes[start]
    width = int(np.prod(shape))
    out = int(np.prod(net.shapes[stop]))
    if width * out > _MOST_WEIGHTS:
        raise InputError(f"model: a map from {width} to {out} values is too large to be drawn as units and weights")
    value = torch.eye(width, dtype=net.dtype, device=net.device).reshape(width, *shape)
    for step in net.steps[start:stop]:
        value = step.linear([value])
    if stop < len(net.steps) and net.steps[stop].op == "choice":
        value = value.mean(dim=-1)
    return np.asarray(value.reshape(width, -1).T.double().cpu())


def _chosen(width: int, own: set[int], most: int) -> NDArray[np.int64]:
    """Numbers of the nodes that are drawn: all, or the marked ones and then the first and the last."""
    if width <= most:
        return np.arange(width)
    chosen = set(sorted(own)[-most:])
    for k in range(width):
        for one in (k, width - 1 - k):
            if len(chosen) < most:
                chosen.add(one)
    return np.array(sorted(chosen), np.int64)


def _heights(shown: NDArray[np.int64]) -> tuple[Floats, float | None]:
    """Heights one apart about 0, with room at the widest gap in the numbers."""
    gaps = np.diff(shown)
    at = int(gaps.argmax()) if len(gaps) and gaps.max() > 1 else None
    y = -np.arange(len(shown), dtype=np.float64)
    if at is not None:
        y[at + 1 :] -= 1
    y -= (y[0] + y[-1]) / 2
    return y, None if at is None else float((y[at] + y[at + 1]) / 2)


def _draw_weights(ax: Axes, before: _Layer, layer: _Layer) -> None:
    assert layer.weights is not None
    w = layer.weights[np.ix_(layer.shown, before.shown)]
    largest = float(np.abs(layer.weights).max(initial=0.0)) or 1.0
    size = np.abs(w) / largest
    order = np.argsort(size, axis=None)  # large ones on top
    to, out = np.unravel_index(order, w.shape)
    kept = size[to, out] > 0.01
    to, out = to[kept], out[kept]
    segments = [[(before.x, before.y[j]), (layer.x, layer.y[i])] for i, j in zip(to, out, strict=True)]
    colors = [
        (*style.tint(style.class_color(int(w[i, j] > 0)), 0.35 + 0.65 * size[i, j]),)
        for i, j in zip(to, out, strict=True)
    ]
    ax.add_collection(LineCollection(segments, colors=colors, linewidths=0.3 + 2.4 * size[to, out], zorder=1))


def _draw_nodes(ax: Axes, layer: _Layer, marked: set[int]) -> None:
    theme = style.active_theme()
    new = np.isin(layer.shown, list(marked))
    for which, face, edge, width in ((~new, theme.paper, theme.ink, 0.9), (new, theme.accent, theme.accent, 1.5)):
        if which.any():
            x, y = np.full(which.sum(), layer.x), layer.y[which]
            look: dict[str, Any] = {"s": 90, "facecolors": face, "edgecolors": edge, "linewidths": width}
            ax.scatter(x, y, zorder=3, **look)
    if layer.gap is not None:
        y = layer.gap + np.array([-0.25, 0.0, 0.25])
        ax.scatter(np.full(3, layer.x), y, s=5, color=theme.ink, linewidths=0, zorder=3)


def _say_colors(ax: Axes, marked: bool) -> None:
    handles: list[Any] = [
        Line2D([], [], color=style.class_color(sign), linewidth=2, label=f"{name} weight")
        for sign, name in ((1, "positive"), (0, "negative"))
    ]
    if marked:
        look: dict[str, Any] = {"markersize": 8, "color": style.active_theme().accent, "linestyle": "none"}
        handles.append(Line2D([], [], marker="o", label="newest", **look))
    close: Any = {"handlelength": 1.0, "handletextpad": 0.5, "columnspacing": 1.0, "borderaxespad": 0}
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, **close)


def _name(ax: Axes, layers: list[_Layer], features: Sequence[str] | None, classes: Sequence[str] | None) -> None:
    """Names of inputs to the left and of outputs to the right, what each layer is below it."""
    text: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8}
    for layer, names, side in ((layers[0], features, -1), (layers[-1], classes, 1)):
        for number, y in zip(layer.shown.tolist(), layer.y.tolist(), strict=True) if names is not None else ():
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
