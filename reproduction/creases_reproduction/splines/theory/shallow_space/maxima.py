"""Signed sums of maxima of a few affine functions as layers of ReLUs.

A maximum is a tournament, ``max(L, R) = relu(max L - max R) + max R``: k functions take ``ceil(log2 k)`` hidden layers.
A unit that two maxima share is computed once; units are nonnegative, so later layers carry them without a change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import torch
from torch import nn

from creases._typing import Floats
from creases_reproduction.splines.theory.linear_layer import linear_layer
from creases_reproduction.splines.theory.shallow_space.convex_parts import Integers
from creases_reproduction.splines.theory.shallow_space.triangulation import Face

Unit = tuple[Face, Face]  #: relu(max of the functions on the left - max of those on the right)


@dataclass(eq=False)
class _Combination:
    """A sum of units and of affine functions, each with a factor."""

    units: Counter[Unit] = field(default_factory=Counter)
    terms: Counter[int] = field(default_factory=Counter)

    def add_maximum(self, face: Face, factor: int) -> None:
        """Add a maximum of functions, with a factor."""
        while len(face) > 1:
            left, right = _halves(face)
            self.units[left, right] += factor
            face = right
        self.terms[face[0]] += factor


def _halves(face: Face) -> Unit:
    half = 2 ** ((len(face) - 1).bit_length() - 1)
    return face[:half], face[half:]


def _level(unit: Unit) -> int:
    """Return the hidden layer of a unit, from 1."""
    return (len(unit[0]) + len(unit[1]) - 1).bit_length()


@dataclass(frozen=True, eq=False)
class MaximaLayers:
    """The layers of signed sums of maxima of affine functions ``terms`` (M, n + 1), integers times ``2^-shift``."""

    terms: Integers
    shift: int
    lower: Floats  #: (n,) least inputs: the layers carry ``x - lower``, which is nonnegative

    def module(self, sums: list[Counter[Face]]) -> nn.Sequential:
        """Return the module whose outputs are the given sums, signs of faces."""
        outputs = [_Combination() for _ in sums]
        for output, faces in zip(outputs, sums, strict=True):
            for face, sign in faces.items():
                output.add_maximum(face, sign)
        rows, last_use = self._units(outputs)
        depth = max((_level(unit) for unit in rows), default=1)
        layers: list[nn.Module] = []
        columns: list[Unit] | None = None
        for level in range(1, depth + 1):
            new = [unit for unit in rows if _level(unit) == level]
            carried = [unit for unit in columns or [] if last_use[unit] > level]
            keep, start = self._carry(carried, columns)
            weight, offset = self._rows([rows[unit] for unit in new], columns)
            layers.append(linear_layer(np.concatenate([keep, weight]), np.concatenate([start, offset]), torch.float64))
            layers.append(nn.ReLU())
            columns = carried + new
        return nn.Sequential(*layers, linear_layer(*self._rows(outputs, columns), torch.float64))

    def _carry(self, carried: list[Unit], columns: list[Unit] | None) -> tuple[Floats, Floats]:
        """Return the weights and offsets that carry the inputs, less ``lower``, and some units to the next layer."""
        n, number = len(self.lower), self._numbers(columns)
        kept = [*range(n), *(number[unit] for unit in carried)]
        weight, offset = np.zeros((len(kept), n + len(number))), np.zeros(len(kept))
        weight[range(len(kept)), kept] = 1.0
        if columns is None:
            offset[:n] = -self.lower
        return weight, offset

    def _numbers(self, columns: list[Unit] | None) -> dict[Unit, int]:
        return {unit: len(self.lower) + k for k, unit in enumerate(columns or [])}

    def _units(self, outputs: list[_Combination]) -> tuple[dict[Unit, _Combination], dict[Unit, int]]:
        """Return what each unit that is needed bends, and the last layer that reads it."""
        rows: dict[Unit, _Combination] = {}
        last_use: dict[Unit, int] = {}
        todo = [(output, 2**63) for output in outputs]
        while todo:
            reader, level = todo.pop()
            for unit, factor in reader.units.items():
                if factor == 0:
                    continue
                last_use[unit] = max(last_use.get(unit, 0), level)
                if unit not in rows:
                    rows[unit] = _Combination()
                    rows[unit].add_maximum(unit[0], 1)
                    rows[unit].add_maximum(unit[1], -1)
                    todo.append((rows[unit], _level(unit)))
        return rows, last_use

    def _rows(self, combinations: list[_Combination], columns: list[Unit] | None) -> tuple[Floats, Floats]:
        """Return the weights on a layer with given units, None for the inputs, and the offsets of some combinations."""
        number = self._numbers(columns)
        weight = np.zeros((len(combinations), len(self.lower) + len(number)))
        offset = np.zeros(len(combinations))
        for row, combination in enumerate(combinations):
            for unit, factor in combination.units.items():
                if factor:
                    weight[row, number[unit]] = factor
            terms = [factor * self.terms[term] for term, factor in combination.terms.items()]
            *slopes, constant = (Fraction(int(total), 2**self.shift) for total in sum(terms))
            weight[row, : len(slopes)] = [float(slope) for slope in slopes]
            if columns is not None:
                constant += sum(slope * Fraction(low) for slope, low in zip(slopes, self.lower.tolist(), strict=True))
            offset[row] = float(constant)
        return weight, offset
