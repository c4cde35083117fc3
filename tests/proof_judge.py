"""What verdicts about a case are judged by: exact answers, computed once, and the record of each judgement."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from proof_cases import Case
from rational_answers import Extreme, largest
from rational_regions import Regions, exact_outputs, regions

#: Values that are reached are rounded; they may differ from the exact ones by this, relative to their size.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Record:
    """One verdict."""

    kind: str
    seed: int
    scale: str
    status: str  #: "proved", "refuted" or "unknown"
    false: str = ""  #: what is false about it, empty if nothing is
    error: float = 0.0  #: by how much, relative to the size of the quantity
    detail: str = ""
    is_edge: bool = False  #: whether the limit asked about is within rounding of what is reached
    proof: Any = None  #: the proof that came with it, if any
    nets: tuple[Any, ...] = ()  #: the networks that the proof is about

    @property
    def is_false(self) -> bool:
        return bool(self.false)


class Judge:
    """The questions about one case, with the exact answers to them, computed when they are needed."""

    def __init__(self, case: Case, budget: float, limit: int, *, proofs: bool = False) -> None:
        self.case, self.budget, self.limit, self.proofs = case, budget, limit, proofs

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return the answer of a function, with a proof where that is wanted and an option of the function."""
        if self.proofs and "proof" in inspect.signature(function).parameters:
            options["proof"] = True
        return function(*arguments, **options)

    @cached_property
    def net(self) -> Any:
        return self.case.net()

    @cached_property
    def regions(self) -> Regions:
        found = self.case.regions(self.limit)
        assert found is not None, "the polytope holds the middle of the box"
        return found

    @cached_property
    def whole(self) -> Regions:
        """The regions of the box without the polytope's rows."""
        if self.case.A is None:
            return self.regions
        found = regions([self.case.layers], self.case.box, limit=self.limit)
        assert found is not None
        return found

    @cached_property
    def joint(self) -> Regions:
        found = self.case.joint_regions(self.limit)
        assert found is not None
        return found

    @cached_property
    def extremes(self) -> dict[tuple[float, ...], Extreme]:
        return {}

    def largest(self, row: Any) -> Fraction:
        """Return the largest value of a combination of the outputs."""
        key = tuple(float(entry) for entry in row)
        if key not in self.extremes:
            self.extremes[key] = largest(self.regions, np.array([key]))
        return self.extremes[key].value

    def size(self, row: Any) -> Fraction:
        """Return how large a combination of the outputs can be."""
        return max(abs(self.largest(row)), abs(self.largest(-np.asarray(row))), Fraction(1, 10**300))

    def outputs(self, x: Any) -> list[Fraction]:
        return exact_outputs(self.case.layers, np.asarray(x, float).tolist())

    def contains(self, x: Any) -> float:
        """Return by how much an input is outside the polytope, relative to its size; 0 inside."""
        point = [Fraction(float(value)) for value in np.asarray(x).ravel()]
        worst = Fraction(0)
        for value, (lo, hi) in zip(point, self.case.box.tolist(), strict=True):
            width = Fraction(hi) - Fraction(lo)
            worst = max(worst, (Fraction(lo) - value) / width, (value - Fraction(hi)) / width)
        if self.case.A is not None:
            for row, limit in zip(self.case.A, self.case.b, strict=True):
                terms = [Fraction(float(a)) * v for a, v in zip(row, point, strict=True)]
                size = sum(map(abs, terms)) + abs(Fraction(float(limit)))
                worst = max(worst, (sum(terms) - Fraction(float(limit))) / size)
        return float(worst)

    def record(self, kind: str, status: str, wrong: tuple[str, Any] | None = None, **more: Any) -> Record:
        false, error = ("", 0.0) if wrong is None else (wrong[0], float(wrong[1]))
        more.setdefault("nets", (self.net,))
        return Record(kind, self.case.seed, self.case.scale, status, false, error, **more)


def decision(y: list[Fraction]) -> int:
    return int(y[0] > 0) if len(y) == 1 else y.index(max(y))


def apply(C: Any, y: list[Fraction]) -> list[Fraction]:
    return [sum((Fraction(float(c)) * v for c, v in zip(row, y, strict=True)), Fraction(0)) for row in C]


def lead(m: int, c: int) -> Any:
    """Return rows that are all positive where a class is decided for."""
    if m == 1:
        return np.array([[1.0 if c else -1.0]])
    eye = np.eye(m)
    return np.array([eye[c] - eye[k] for k in range(m) if k != c])
