"""A network as layers of ReLUs on one growing list of variables: the input, then the outputs of all units.

Affine steps between bends are multiplied out, a choice among K candidates becomes ReLUs
(``max(a, b) = a + relu(b - a)``, pairwise). What bounds or searches a network then has one kind of unit to deal with,
whatever the steps were: convolutions, residual sums, clamps, pooling. Products that had to be rounded carry a bound of
their error, so that what is proved of the form holds for the network itself; where it does not take too long they are
also known without rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from creases._program import Step
from creases._typing import Bools, Floats, Ints
from creases.certify._exact import bend_exactly
from creases.certify.proofs._checker.parts import Dyadic
from creases.certify.proofs._checker.program import build_machine
from creases.certify.proofs._checker.runs import affine_forms
from creases.certify.proofs._rounding import LEAST, UNIT, gamma
from creases.errors import InputError
from creases.network import Network

#: Most entries of a layer's matrix.
MATRIX_ENTRIES = 2**26

#: The most numbers of a network whose sides are searched, and of one that is computed with without rounding.
MAX_NUMBERS, MAX_EXACT = 2**22, 2**17


@dataclass(frozen=True, eq=False)
class Layer:
    """Units ``h = z`` where ``z > 0``, else ``leak z``, with ``z = W v + c`` of the variables v before them."""

    W: Floats  #: (units, variables before)
    c: Floats  #: (units,)
    leak: Floats  #: (units,)
    W_error: Floats | None  #: (units, variables before) the network's own weights differ by at most this; None: by 0
    c_error: Floats  #: (units,)

    @property
    def first(self) -> int:
        """Number of the variable that its first unit is."""
        return int(self.W.shape[1])

    @cached_property
    def signed(self) -> tuple[Floats, Floats]:
        """The positive and the negative part of W."""
        return np.maximum(self.W, 0.0), np.minimum(self.W, 0.0)

    @cached_property
    def is_exact(self) -> bool:
        """Whether no product had to be rounded."""
        return (self.W_error is None or not self.W_error.any()) and not self.c_error.any()

    def recenter(self, x: Floats, scale: Floats, columns: Bools, exact: list[Dyadic | Floats] | None) -> Layer:
        """Return the layer as :meth:`Form.recenter` has it; ``exact`` are its numbers without rounding, if known."""
        n, inner, shift, error = len(x), self.W[:, : len(x)], self.c, self.c_error
        near = np.hstack([inner[:, columns] / scale[columns], self.W[:, n:]])
        free = near[:, : int(columns.sum())]
        W_error = np.zeros(near.shape)
        W_error[:, : free.shape[1]] = (2 * UNIT * np.abs(free) + LEAST * (free != 0)) * (scale[columns] != 1)
        if self.W_error is not None:
            rest, share = self.W_error[:, :n], 1 + gamma(n + 4)
            W_error += np.hstack([rest[:, columns] / scale[columns], self.W_error[:, n:]]) * share
            error = error + rest @ np.abs(x) * share
        if inner.any() and x.any() and inner.size <= MAX_EXACT:
            c, B = (to_dyadic(part) for part in ([self.c, inner] if exact is None else exact[:2]))
            shift, rounded = (c + B @ Dyadic.of(x)).nearest()
            error = rounded if exact is not None else (error + rounded) * (1 + gamma(n))
        elif inner.any() and x.any():
            shift = self.c + inner @ x
            error = error + gamma(n + 4) * (np.abs(inner) @ np.abs(x) + np.abs(self.c)) + n * LEAST
        return Layer(near, shift, self.leak, W_error if W_error.any() else None, error)


@dataclass(frozen=True, eq=False)
class Form:
    """A network: layers of ReLUs, then an output ``W v + c``. Variables are the ``n_in`` inputs, then all units."""

    n_in: int
    layers: tuple[Layer, ...]
    output: Layer  #: with leaks of 1
    multiplied: list[list[Dyadic | Floats]] | None = None  #: its numbers without rounding, as exact_functions has them

    @property
    def n_units(self) -> int:
        """Number of units of all layers."""
        return self.output.first - self.n_in

    @property
    def n_terms(self) -> int:
        """Bound of the number of terms of any sum in a pass through the network."""
        return self.output.first + len(self.output.c)

    @cached_property
    def leak(self) -> Floats:
        """Of all units."""
        return np.concatenate([layer.leak for layer in self.layers] or [np.zeros(0)])

    @cached_property
    def layer_of(self) -> Ints:
        """The layer of each unit."""
        return np.repeat(np.arange(len(self.layers)), [len(layer.c) for layer in self.layers])

    @cached_property
    def is_known(self) -> bool:
        """Whether the numbers are known without rounding."""
        return self.multiplied is not None or all(layer.is_exact for layer in (*self.layers, self.output))

    def units(self, layer: int) -> slice:
        """Return the units of a layer among all units."""
        first = self.layers[layer].first - self.n_in
        return slice(first, first + len(self.layers[layer].c))

    def split(self, values: Floats) -> list[Floats]:
        """Return what is known of all units, (units,), for each layer."""
        return [values[self.units(k)] for k in range(len(self.layers))]

    def values(self, u: Floats) -> tuple[Floats, Bools]:
        """Return outputs (b, n_out) and the sides (b, units) at inputs (b, n_in)."""
        outputs, z = self.evaluate(u)
        return outputs, z > 0

    def evaluate(self, u: Floats) -> tuple[Floats, Floats]:
        """Return outputs (b, n_out) and what enters all units (b, units) at inputs (b, n_in)."""
        v, entering = u, [np.zeros((len(u), 0))]
        for layer in self.layers:
            z = v @ layer.W.T + layer.c
            entering.append(z)
            v = np.concatenate([v, np.where(z > 0, z, layer.leak * z)], axis=1)
        return v @ self.output.W.T + self.output.c, np.concatenate(entering, axis=1)

    def piece(self, sides: Bools) -> tuple[Floats, Floats, Floats, Floats]:
        """Return what sides (units,) select: all pre-activations ``A x + a`` and the outputs ``J x + y``.

        Returns
        -------
        A, a, J, y : ndarray (units, n_in), (units,), (n_out, n_in), (n_out,)
        """
        n = self.n_in
        z, out = self.functions(np.eye(n, n + 1), np.where(sides, 1.0, self.leak))
        return z[:, :n], z[:, n], out[:, :n], out[:, n]

    def gradients(self, sides: Bools, rows: Floats) -> Floats:
        """Return the gradients (b, n_in) of combinations (b, n_out) of the outputs, at inputs with sides (b, units)."""
        back = rows @ self.output.W
        for k in reversed(range(len(self.layers))):
            layer = self.layers[k]
            z = back[:, layer.first :] * np.where(sides[:, self.units(k)], 1.0, layer.leak)
            back = back[:, : layer.first] + z @ layer.W
        return back

    def recenter(self, x: Floats, scale: Floats | None = None, columns: Bools | None = None) -> Form:
        """Return the function of u, where the chosen columns are ``x + u / scale`` and the others stay at x.

        By default all columns are chosen, in units of 1.
        """
        scale = np.ones(self.n_in) if scale is None else scale
        columns = np.ones(self.n_in, bool) if columns is None else columns
        exact: Any = self.multiplied or [None] * (len(self.layers) + 1)
        parts = zip((*self.layers, self.output), exact, strict=True)
        *layers, output = (layer.recenter(x, scale, columns, known) for layer, known in parts)
        return Form(int(columns.sum()), tuple(layers), output)

    @cached_property
    def exact_functions(self) -> list[list[Dyadic]] | None:
        """Constants (m,), B (m, n) and the W (m, m_j) of each function without rounding; None if not known or many."""
        count = sum(layer.W.size + layer.c.size for layer in (*self.layers, self.output))
        if not self.is_known or count > MAX_EXACT:
            return None
        return [[*map(to_dyadic, each)] for each in self.multiplied or self._parts]

    @cached_property
    def _parts(self) -> list[list[Any]]:
        """Constants (m,), B (m, n) and the W (m, m_j) of each function."""
        functions = (*self.layers, self.output)
        ends = [self.n_in, *(layer.first for layer in functions[1:])]
        return [[layer.c, *np.split(layer.W, ends[:k], axis=1)] for k, layer in enumerate(functions)]

    @cached_property
    def _reads(self) -> list[list[bool]]:
        """Whether each function depends on the input, and on the units of each bend before it, in floats."""
        return [[bool(W.any()) for W in matrices] for _, *matrices in self._parts]

    def entering(self, x: Any, slopes: list[Floats] | None = None, free: Floats | None = None) -> list[Any]:
        """Return what enters each bend, and the outputs, at an input or as functions of it: as exact as the input is.

        Parameters
        ----------
        x
            (n,), or (n, width): the inputs as affine functions of some variables, whose constant is last. Floats or,
            without rounding, numbers of which the network's own are known.
        slopes
            (m,) of the units of each bend; by default those of their sides.
        free
            (units, width) functions that are added to what leaves units.
        """
        is_exact = isinstance(x, Dyadic)
        lift: Any = Dyadic.of if is_exact else np.asarray
        functions: Any = self.exact_functions if is_exact else self._parts
        width = (x.whole if is_exact else x).shape[1:]
        sources, values = [x], []
        for j, (c, *matrices) in enumerate(functions):
            z = c[:, None] * lift(np.eye(1, width[0], width[0] - 1)) if width else c
            for W, h, is_read in zip(matrices, sources, self._reads[j], strict=True):
                z = z + W @ h if is_read or is_exact else z
            values.append(z)
            if j < len(self.layers):
                leak = self.layers[j].leak
                h = bend_exactly(z, leak) if slopes is None else z * lift(slopes[j])[:, None]
                sources.append(h if free is None else h + lift(free[self.units(j)]))
        return values

    def functions(self, x: Any, slopes: Floats, opened: Sequence[int] | Ints = ()) -> tuple[Any, Any]:
        """Return what enters all units, (units, width), and the outputs, as affine functions of some variables.

        Parameters
        ----------
        x
            (n, width) the inputs as such functions, the constant last; see :meth:`entering`.
        slopes
            (units,)
        opened
            Units whose outputs are variables of their own, the last ones before the constant.
        """
        width = (x.whole if isinstance(x, Dyadic) else x).shape[1]
        h = np.zeros((self.n_units, width))
        h[opened, width - 1 - len(opened) + np.arange(len(opened))] = 1.0
        split = self.split(np.where(h.any(axis=1), 0.0, slopes))
        *entering, output = self.entering(x, split, h if len(opened) else None)
        return stack_rows([x[:0], *entering]), output

    def gradient(self, row: Dyadic, slopes: list[Floats], last: int = -1) -> Dyadic:
        """Return the gradient (1, n) of a row (1, m) times a function, by default the output, for slopes of units."""
        assert self.exact_functions is not None
        totals = [row @ W for W in self.exact_functions[last][1:]]
        for j in reversed(range(len(totals) - 1)):
            back = totals[j + 1] * Dyadic.of(slopes[j])
            totals = [total + back @ W for total, W in zip(totals, self.exact_functions[j][1:], strict=False)]
        return totals[0]


def stack_rows(parts: list[Any]) -> Any:
    """Return rows on top of each other: all of floats, or all without rounding."""
    return reduce(Dyadic.above, parts) if isinstance(parts[0], Dyadic) else np.vstack(parts)


class Coefficients(NamedTuple):
    """A value as an affine function of the variables: the constant first, then one row for each variable."""

    value: Tensor  #: (1 + variables, *shape)
    error: Tensor | None  #: the network's own coefficients differ by at most this; None: by 0


def read_form(net: Network) -> Form:
    """Return a network (float64, on the CPU) as layers of ReLUs."""
    builder = _Builder(net.n_in)
    start = torch.cat([torch.zeros(1, net.n_in, dtype=torch.float64), torch.eye(net.n_in, dtype=torch.float64)])
    values = [Coefficients(start.reshape(-1, *net.input_shape), None)]
    with torch.no_grad():
        for step in net.steps:
            inputs = [values[i] for i in step.inputs]
            if step.op == "relu":
                values.append(builder.relu(inputs[0], step.leak))
            elif step.op == "choice":
                values.append(builder.maximum(inputs[0]))
            else:
                values.append(builder.affine(step, inputs))
                _check_size(values[-1].value, step.path)
        output = builder.layer(values[-1], np.ones(net.n_out))
    return Form(net.n_in, tuple(builder.layers), output)


@lru_cache(maxsize=4)
def search_form(net: Network) -> Form | None:
    """Return the form of a network whose sides of units can be searched, with numbers that are known if possible.

    None if the network has choices or operations with rounded weights, or too many numbers.
    """
    if any(step.op != "relu" if step.is_bend else step.operation.entries == "averages" for step in net.steps):
        return None
    columns = [net.n_in, *(prod(net.steps[i].shape) for i in net.bends)]
    if (sum(columns) + 1) * (sum(net.sizes) + 1) > 4 * MAX_NUMBERS:
        return None
    form = read_form(net)
    exact = None if form.is_known else exact_functions(net)
    if exact is None:
        return form
    layers = []
    for layer, parts in zip((*form.layers, form.output), exact, strict=True):
        pairs = [part.nearest() if isinstance(part, Dyadic) else (part, np.zeros(part.shape)) for part in parts]
        (c, c_error), *matrices = pairs
        W, W_error = (np.hstack(part) for part in zip(*matrices, strict=True))
        layers.append(Layer(W, c, layer.leak, W_error if W_error.any() else None, c_error))
    return Form(net.n_in, tuple(layers[:-1]), layers[-1], exact)


def _check_size(value: Tensor, path: str) -> None:
    if value.numel() > MATRIX_ENTRIES:
        raise InputError(
            "net",
            f"be small enough to write its layers as matrices of at most {MATRIX_ENTRIES:,} entries",
            f"{value.numel():,}" + (f" at {path}" if path else ""),
        )


class _Builder:
    """Adds variables for units, and writes values as affine functions of them."""

    def __init__(self, n_in: int) -> None:
        self.count = n_in
        self.layers: list[Layer] = []

    def pad(self, value: Tensor) -> Tensor:
        """Return coefficients with rows for variables that were added since."""
        missing = 1 + self.count - len(value)
        return value if not missing else torch.cat([value, value.new_zeros(missing, *value.shape[1:])])

    def affine(self, step: Step, inputs: list[Coefficients]) -> Coefficients:
        """Apply an affine step to coefficients, with a bound of what is rounded."""
        values = [self.pad(part.value) for part in inputs]
        used = torch.stack([value.reshape(len(value), -1).any(dim=1) for value in values]).any(dim=0)  # variables
        parts = [value[used] for value in values]
        some, error = step.linear(parts), None
        out, has_constant = _spread(some, used), bool(used[0])
        is_exact = _is_exact(step, [part[int(has_constant) :] for part in parts])
        if step.operation.entries != "moves" and (has_constant or not is_exact):
            terms = max(int(value[0].numel()) for value in values) * len(values) + 8
            error = gamma(terms) * _spread(_magnitude(step, parts, some), used)
            if step.op == "add":  # entries of one term are what they were
                count = step.linear_magnitude([(value != 0).double() for value in values])
                error = torch.where(count > 1, error, 0.0)
            if is_exact:
                error = torch.cat([error[:1], torch.zeros_like(error[1:])])
            error = error if bool(error.any()) else None
        if any(part.error is not None for part in inputs):
            errors = [torch.zeros_like(part.value) if part.error is None else part.error for part in inputs]
            passed = _magnitude(step, [self.pad(part) for part in errors], out) * (1 + gamma(out[0].numel() + 8))
            error = passed if error is None else error + passed
        if step.offset is not None:
            constant = out[:1] + step.offset
            if out[:1].any():
                error = torch.zeros_like(out) if error is None else error
                error = torch.cat([error[:1] + 2 * UNIT * constant.abs(), error[1:]])
            out = torch.cat([constant, out[1:]])
        return Coefficients(out, error)

    def layer(self, part: Coefficients, leak: Floats) -> Layer:
        """Return what a value enters: ``W v + c`` with bounds of errors, and leaks (size,)."""
        flat = self.pad(part.value).flatten(1).numpy()
        W, c = np.ascontiguousarray(flat[1:].T), flat[0].copy()
        if part.error is None:
            return Layer(W, c, leak, None, np.zeros(len(c)))
        error = self.pad(part.error).flatten(1).numpy()
        W_error = np.ascontiguousarray(error[1:].T) if error[1:].any() else None
        return Layer(W, c, leak, W_error, error[0].copy())

    def relu(self, z: Coefficients, leak: Tensor | None) -> Coefficients:
        """Add a layer of units, and return their outputs."""
        shape = z.value.shape[1:]
        slope = torch.zeros(shape, dtype=torch.float64) if leak is None else leak.expand(shape)
        self.layers.append(self.layer(z, slope.flatten().numpy().astype(np.float64)))
        first, units = self.count, prod(shape)
        self.count += units
        out = torch.zeros(1 + self.count, units, dtype=torch.float64)
        out[1 + first + torch.arange(units), torch.arange(units)] = 1.0
        return Coefficients(out.reshape(-1, *shape), None)

    def maximum(self, z: Coefficients) -> Coefficients:
        """Return the maximum over the last axis, by units of pairs."""
        while z.value.shape[-1] > 1:
            half = z.value.shape[-1] // 2
            a, b, rest = (_cut(z, start, stop) for start, stop in ((0, half), (half, 2 * half), (2 * half, None)))
            more = self.relu(_sum(b, a, -1.0), None)
            a, rest = (
                Coefficients(self.pad(p.value), None if p.error is None else self.pad(p.error)) for p in (a, rest)
            )
            z = _join(_sum(a, more, 1.0), rest)
        return _cut(z, 0, 1, squeeze=True)


def _spread(rows: Tensor, used: Tensor) -> Tensor:
    """Return rows as those of the variables that are used, and 0 for all others."""
    if used.all():
        return rows
    out = rows.new_zeros(len(used), *rows.shape[1:])
    out[used] = rows
    return out


def _is_exact(step: Step, parts: list[Tensor]) -> bool:
    """Whether a step rounds no coefficient of a variable: it moves entries, or each is one product with 1 or -1.

    ``parts`` are the rows of its inputs that are not all 0.
    """
    if step.operation.entries == "averages" or (step.op == "add" and len(parts) > 1):
        return False
    value = parts[0].abs()
    if not bool(((value == 0) | (value == 1)).all()):
        return False
    return not len(value) or bool((value.reshape(len(value), -1).sum(dim=1) <= 1).all())


def _magnitude(step: Step, values: list[Tensor], out: Tensor) -> Tensor:
    """Return a bound of the sum of the magnitudes of a step's terms, of the shape of its output."""
    sizes = [value.abs() for value in values]
    if step.op == "interpolate":  # some of its weights are negative; all add up to less than 4
        return torch.ones_like(out) * 4 * sizes[0].amax()
    return step.linear_magnitude(sizes)


def _cut(z: Coefficients, start: int, stop: int | None, *, squeeze: bool = False) -> Coefficients:
    """Return entries of the last axis, or one of them without that axis."""
    parts = [None if part is None else part[..., start:stop] for part in z]
    value, error = [None if part is None else part[..., 0] for part in parts] if squeeze else parts
    assert value is not None
    return Coefficients(value, error)


def _sum(a: Coefficients, b: Coefficients, sign: float) -> Coefficients:
    """Return ``a + sign b``, for a of b before it."""
    value = a.value + sign * b.value
    overlap = (a.value != 0) & (b.value != 0)
    error = torch.where(overlap, UNIT * 2 * value.abs(), 0.0)
    for part in (a, b):
        error = error if part.error is None else error + part.error * (1 + 2 * UNIT)
    return Coefficients(value, error if bool(error.any()) else None)


def _join(a: Coefficients, b: Coefficients) -> Coefficients:
    """Concatenate along the last axis."""
    value = torch.cat([a.value, b.value], dim=-1)
    if a.error is None and b.error is None:
        return Coefficients(value, None)
    errors = [torch.zeros_like(part.value) if part.error is None else part.error for part in (a, b)]
    return Coefficients(value, torch.cat(errors, dim=-1))


# -- without rounding -------------------------------------------------------------------------------------------------


def exact_functions(net: Network) -> list[list[Dyadic | Floats]] | None:
    """Return c (m,), B (m, n) and W (m, m_j) of what enters each bend and of the output; None if that takes too long.

    As the digest of a network and the checker of proofs have them: floats where nothing was multiplied out.
    """
    try:
        forms = affine_forms(build_machine(net))
    except (OverflowError, InputError):
        return None
    columns = [net.n_in, *(prod(net.steps[i].shape) for i in net.bends)]
    sizes = [*(prod(net.shapes[net.steps[i].inputs[0]]) for i in net.bends), net.n_out]
    functions = []
    for k, (size, (matrices, constant)) in enumerate(zip(sizes, forms, strict=True)):
        parts = [matrices.get(j, np.zeros((size, count))) for j, count in enumerate(columns[: k + 1])]
        functions.append([np.zeros(size) if constant is None else constant, *parts])
    return functions


def to_dyadic(values: Dyadic | Floats) -> Dyadic:
    """Return numbers without rounding."""
    return values if isinstance(values, Dyadic) else Dyadic.of(values)
