"""A network as layers of ReLUs on one growing list of variables: the input, then the outputs of all units.

Affine steps between bends are multiplied out, a choice among K candidates becomes ReLUs
(``max(a, b) = a + relu(b - a)``, pairwise). What bounds, searches or checks a network then has one kind of unit to deal
with, whatever the steps were: convolutions, residual sums, clamps, pooling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from creases._typing import Bools, Floats
from creases.errors import InputError
from creases.network import Network
from creases.network.program import propagate

#: Most entries of a layer's matrix.
MATRIX_ENTRIES = 2**26


@dataclass(frozen=True, eq=False)
class Layer:
    """Units ``h = z`` where ``z > 0``, else ``leak z``, with ``z = W v + c`` of the variables v before them."""

    W: Floats  #: (units, variables before)
    c: Floats  #: (units,)
    leak: Floats  #: (units,)

    @property
    def first(self) -> int:
        """Number of the variable that its first unit is."""
        return int(self.W.shape[1])


@dataclass(frozen=True, eq=False)
class Layers:
    """A network: layers of ReLUs, then outputs ``W v + c``. Variables are the ``n_in`` inputs, then all units."""

    n_in: int
    layers: tuple[Layer, ...]
    W: Floats  #: (n_out, n_in + units)
    c: Floats  #: (n_out,)

    @property
    def n_units(self) -> int:
        """Number of units of all layers."""
        return int(self.W.shape[1]) - self.n_in

    def units(self, layer: int) -> slice:
        """Return the units of a layer among all units."""
        first = self.layers[layer].first - self.n_in
        return slice(first, first + len(self.layers[layer].c))

    def values(self, u: Floats) -> tuple[Floats, Bools]:
        """Return outputs (b, n_out) and the sides (b, units) at inputs (b, n_in)."""
        v = u
        sides = []
        for layer in self.layers:
            z = v @ layer.W.T + layer.c
            sides.append(z > 0)
            v = np.concatenate([v, np.where(sides[-1], z, layer.leak * z)], axis=1)
        joined = np.concatenate(sides, axis=1) if sides else np.zeros((len(u), 0), bool)
        return v @ self.W.T + self.c, joined

    def piece(self, sides: Bools) -> tuple[Floats, Floats, Floats, Floats]:
        """Return what sides (units,) select: all pre-activations ``A x + a`` and the outputs ``J x + y``.

        Returns
        -------
        A, a, J, y : ndarray (units, n_in), (units,), (n_out, n_in), (n_out,)
        """
        n = self.n_in
        variables = np.zeros((self.W.shape[1], n + 1))  # each variable as an affine function of the input
        variables[:n, :n] = np.eye(n)
        rows = np.zeros((self.n_units, n + 1))
        for k, layer in enumerate(self.layers):
            units = self.units(k)
            z = layer.W @ variables[: layer.first]
            z[:, n] += layer.c
            rows[units] = z
            variables[layer.first : layer.first + len(z)] = np.where(sides[units], 1.0, layer.leak)[:, None] * z
        out = self.W @ variables
        return rows[:, :n], rows[:, n], out[:, :n], out[:, n] + self.c

    def gradients(self, sides: Bools, rows: Floats) -> Floats:
        """Return the gradients (b, n_in) of combinations (b, n_out) of the outputs, at inputs with sides (b, units)."""
        back = rows @ self.W
        for k in reversed(range(len(self.layers))):
            layer = self.layers[k]
            z = back[:, layer.first :] * np.where(sides[:, self.units(k)], 1.0, layer.leak)
            back = back[:, : layer.first] + z @ layer.W
        return back

    def recenter(self, x: Floats, scale: Floats, columns: Bools) -> Layers:
        """Return the function of u, where the chosen columns are ``x + u / scale`` and the others stay at x."""
        free = int(columns.sum())

        def change(W: Floats, c: Floats) -> tuple[Floats, Floats]:
            inner = W[:, : self.n_in]
            return np.hstack([inner[:, columns] / scale[columns], W[:, self.n_in :]]), c + inner @ x

        layers = [Layer(*change(layer.W, layer.c), layer.leak) for layer in self.layers]
        return Layers(free, tuple(layers), *change(self.W, self.c))


def read_layers(net: Network) -> Layers:
    """Return a network (float64, on the CPU) as layers of ReLUs."""
    builder = _Builder(net.n_in)
    start = torch.cat([torch.zeros(1, net.n_in, dtype=torch.float64), torch.eye(net.n_in, dtype=torch.float64)])

    def through(i: int, inputs: list[Tensor]) -> Tensor:
        step = net.steps[i]
        if step.op == "relu":
            return builder.relu(inputs[0], step.leak)
        if step.op == "choice":
            return builder.maximum(inputs[0])
        out = step.linear([builder.pad(value) for value in inputs])
        _check_size(out, step.path)
        if step.offset is not None:
            out = torch.cat([out[:1] + step.offset, out[1:]])
        return out

    with torch.no_grad():
        out = propagate(net, {0: start.reshape(-1, *net.input_shape)}, through)[len(net.steps)]
    W, c = builder.matrix(out)
    return Layers(net.n_in, tuple(builder.layers), W, c)


def _check_size(value: Tensor, path: str) -> None:
    if value.numel() > MATRIX_ENTRIES:
        raise InputError(
            "net",
            f"be small enough to write its layers as matrices of at most {MATRIX_ENTRIES:,} entries",
            f"{value.numel():,}" + (f" at {path}" if path else ""),
        )


class _Builder:
    """Values as coefficients (1 + variables, *shape): the constant first, then one row for each variable."""

    def __init__(self, n_in: int) -> None:
        self.count = n_in
        self.layers: list[Layer] = []

    def pad(self, value: Tensor) -> Tensor:
        """Return coefficients with rows for variables that were added since."""
        missing = 1 + self.count - len(value)
        return value if not missing else torch.cat([value, value.new_zeros(missing, *value.shape[1:])])

    def matrix(self, value: Tensor) -> tuple[Floats, Floats]:
        """Return a value as ``W v + c``: W (size, variables) and c (size,)."""
        flat = self.pad(value).flatten(1).numpy()
        return np.ascontiguousarray(flat[1:].T), flat[0].copy()

    def relu(self, z: Tensor, leak: Tensor | None) -> Tensor:
        """Add a layer of units, and return their outputs."""
        W, c = self.matrix(z)
        shape = z.shape[1:]
        slope = torch.zeros(shape, dtype=torch.float64) if leak is None else leak.expand(shape)
        self.layers.append(Layer(W, c, slope.flatten().numpy().astype(np.float64)))
        first, units = self.count, len(c)
        self.count += units
        out = torch.zeros(1 + self.count, units, dtype=torch.float64)
        out[1 + first + torch.arange(units), torch.arange(units)] = 1.0
        return out.reshape(-1, *shape)

    def maximum(self, z: Tensor) -> Tensor:
        """Return the maximum over the last axis, by units of pairs."""
        while z.shape[-1] > 1:
            half = z.shape[-1] // 2
            a, b, rest = z[..., :half], z[..., half : 2 * half], z[..., 2 * half :]
            more = self.relu(b - a, None)
            z = torch.cat([self.pad(a) + more, self.pad(rest)], dim=-1)
        return z[..., 0]
