"""The tests of a bend: affine functions whose signs decide the sides of its units.

A relu's unit has one, its pre-activation. A choice among K candidates has one for every two of them, their difference;
a candidate that another one beats everywhere on a region takes no further part there.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.regions._exact.mesh import Triple, remove_twos
from creases.regions._exact.program import ExactProgram
from creases.regions._exact.rows import RegionRows

_BLOCK = 2**22  # entries of a block of signs


class SignTests:
    """The tests of one bend of a program, numbered unit by unit."""

    def __init__(self, program: ExactProgram, bend: int) -> None:
        step = program.steps[program.net.bends[bend]]
        self._program, self._bend = program, bend
        self._value = step.inputs[0]
        self._first_unit = int(program.net.unit_starts[bend])
        self.n_units = int(program.net.unit_starts[bend + 1]) - self._first_unit
        self.pairs = list(combinations(range(program.net.candidates[bend]), 2)) if step.op == "choice" else []
        self.count = self.n_units * max(1, len(self.pairs))

    def unit(self, test: int) -> int:
        """Return the unit, numbered over the whole network, of a test."""
        return self._first_unit + test // max(1, len(self.pairs))

    def signs(self, t: Floats) -> tuple[list[int], list[int], list[int]]:
        """Return the tests above zero, below zero and in doubt at points (n, 2), each rounded once: n bit sets each."""
        block = max(1, _BLOCK // max(1, self.count))
        out: tuple[list[int], list[int], list[int]] = ([], [], [])
        for start in range(0, len(t), block):
            with np.errstate(all="ignore"):  # what overflows is in doubt
                z, e = self._program.bounded(t[start : start + block], self._bend)
                if self.pairs:
                    z, e = self._differences(z, e)
                above, below = z > e, z < -e
                doubt = ~(above | below | ((z == 0) & (e == 0)))
            for sets, flags in zip(out, (above, below, doubt), strict=True):
                packed = np.packbits(flags, axis=1, bitorder="little")
                sets += [int.from_bytes(row.tobytes(), "little") for row in packed]
        return out

    def _differences(self, z: Floats, e: Floats) -> tuple[Floats, Floats]:
        p, q = np.array(self.pairs).T
        k = self._program.net.candidates[self._bend]
        z, e = z.reshape(len(z), -1, k), e.reshape(len(e), -1, k)
        gap = (z[..., p] - z[..., q]).reshape(len(z), -1)
        bound = (e[..., p] + e[..., q]).reshape(len(z), -1)
        return gap, 1.001 * (bound + 2.0**-52 * np.abs(gap))

    def line(self, rows: RegionRows, test: int) -> Triple:
        """Return a test's coefficients on the current region of ``rows``, up to a positive factor."""
        if not self.pairs:
            a, b, c = rows.rows(self._value, np.array([test]))[0]
            return remove_twos((a, b, c))
        unit, (p, q) = test // len(self.pairs), self.pairs[test % len(self.pairs)]
        first = unit * self._program.net.candidates[self._bend]
        a, b, c = np.subtract(*rows.rows(self._value, np.array([first + p, first + q])))
        return remove_twos((a, b, c))

    def crossing(self, above: int, below: int) -> int:
        """Return a test to split a region by, from the tests above and below zero somewhere on it; -1 for none."""
        both = above & below
        while both:
            test = (both & -both).bit_length() - 1
            if not self.pairs:
                return test
            unit = test // len(self.pairs)
            alive = self._alive(unit, above, below)
            first = unit * len(self.pairs)
            for k, (p, q) in enumerate(self.pairs):
                if alive[p] and alive[q] and both >> (first + k) & 1:
                    return first + k
            both &= -1 << (first + len(self.pairs))
        return -1

    def _alive(self, unit: int, above: int, below: int) -> list[bool]:
        """Return which candidates of a choice may be largest somewhere, judged by pairs; of equals the first."""
        alive = [True] * self._program.net.candidates[self._bend]
        for k, (p, q) in enumerate(self.pairs, start=unit * len(self.pairs)):
            if not below >> k & 1:
                alive[q] = False
            elif not above >> k & 1:
                alive[p] = False
        return alive

    def sides(self, above: int, below: int) -> NDArray[np.int16]:
        """Return the sides (n_units,) on a region that no test needs to split."""
        if not self.pairs:
            return self._bits(above).astype(np.int16)
        up, down = (self._bits(flags).reshape(self.n_units, -1) for flags in (above, below))
        beaten = np.zeros((self.n_units, self._program.net.candidates[self._bend]), bool)
        for k, (p, q) in enumerate(self.pairs):  # as in _alive, all units at once
            beaten[:, q] |= down[:, k] == 0
            beaten[:, p] |= (down[:, k] == 1) & (up[:, k] == 0)
        sides: NDArray[np.int16] = beaten.argmin(axis=1).astype(np.int16)
        return sides

    def _bits(self, flags: int) -> NDArray[np.uint8]:
        packed = np.frombuffer(flags.to_bytes((self.count + 7) // 8, "little"), np.uint8)
        return np.unpackbits(packed, count=self.count, bitorder="little")
