"""Exact coefficients of a network's values on one region after another, computed on demand."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from creases.regions._exact.program import ExactProgram, Integers

Indices = NDArray[np.int64]


@dataclass
class _Known:
    """The rows of one value that are known on the current region."""

    triples: Integers  #: (n, 3)
    have: NDArray[np.bool_]  #: (n,)


class RegionRows:
    """Rows of the values of an :class:`ExactProgram` on the current region.

    A region is identified by its line of ancestors, one for every bend passed. Rows that depend only on ancestors
    shared with the previous region are reused: visiting regions in tree order computes every row once.
    """

    def __init__(self, program: ExactProgram) -> None:
        self._program = program
        bends = program.net.bends
        #: Number of bends whose sides a value may depend on; its rows are kept at that level.
        self._level = [0] + [sum(b < i for b in bends) + (i in bends) for i in range(len(program.steps))]
        self._known: list[dict[int, _Known]] = [{} for _ in range(len(bends) + 1)]
        self._line: tuple[int, ...] = ()
        self._sides: list[NDArray[np.int16]] = []

    def enter(self, line: tuple[int, ...], sides: list[NDArray[np.int16]]) -> None:
        """Move to a region, given its ancestors after each bend, itself last, and the sides of each bend's units."""
        common = 0
        while common < min(len(line), len(self._line)) and line[common] == self._line[common]:
            common += 1
        for level in range(common + 1, len(self._known)):
            self._known[level].clear()
        self._line, self._sides = line, sides

    def rows(self, value: int, index: Indices) -> Integers:
        """Return the triples (len(index), 3) of some entries of a value."""
        if value == 0:
            return self._program.start[index]
        store = self._known[self._level[value]]
        known = store.get(value)
        if known is None:
            n = prod(self._program.shapes[value])
            known = store[value] = _Known(np.zeros((n, 3), dtype=object), np.zeros(n, bool))
        missing = index[~known.have[index]]
        if len(missing):
            step = self._program.steps[value - 1]
            known.triples[missing] = (self._bend if step.is_bend else self._affine)(value - 1, missing)
            known.have[missing] = True
        return known.triples[index]

    def _affine(self, i: int, index: Indices) -> Integers:
        step, affine = self._program.steps[i], self._program.affine[i]
        out = np.zeros((len(index), 3), dtype=object)
        out[:, 2] = affine.constant[index]
        for value, (data, columns, starts) in zip(step.inputs, affine.rows, strict=True):
            spans = [slice(starts[row], starts[row + 1]) for row in index]
            needed = columns[spans[0]] if len(spans) == 1 else np.unique(np.concatenate([columns[s] for s in spans]))
            needed = needed[self._support(value, needed)]
            triples = self.rows(value, needed)  # (needed, 3)
            place = np.full(prod(self._program.shapes[value]), -1)
            place[needed] = np.arange(len(needed))
            for k, span in enumerate(spans):
                at = place[columns[span]]
                present = at >= 0
                if present.any():  # numpy's product of no objects at all is no integer
                    out[k] += data[span][present] @ triples[at[present]]
        return out

    def _support(self, value: int, index: Indices) -> NDArray[np.bool_]:
        """Return which entries of a value are not known to be zero: after a relu without leak those on side 1."""
        i = value - 1
        if value and self._program.steps[i].op == "relu" and i not in self._program.leak:
            active: NDArray[np.bool_] = self._sides[self._program.net.bends.index(i)][index] == 1
            return active
        return np.ones(len(index), bool)

    def _bend(self, i: int, index: Indices) -> Integers:
        program, source = self._program, self._program.steps[i].inputs[0]
        side = self._sides[program.net.bends.index(i)][index]
        if program.steps[i].op == "choice":
            return self.rows(source, index * program.shapes[source][-1] + side)
        out = np.zeros((len(index), 3), dtype=object)
        on = side == 1
        if i not in program.leak:
            out[on] = self.rows(source, index[on])
            return out
        _, leak, scale = program.leak[i]
        factor = np.where(on, np.full(len(index), 1 << scale, dtype=object), leak[index])
        return np.asarray(factor[:, None] * self.rows(source, index))
