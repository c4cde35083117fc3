"""Carrying values through the steps of a network, whatever stands for them: numbers, coefficients, magnitudes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from creases.network._network import Network

T = TypeVar("T")


def propagate(
    net: Network,
    values: Mapping[int, T],
    through: Callable[[int, list[T]], T],
    start: int = 0,
    stop: int | None = None,
) -> dict[int, T]:
    """Values after the steps ``start`` to ``stop`` (all that follow unless given), what nothing reads any more dropped.

    Parameters
    ----------
    values
        By number, as in :class:`creases.network.program._step.Step`: those that are known before step ``start``.
    through
        ``through(i, inputs)`` is the output of step i. What stands for a value is the caller's affair.

    Returns
    -------
    dict
        By number the values that later steps read; after the last step the output, number ``len(net.steps)``.
    """
    values = dict(values)
    for i in range(start, len(net.steps) if stop is None else stop):
        values[i + 1] = through(i, [values[value] for value in net.steps[i].inputs])
        for value in net.last_uses[i]:
            del values[value]
    return values
