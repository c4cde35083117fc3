"""Random networks and boxes to judge proofs on: columns of any scale, ties, duplicates, dead units, leaks, clamps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

import creases
from rational_regions import IDENTITY, Array, Bend, Layer, Regions, clamp, leaky, regions

#: How columns and boxes are scaled, and how often.
SCALES = {"ordinary": 0.4, "wide": 0.35, "thin": 0.25}


@dataclass(frozen=True, eq=False)
class Case:
    """A network, a box, rows of a polytope in it, and another network to compare with."""

    seed: int
    scale: str
    layers: list[Layer]
    other: list[Layer]
    box: Array  #: (n, 2)
    A: Array | None
    b: Array | None

    @property
    def n_in(self) -> int:
        return len(self.box)

    @property
    def n_out(self) -> int:
        return len(self.layers[-1].b)

    @property
    def polytope(self) -> dict[str, Any]:
        return {} if self.A is None else {"A": self.A, "b": self.b}

    def net(self) -> Any:
        return build(self.layers)

    def regions(self, limit: int) -> Regions | None:
        """Return the regions of the polytope."""
        return regions([self.layers], self.box, A=self.A, b=self.b, limit=limit)

    def joint_regions(self, limit: int) -> Regions | None:
        """Return the regions of both networks in the box."""
        return regions([self.layers, self.other], self.box, limit=limit)


def build(layers: list[Layer]) -> Any:
    """Return the network as creases reads it: from arrays if its bends are alike and at 0, else from torch."""
    bends = {layer.bend for layer in layers[:-1]}
    if len(bends) <= 1 and all(bend.breaks == (0.0,) for bend in bends):
        leak = bends.pop().slopes[0] if bends else 0.0
        return creases.read([(layer.W, layer.b) for layer in layers], leak=leak)
    modules: list[nn.Module] = []
    for layer in layers:
        linear = nn.Linear(layer.W.shape[1], layer.W.shape[0]).double()
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(layer.W))
            linear.bias.copy_(torch.from_numpy(layer.b))
        modules.append(linear)
        if len(layer.bend.breaks) == 2:
            modules.append(nn.Hardtanh(*layer.bend.breaks))
        elif layer.bend.breaks:
            leak = layer.bend.slopes[0]
            modules.append(nn.LeakyReLU(leak) if leak else nn.ReLU())
    return creases.read(nn.Sequential(*modules), (layers[0].W.shape[1],))


def random_case(seed: int, n_in: int | None = None) -> Case:
    """Return a case by its seed."""
    rng = np.random.default_rng(seed)
    scale = str(rng.choice(list(SCALES), p=list(SCALES.values())))
    n = n_in or int(rng.choice([2, 3, 4, 5, 6, 7, 8], p=[0.05, 0.05, 0.1, 0.3, 0.2, 0.15, 0.15]))
    box = _box(rng, n, scale)
    layers = _network(rng, box)
    other = _relative(rng, layers, box)
    A = b = None
    if rng.random() < 0.2:
        A, b = _polytope(rng, box)
    return Case(seed, scale, layers, other, box, A, b)


def _box(rng: np.random.Generator, n: int, scale: str) -> Array:
    if scale == "ordinary":
        size = 10.0 ** rng.uniform(-1, 1, n)
        middle = size * rng.uniform(-3, 3, n) * (rng.random() < 0.5)
    elif scale == "wide":
        size = 10.0 ** rng.uniform(-8, 8, n)
        middle = size * rng.uniform(-3, 3, n) * (rng.random() < 0.5)
    else:  # far narrower than it is from 0
        middle = 10.0 ** rng.uniform(-1, 1, n) * rng.choice([-1.0, 1.0], n)
        size = np.abs(middle) * 1e-6
    if rng.random() < 0.3:  # round numbers
        size, middle = np.exp2(np.round(np.log2(size))), np.round(middle, 3)
    return np.stack([middle - size, middle + size], axis=1)


def _bend(rng: np.random.Generator) -> Bend:
    kind = rng.choice(["relu", "leaky", "clamp", "odd"], p=[0.5, 0.22, 0.22, 0.06])
    if kind == "relu":
        return leaky()
    if kind == "leaky":
        return leaky(float(rng.choice([0.01, 0.125, 0.2])))
    if kind == "odd":
        return leaky(float(rng.choice([-0.5, 2.0, 1.0])))
    return clamp(*[(0.0, 6.0), (0.0, 1.0), (-1.0, 1.0)][rng.integers(3)])


def _network(rng: np.random.Generator, box: Array) -> list[Layer]:
    n = len(box)
    depth = int(rng.choice([1, 2, 3], p=[0.35, 0.45, 0.2]))
    total = int(rng.integers(6, 21 if depth == 1 else 17))
    widths = [max(total // depth, 2)] * depth
    m = int(rng.choice([1, 2, 3], p=[0.35, 0.35, 0.3]))
    bend, rising = _bend(rng), rng.random() < 0.4
    spread = float(rng.choice([0.3, 0.6, 1.5]))  # of the biases: larger ones leave fewer units undecided
    layers = []
    fan_in = n
    for k, width in enumerate([*widths, m]):
        W = rng.standard_normal((width, fan_in)) / np.sqrt(fan_in)
        if rising:
            W = np.abs(W) * np.where(rng.random(W.shape) < 0.06, -1.0, 1.0)
        W = np.where(rng.random(W.shape) < rng.choice([0.0, 0.0, 0.3]), 0.0, W)
        b = rng.standard_normal(width) * spread
        if len(bend.breaks) == 2 and k < len(widths):
            W, b = 2.0 * W, 2.0 * b
        layers.append(Layer(W, b, bend if k < len(widths) else IDENTITY))
        fan_in = width
    _spoil(rng, layers)
    if rng.random() < 0.1:  # affine steps that follow one another
        k = int(rng.integers(len(layers)))
        W = np.eye(len(layers[k].b)) + 0.1 * rng.standard_normal((len(layers[k].b),) * 2)
        layers[k : k + 1] = [Layer(layers[k].W, layers[k].b), Layer(W, np.zeros(len(W)), layers[k].bend)]
    return [_to_units(layers[0], box), *layers[1:]]


def _to_units(layer: Layer, box: Array) -> Layer:
    """Return a layer of [-1, 1]^n as one of a box, but for rounding."""
    middle, radius = box.mean(axis=1), np.ptp(box, axis=1) / 2
    return Layer(layer.W / radius, layer.b - layer.W @ (middle / radius), layer.bend)


def _spoil(rng: np.random.Generator, layers: list[Layer]) -> None:
    """Make ties, duplicates, mirrored, dead and constant units now and then, in place."""
    if rng.random() < 0.25:  # few values
        for layer in layers:
            layer.W[:], layer.b[:] = np.round(2 * layer.W) / 2, np.round(2 * layer.b) / 2
    for layer in layers[:-1]:
        i, j = rng.integers(len(layer.b), size=2)
        how = rng.choice(["", "duplicate", "scaled", "mirrored", "dead", "constant", "centered"], p=[0.4, *[0.1] * 6])
        if how in ("duplicate", "scaled", "mirrored"):
            factor = {"duplicate": 1.0, "scaled": 3.0, "mirrored": -1.0}[how]
            layer.W[j], layer.b[j] = factor * layer.W[i], factor * layer.b[i]
        elif how == "dead":
            layer.b[i] = -40.0
        elif how == "constant":
            layer.W[i] = 0.0
        elif how == "centered":
            layer.b[:] = 0.0
    last = layers[-1]
    if len(last.b) > 1 and rng.random() < 0.1:
        last.W[1], last.b[1] = last.W[0], last.b[0]  # two outputs that are always equal


def _relative(rng: np.random.Generator, layers: list[Layer], box: Array) -> list[Layer]:
    """Return a network to compare with: rounded, perturbed, scaled, with a unit less, or of its own."""
    how = rng.choice(["rounded", "perturbed", "scaled", "removed", "other"], p=[0.25, 0.25, 0.15, 0.2, 0.15])
    copy = [Layer(layer.W.copy(), layer.b.copy(), layer.bend) for layer in layers]
    if how == "rounded":
        return [Layer(_round(part.W), _round(part.b), part.bend) for part in copy]
    if how == "perturbed":
        return [Layer(part.W * (1 + 1e-3 * rng.standard_normal(part.W.shape)), part.b, part.bend) for part in copy]
    if how == "scaled":
        return [*copy[:-1], Layer(2.0 * copy[-1].W, 2.0 * copy[-1].b)]
    if how == "removed" and len(copy) > 1:
        copy[-1].W[:, int(rng.integers(copy[-1].W.shape[1]))] = 0.0
        return copy
    width = 4
    first = Layer(rng.standard_normal((width, len(box))), rng.standard_normal(width), leaky())
    last = Layer(rng.standard_normal((len(copy[-1].b), width)), rng.standard_normal(len(copy[-1].b)))
    return [_to_units(first, box), last]


def _round(values: Array) -> Array:
    """Return values with 11 bits, as bfloat16 and float16 have them, of any exponent."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2048) / 2048, exponent)


def _polytope(rng: np.random.Generator, box: Array) -> tuple[Array, Array]:
    """Return one or two rows that leave the middle of the box."""
    middle, radius = box.mean(axis=1), np.ptp(box, axis=1) / 2
    A = rng.standard_normal((int(rng.integers(1, 3)), len(box))) / radius
    return A, A @ middle + rng.uniform(0.1, 1.0, len(A))


# -- cases with a history ---------------------------------------------------------------------------------------------


def rising_case(seed: int, size: float = 1e6) -> Case:
    """Return a network that nearly rises with each of its five columns, which are in units of ``size``."""
    rng, n = np.random.default_rng(seed), 5
    first = np.abs(rng.normal(size=(6, n))) * np.where(rng.random((6, n)) < 0.15, -1, 1) / size, rng.normal(size=6)
    second = np.abs(rng.normal(size=(6, 6))) * np.where(rng.random((6, 6)) < 0.1, -1, 1), rng.normal(size=6)
    last = np.abs(rng.normal(size=(1, 6))), np.zeros(1)
    layers = [Layer(*first, leaky()), Layer(*second, leaky()), Layer(*last)]
    return Case(seed, "wide", layers, layers, np.array([[-size, size]] * n), None, None)


def table_case(seed: int, largest: float) -> Case:
    """Return a 5-7-5-1 network of columns with ordinary units of a table: the largest, 1e3, 10, 1 and 1."""
    rng, ranges = np.random.default_rng(seed), np.array([largest, 1e3, 10.0, 1.0, 1.0])
    layers = []
    for fan_in, width in ((5, 7), (7, 5), (5, 1)):
        bend = leaky() if width > 1 else IDENTITY
        layers.append(Layer(rng.standard_normal((width, fan_in)) / np.sqrt(fan_in), rng.standard_normal(width), bend))
    box = np.stack([-ranges, ranges], axis=1)
    layers[0] = Layer(layers[0].W / ranges, layers[0].b, layers[0].bend)
    return Case(seed, "wide", layers, layers, box, None, None)
