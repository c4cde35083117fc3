"""Hypothesis strategies: small networks, degenerate ones as ordinary draws, and boxes to cut them in.

Every degeneracy holds *exactly* in rational arithmetic on the float64 weights (rows are scaled by powers of two,
creases are led through points with exactly representable biases), so that float64 partitions and exact references must
agree. One drawn integer seeds the weights and the drawn flags spoil them: quick to draw, and it shrinks towards few
units and no flag.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from creases.network._network import Network
from creases.network._reading.arrays import from_arrays

Array = NDArray[np.float64]
Layers = list[tuple[Array, Array]]

#: Sides of named boxes; the first two axes differ so that a mix-up shows, further axes repeat the second.
BOXES: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "unit": ((-1.0, 1.0), (-1.0, 1.0)),
    "corner": ((0.0, 1.0), (0.0, 1.0)),
    "shifted": ((2.0, 3.0), (-1.5, 0.5)),
    "oblong": ((-4.0, 4.0), (-0.0625, 0.125)),
    "decimal": ((-0.3, 0.7), (0.1, 0.9)),
    "huge": ((-(2.0**20), 2.0**20), (-(2.0**19), 2.0**20)),
    "tiny": ((-(2.0**-20), 2.0**-20), (-(2.0**-20), 2.0**-21)),
}

#: What can be wrong with a network, and yet is not: see the functions ``_<name>`` below.
FLAGS = (
    "dead",  # units that never fire in the box (or anywhere near it)
    "duplicate",  # a row repeated
    "scaled",  # a row repeated with another positive length
    "negated",  # a row repeated with the other sign
    "zero_row",  # no weights; the bias positive, negative or zero
    "no_bias",  # all creases of a layer through what the layer before gives for 0
    "parallel",  # equal weights, different biases
    "concurrent",  # all creases of some layers through one point inside the box
    "corner",  # ... through a corner of the box
    "side",  # ... through a point of the box's side, and one crease along that side
    "huge",  # a layer scaled by 2^20
    "tiny",  # a layer scaled by 2^-20
    "uneven",  # every row of a layer with its own scale between 2^-10 and 2^10
    "same_inputs",  # two inputs with equal weights
)


@dataclass(frozen=True)
class Case:
    """A network as arrays, and a box (d, 2) of its inputs."""

    layers: Layers
    leak: float
    box: tuple[tuple[float, float], ...]

    @property
    def net(self) -> Network:
        return from_arrays(self.layers, leak=self.leak)

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.layers[0][0].shape[1], *(len(b) for _, b in self.layers))


@st.composite
def cases(
    draw: st.DrawFn,
    n_in: int | None = None,
    *,
    max_depth: int = 3,
    max_width: int = 6,
    max_flags: int = 3,
) -> Case:
    """Networks with ``n_in`` inputs (1, 2 or 3 if not given), 0 to ``max_depth`` hidden layers, and a box."""
    if n_in is None:
        n_in = draw(st.integers(1, 3))
    hidden = draw(st.lists(st.integers(1, max_width), max_size=max_depth))
    n_out = draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["normal", "uniform", "integer", "eighths"]))
    # Quantised weights with a leak like 1/3, or at a corner like 0.7, coincide but for rounding: floats cannot tell.
    quantised = kind in ("integer", "eighths")
    leak = draw(st.sampled_from([0.0, -1.0, 0.25] if quantised else [0.0, 0.1, 1 / 3, -1.0]))
    names = [name for name in BOXES if not (quantised and name == "decimal")]
    flags = draw(st.sets(st.sampled_from(FLAGS), max_size=max_flags))
    first, second = BOXES[draw(st.sampled_from(names))]
    box = (first, *[second] * (n_in - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layers = _weights(rng, [n_in, *hidden, n_out], kind, box)
    for flag in FLAGS:  # in this order: a later flag may undo an earlier one, never the other way round by chance
        if flag in flags:
            _SPOIL[flag](rng, layers, leak, box)
    return Case(layers, leak, box)


def networks(n_in: int | None = None, *, max_depth: int = 3, max_width: int = 6) -> st.SearchStrategy[Network]:
    """The networks of ``cases`` alone."""
    return cases(n_in, max_depth=max_depth, max_width=max_width).map(lambda case: case.net)


def _weights(rng: np.random.Generator, widths: list[int], kind: str, box: tuple[tuple[float, float], ...]) -> Layers:
    """Weights of one kind; the first layer is scaled and shifted so that its creases meet the box."""
    layers: Layers = []
    for fan_in, fan_out in pairwise(widths):
        shape = (fan_out, fan_in + 1)
        if kind == "normal":
            both = rng.standard_normal(shape)
        elif kind == "uniform":
            both = rng.uniform(-1, 1, shape) / np.sqrt(fan_in)
        elif kind == "integer":
            both = rng.integers(-2, 3, shape).astype(np.float64)
        else:
            both = rng.integers(-12, 13, shape) / 8
        layers.append((both[:, :-1].copy(), both[:, -1].copy()))
    size = np.exp2(np.round(np.log2([(hi - lo) / 2 for lo, hi in box])))
    middle = np.round(np.array([(hi + lo) / 2 for lo, hi in box]) / size * 4) / 4  # in units of size, quantised
    W, b = layers[0]
    b -= W @ middle  # exact for quantised weights
    W /= size  # a power of two: exact
    return layers


def _hidden(rng: np.random.Generator, layers: Layers) -> tuple[Array, Array] | None:
    """One hidden layer, to be spoiled in place."""
    return layers[rng.integers(len(layers) - 1)] if len(layers) > 1 else None


def _copy_row(rng: np.random.Generator, layers: Layers, factor: float) -> None:
    layer = _hidden(rng, layers)
    if layer is not None:
        W, b = layer
        i, j = rng.integers(len(b), size=2)
        W[j], b[j] = factor * W[i], factor * b[i]


def _dead(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    layer = _hidden(rng, layers)
    if layer is not None:
        W, b = layer
        off = rng.random(len(b)) < 0.5
        # With a leak the value still goes on, and one too large would drown the rest in rounding.
        b[off] = -(2.0**30) if leak == 0 else -16 * np.abs(W[off]).max(axis=1)


def _duplicate(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    _copy_row(rng, layers, 1.0)


def _scaled(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    _copy_row(rng, layers, 2.0 ** int(rng.integers(-4, 5)))


def _negated(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    _copy_row(rng, layers, -(2.0 ** int(rng.integers(-1, 2))))


def _zero_row(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    layer = _hidden(rng, layers)
    if layer is not None:
        W, b = layer
        i = rng.integers(len(b))
        W[i], b[i] = 0.0, rng.integers(-1, 2)


def _no_bias(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    layer = _hidden(rng, layers)
    if layer is not None:
        layer[1][:] = 0.0


def _parallel(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    layer = _hidden(rng, layers)
    if layer is not None:
        W, _ = layer
        W[:] = W[0]


def _through(layers: Layers, leak: float, point: list[float], deep: bool) -> None:
    """Biases that lead the first layer's creases exactly through a point; ``deep``: all layers' but for first units."""
    h = [Fraction(float(x)) for x in point]
    for W, b in layers[:-1] if deep else layers[:-1][:1]:
        z = []
        for i, row in enumerate(W):
            value = sum((Fraction(float(w)) * x for w, x in zip(row, h, strict=True)), Fraction(0))
            # Where float64 has no such bias the unit stays as it is; so does the first, or nothing would reach the end.
            if Fraction(float(value)) == value and not (deep and i == 0):
                b[i] = -float(value)
            z.append(value + Fraction(float(b[i])))
        h = [v if v > 0 else Fraction(float(leak)) * v for v in z]


def _concurrent(rng: np.random.Generator, layers: Layers, leak: float, box: tuple[tuple[float, float], ...]) -> None:
    point = [lo + (hi - lo) * int(rng.integers(1, 8)) / 8 for lo, hi in box]
    _through(layers, leak, point, deep=bool(rng.integers(2)))


def _corner(rng: np.random.Generator, layers: Layers, leak: float, box: tuple[tuple[float, float], ...]) -> None:
    point = [side[rng.integers(2)] for side in box]
    _through(layers, leak, point, deep=bool(rng.integers(2)))


def _side(rng: np.random.Generator, layers: Layers, leak: float, box: tuple[tuple[float, float], ...]) -> None:
    axis, end = int(rng.integers(len(box))), int(rng.integers(2))
    point = [lo + (hi - lo) * int(rng.integers(1, 8)) / 8 for lo, hi in box]
    point[axis] = box[axis][end]
    _through(layers, leak, point, deep=False)
    if len(layers) > 1:
        W, b = layers[0]
        W[0], b[0] = 0.0, -box[axis][end]
        W[0, axis] = 1.0


def _scale(rng: np.random.Generator, layers: Layers, exponents: Array) -> None:
    layer = layers[rng.integers(len(layers))]
    factors = np.exp2(np.resize(exponents, len(layer[1])))
    layer[0][:] *= factors[:, None]
    layer[1][:] *= factors


def _huge(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    _scale(rng, layers, np.array([20.0]))


def _tiny(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    _scale(rng, layers, np.array([-20.0]))


def _uneven(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    _scale(rng, layers, rng.integers(-10, 11, size=8).astype(np.float64))


def _same_inputs(rng: np.random.Generator, layers: Layers, leak: float, box: object) -> None:
    W, _ = layers[0]
    W[:, -1] = W[:, 0]


_SPOIL = {
    "dead": _dead,
    "duplicate": _duplicate,
    "scaled": _scaled,
    "negated": _negated,
    "zero_row": _zero_row,
    "no_bias": _no_bias,
    "parallel": _parallel,
    "concurrent": _concurrent,
    "corner": _corner,
    "side": _side,
    "huge": _huge,
    "tiny": _tiny,
    "uneven": _uneven,
    "same_inputs": _same_inputs,
}
