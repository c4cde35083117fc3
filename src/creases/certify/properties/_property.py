"""Properties as sets of inputs and outputs that must not occur."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from creases._typing import Floats
from creases.certify._maximize.domain import Domain
from creases.certify.proofs import Proof
from creases.certify.proofs._format import CaseSet, VerifyStatement


@dataclass(frozen=True, eq=False)
class Case:
    """A set that must not occur: inputs of a box with ``A x <= b`` whose outputs have ``C y + D x <= d``."""

    box: Floats  #: (n, 2); both ends may be equal
    A: Floats  #: (r, n)
    b: Floats  #: (r,)
    C: Floats  #: (k, m)
    D: Floats  #: (k, n) zeros unless rows join inputs and outputs
    d: Floats  #: (k,)

    def contains(self, x: Floats, y: Floats) -> bool:
        """Whether an input (n,) and its outputs (m,) are in the set, inputs up to rounding."""
        domain = Domain(self.box, self.A, self.b)
        return bool(domain.contains(x[None])[0] and (self.C @ y + self.D @ x <= self.d).all())


@dataclass(frozen=True, eq=False)
class Property:
    """A property that holds if none of its cases occurs: the negation of their disjunction, as VNN-LIB states it."""

    n_in: int
    n_out: int
    cases: tuple[Case, ...]

    def is_statement_of(self, proof: Proof) -> bool:
        """Whether a proof is about this property: the same cases, number by number, in any order."""
        statement = proof.statement
        sizes = proof.model.n_in, proof.model.n_out
        if not isinstance(statement, VerifyStatement) or sizes != (self.n_in, self.n_out):
            return False
        return {_exact_numbers(each) for each in statement.cases} == {_exact_numbers(each) for each in case_sets(self)}


def case_sets(prop: Property) -> tuple[CaseSet, ...]:
    """Return the cases of a property as a proof states them."""
    return tuple(
        CaseSet(*(part.tolist() for part in (case.box, case.A, case.b, case.C, case.D, case.d))) for case in prop.cases
    )


def _exact_numbers(case: CaseSet) -> tuple[object, ...]:
    """Return the numbers of a case, equal for equal values however they are written."""

    def convert(value: Any) -> object:
        if isinstance(value, list | tuple):
            return tuple(map(convert, value))
        return value if value in (np.inf, -np.inf) else Fraction(value)

    return tuple(convert(getattr(case, part.name)) for part in fields(case))
