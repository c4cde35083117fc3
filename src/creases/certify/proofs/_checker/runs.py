"""Runs of affine steps as single ones: what enters a bend, of the input and of the bends before it.

Bounds of a run's values one step after the other ignore that they belong together. Here the steps are multiplied out in
whole numbers, so that nothing is rounded and the network stays the same function.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from creases.certify.proofs._checker.dyadic import Dyadic
from creases.certify.proofs._checker.parts import Dense, Part, Pick
from creases.certify.proofs._checker.program import Affine, Choice, Machine, Offset, Relu

#: Most multiplications of whole numbers to join the steps of a network.
MULTIPLICATIONS = 2**22

Form = tuple[dict[int, Dyadic], Dyadic | None]  # matrices (size, source's size) by source, and a constant (size,)


def join_runs(machine: Machine) -> Machine:
    """Return a network with one affine step for each run; as it is where that changes nothing or takes too long."""
    if not any(_is_run(machine, step) for step in machine.steps):
        return machine
    try:
        return _Runs(machine).join()
    except OverflowError:
        return machine


def _is_run(machine: Machine, step: Affine | Relu | Choice) -> bool:
    """Whether a step computes something of values that another affine step computes."""
    return isinstance(step, Affine) and _computes(step) and any(_is_computed(machine, i) for i in step.inputs)


def _is_computed(machine: Machine, number: int) -> bool:
    step = machine.steps[number - 1] if number else None
    if not isinstance(step, Affine):
        return False
    return _computes(step) or any(_is_computed(machine, i) for i in step.inputs)


def _computes(step: Affine) -> bool:
    return step.offset is not None or not all(isinstance(part, Pick) and part.is_copy for part in step.parts)


class _Runs:
    def __init__(self, machine: Machine) -> None:
        self.machine, self.forms = machine, dict[int, Form]()
        self.left = MULTIPLICATIONS

    def join(self) -> Machine:
        """Return the network with joined steps; OverflowError if that takes too long or leaves the range of floats."""
        steps: list[Affine | Relu | Choice] = []
        numbers = {0: 0}  # of sources: the input and what leaves bends
        for i, step in enumerate(self.machine.steps):
            if isinstance(step, Affine):
                continue
            entering = self._append(steps, step.inputs[0], numbers)
            steps.append(replace(step, inputs=(entering,)))
            numbers[i + 1] = len(steps)
        self._append(steps, len(self.machine.steps), numbers)
        return Machine(self.machine.n_in, tuple(steps), self.machine.n_units)

    def _append(self, steps: list[Affine | Relu | Choice], value: int, numbers: dict[int, int]) -> int:
        """Append the affine step that makes a value of sources; return its number."""
        if value in numbers:
            return numbers[value]
        matrices, constant = self.form(value)
        parts = [_as_part(matrix) for matrix in matrices.values()]
        offset = None if constant is None else Offset.of(constant)
        inputs = tuple(numbers[source] for source in matrices)
        steps.append(Affine(inputs, tuple(parts), offset, self._sizes[value]))
        return len(steps)

    @cached_property
    def _sizes(self) -> list[int]:
        return self.machine.sizes()

    def form(self, value: int) -> Form:
        """Return a value as an affine function of sources."""
        if value not in self.forms:
            step = self.machine.steps[value - 1] if value else None
            if not isinstance(step, Affine):
                eye = Dyadic(np.eye(self._sizes[value], dtype=int).astype(object), 0)
                self.forms[value] = {value: eye}, None
            else:
                self.forms[value] = self._combine(step)
        return self.forms[value]

    def _combine(self, step: Affine) -> Form:
        matrices: dict[int, Dyadic] = {}
        constant = None if step.offset is None else step.offset.exact
        for number, part in zip(step.inputs, step.parts, strict=True):
            inner, shift = self.form(number)
            for source, matrix in inner.items():
                product = self._multiply(part, matrix)
                matrices[source] = matrices[source] + product if source in matrices else product
            if shift is not None:
                moved = self._multiply(part, shift[:, None])[:, 0]
                constant = moved if constant is None else constant + moved
        return matrices, constant

    def _multiply(self, part: Part, matrix: Dyadic) -> Dyadic:
        count = matrix.whole.shape[1] * (part.M.size if isinstance(part, Dense) else len(part.index))
        self.left -= count
        if self.left < 0 or (isinstance(part, Pick) and part.divisor is not None):
            raise OverflowError("too many multiplications, or a division")
        if isinstance(part, Dense):
            return part.exact_entries @ matrix
        picked = Dyadic(np.where((part.index >= 0)[:, None], matrix.whole[part.index], 0), matrix.power)
        return picked if part.factor is None else picked * Dyadic.of(np.asarray(part.factor, float))[:, None]


def _as_part(matrix: Dyadic) -> Dense:
    floats, errors = matrix.nearest()
    return Dense(floats, errors if errors.any() else None, matrix)
