"""Runs of affine steps as single ones: what enters a bend, of the input and of the bends before it.

Bounds of a run's values one step after the other ignore that they belong together. Here the steps are multiplied out in
whole numbers, so that nothing is rounded and the network stays the same function.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from creases.certify.proofs._checker.parts import Dense, Dyadic, Part, Pick
from creases.certify.proofs._checker.program import Affine, Choice, Machine, Offset, Relu

#: Most multiplications of whole numbers to join the steps of a network.
MULTIPLICATIONS = 2**22

Matrix = Dyadic | NDArray[np.float64]  # (size, source's size), exact either way
Form = tuple[dict[int, Matrix], Dyadic | None]  # matrices by source, and a constant (size,)


def join_runs(machine: Machine) -> Machine:
    """Return a network with one affine step for each run; as it is where that changes nothing or takes too long."""
    affine = [step for step in machine.steps if isinstance(step, Affine) and _computes(step)]
    if not any(_is_computed(machine, i) for step in affine for i in step.inputs):  # no affine step reads another
        return machine
    try:
        return _Runs(machine).join()
    except OverflowError:
        return machine


def _is_computed(machine: Machine, number: int) -> bool:
    step = machine.steps[number - 1] if number else None
    if not isinstance(step, Affine):
        return False
    return _computes(step) or any(_is_computed(machine, i) for i in step.inputs)


def _computes(step: Affine) -> bool:
    return step.offset is not None or not all(isinstance(part, Pick) and part.is_copy for part in step.parts)


def affine_forms(machine: Machine) -> list[Form]:
    """Return what enters each bend, then the output, as affine functions of the input (0) and of bends (1, 2, ...).

    They are the same for all ways to write a function's affine parts as steps. OverflowError if that takes too long.
    """
    runs, numbers, forms = _Runs(machine), {0: 0}, []
    for i, step in enumerate(machine.steps):
        if not isinstance(step, Affine):
            forms.append(runs.form(step.inputs[0]))
            numbers[i + 1] = len(forms)
    forms.append(runs.form(len(machine.steps)))
    return [({numbers[source]: matrix for source, matrix in each.items()}, shift) for each, shift in forms]


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
                self.forms[value] = {value: np.eye(self._sizes[value])}, None
            else:
                self.forms[value] = self._combine(step)
        return self.forms[value]

    def _combine(self, step: Affine) -> Form:
        matrices: dict[int, Matrix] = {}
        constant = None if step.offset is None else step.offset.exact
        for number, part in zip(step.inputs, step.parts, strict=True):
            if number == 0 or not isinstance(self.machine.steps[number - 1], Affine):
                _add(matrices, number, self._matrix(part))
                continue
            inner, shift = self.form(number)
            for source, matrix in inner.items():
                _add(matrices, source, self._multiply(part, matrix))
            if shift is not None:
                moved = _exact(self._multiply(part, shift[:, None]))[:, 0]
                constant = moved if constant is None else constant + moved
        return matrices, constant

    def _spend(self, count: int, part: Part) -> None:
        self.left -= count
        if self.left < 0 or (isinstance(part, Pick) and part.divisor is not None):
            raise OverflowError("too many multiplications, or a division")

    def _matrix(self, part: Part) -> Matrix:
        """Return a part of a step as a matrix."""
        self._spend(0, part)
        if isinstance(part, Dense):
            return part.M if part.error is None else part.exact_entries
        M = np.zeros((len(part.index), part.n_in))
        M[part.kept, part.index[part.kept]] = 1.0 if part.factor is None else part.factor[part.kept]
        return M

    def _multiply(self, part: Part, matrix: Matrix) -> Matrix:
        if isinstance(part, Pick) and part.factor is None:
            self._spend(0, part)
            kept = (part.index >= 0)[:, None]
            if isinstance(matrix, Dyadic):
                return Dyadic(np.where(kept, matrix.whole[part.index], 0), matrix.power)
            return np.where(kept, matrix[part.index], 0.0)
        exact = _exact(matrix)
        entries = np.count_nonzero(part.M) if isinstance(part, Dense) else len(part.index)
        self._spend(exact.whole.shape[1] * int(entries), part)
        if isinstance(part, Dense):
            return part.exact_entries @ exact
        picked = Dyadic(np.where((part.index >= 0)[:, None], exact.whole[part.index], 0), exact.power)
        return picked * Dyadic.of(np.asarray(part.factor, float))[:, None]


def _exact(matrix: Matrix) -> Dyadic:
    return matrix if isinstance(matrix, Dyadic) else Dyadic.of(matrix)


def _add(matrices: dict[int, Matrix], source: int, matrix: Matrix) -> None:
    matrices[source] = _exact(matrices[source]) + _exact(matrix) if source in matrices else matrix


def _as_part(matrix: Matrix) -> Dense:
    if not isinstance(matrix, Dyadic):
        return Dense(matrix)
    floats, errors = matrix.in_range().nearest()
    return Dense(floats, errors if errors.any() else None, matrix)
