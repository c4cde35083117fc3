"""A forward pass step by step, and programs applied to tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor

from creases._program._program import Program


class ForwardPass:
    """A forward pass of points (n, n_in) that stops at each bend; :meth:`extend` adds points at the current bend."""

    def __init__(self, program: Program, points: Tensor, *, zero: float = 0.0) -> None:
        self.program = program
        self.zero = zero  #: a relu's pre-activation below this times the size of its terms counts as exactly 0
        self._limits: list[Tensor] = []  # that bound, for each bend so far
        self._precomputed = False  # whether the caller supplied the current pre-activations, small ones set to zero
        self.bend = -1  #: number of the current bend
        self._next = 0  # index of the next step
        start = points.reshape(-1, *program.input_shape)
        self._values: dict[int, Tensor] = {0: start}
        # Largest magnitude of each entry over the points, as a batch of one, propagated with the values.
        self._sizes: dict[int, Tensor] = {0: start.abs().amax(0, keepdim=True)}

    def advance(self) -> Tensor | None:
        """Go to the next bend and return its pre-activations (n, *shape), or None at the end of the network."""
        self.bend += 1
        stop = self.program.bends[self.bend] if self.bend < len(self.program.bends) else len(self.program.steps)
        self._values = propagate(self.program, self._values, self._apply_step, self._next, stop)
        self._sizes = propagate(self.program, self._sizes, self._step_size, self._next, stop)
        self._next = stop
        if self.bend == len(self.program.bends):
            return None
        z = self.pre_activations
        self._range = z.amin(0, keepdim=True), z.amax(0, keepdim=True)
        self._limits.append(self.zero * self.terms)
        return z

    @property
    def pre_activations(self) -> Tensor:
        """Pre-activations of the current bend: (n, *shape), for a choice (n, *units, K)."""
        return self._values[self.program.steps[self._next].inputs[0]]

    @property
    def terms(self) -> Tensor:
        """Largest sum over the points of the magnitudes of each pre-activation's terms: (1, *shape)."""
        return self._sizes[self.program.steps[self._next].inputs[0]]

    @property
    def output(self) -> Tensor:
        """Output of the network (n, n_out), at the end of the pass."""
        return self._values[len(self.program.steps)].flatten(1)

    @property
    def output_terms(self) -> Tensor:
        """As ``terms``, of the output: (n_out,)."""
        return self._sizes[len(self.program.steps)].flatten()

    def extend(self, points: Tensor, z: Tensor | None = None) -> None:
        """Add points (k, n_in) and run them up to the current bend.

        ``z`` is the pre-activations of all points, old and new (n + k, *shape), if the caller knows them, with small
        ones already set to zero. They are used (and overwritten) if no later step reads any other value; otherwise
        they are computed.
        """
        if z is not None and len(self._values) == 1:
            self._values = {self.program.steps[self._next].inputs[0]: z}
            self._precomputed = True
            return
        new = self.run_values(points)
        self._values = {key: torch.cat([value, new[key]]) for key, value in self._values.items()}

    def run(self, points: Tensor) -> Tensor:
        """Return the pre-activations (k, *shape) of other points, at the end their outputs, without adding them."""
        ended = self._next == len(self.program.steps)
        return self.run_values(points)[self._next if ended else self.program.steps[self._next].inputs[0]]

    def run_values(self, points: Tensor) -> dict[int, Tensor]:
        """Return the values at other points that steps from the current bend on read."""
        start = points.reshape(-1, *self.program.input_shape)
        return propagate(self.program, {0: start}, self._apply_step, 0, self._next)

    def update_range(self, z: Tensor) -> None:
        """Take pre-activations of other points (k, *shape) into account in the sizes of the following values."""
        low, high = self._range
        self._range = torch.minimum(low, z.amin(0, keepdim=True)), torch.maximum(high, z.amax(0, keepdim=True))

    def _apply_step(self, i: int, inputs: list[Tensor]) -> Tensor:
        """Apply step i at all points; a relu's pre-activations that are too small to have a sign are set to zero."""
        step = self.program.steps[i]
        if not step.is_bend:
            return step.apply(inputs)
        z = inputs[0]
        if self._precomputed:
            self._precomputed = False
            free = step.inputs[0] in self.program.last_uses[i]  # no residual connection still reads what enters
            return z.clamp_(min=0) if step.op == "relu" and step.leak is None and free else step.apply([z])
        if step.op == "relu" and self.zero:
            limit = self._limits[self.program.bends.index(i)]
            z = torch.where(z.abs() <= limit, 0, z)
        return step.apply([z])

    def _step_size(self, i: int, sizes: list[Tensor]) -> Tensor:
        """Return the magnitudes of step i's output; after a bend those of the extreme values, not of their terms."""
        step = self.program.steps[i]
        if step.is_bend:
            return torch.maximum(*(step.apply([end]).abs() for end in self._range))
        return step.magnitude(sizes)


T = TypeVar("T")


def propagate(
    program: Program,
    values: Mapping[int, T],
    apply_step: Callable[[int, list[T]], T],
    start: int = 0,
    stop: int | None = None,
) -> dict[int, T]:
    """Return the values after the steps ``start`` to ``stop`` (by default to the end) that later steps read.

    Parameters
    ----------
    values
        The values known before step ``start``, by number as in :class:`creases._program.Step`.
    apply_step
        ``apply_step(i, inputs)`` is the output of step i, in whatever representation the caller uses.

    Returns
    -------
    dict
        Values by number; after the last step the output, number ``len(program.steps)``.
    """
    values = dict(values)
    for i in range(start, len(program.steps) if stop is None else stop):
        values[i + 1] = apply_step(i, [values[value] for value in program.steps[i].inputs])
        for value in program.last_uses[i]:
            del values[value]
    return values
