"""Propagation of values through the steps of a program, whatever represents them: numbers, coefficients, bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from creases._program._program import Program

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
