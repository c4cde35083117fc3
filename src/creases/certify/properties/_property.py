"""Properties as sets of inputs and outputs that must not occur, the networks they are about, and verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import torch

from creases._display import to_html
from creases._document import Document
from creases._program import Step
from creases._text import OneLine, plural
from creases._typing import Floats
from creases.certify._bounds import output_bounds
from creases.certify._case import Case, Numbers, dot
from creases.certify.differences._joint import add_network, concatenate
from creases.certify.proofs import Proof
from creases.certify.proofs._checker.plain import PlainNetwork
from creases.certify.proofs._digest import as_plain
from creases.certify.proofs._format import CaseSet, VerifyStatement
from creases.certify.proofs._rounding import round_down, round_up
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network


@dataclass(frozen=True)
class PartNetwork:
    """One of the networks of a property about several."""

    name: str
    inputs: tuple[int, ...]  #: which of the property's inputs it takes, in its own order
    n_out: int


@dataclass(frozen=True, eq=False)
class Property:
    """A property that holds if none of its cases occurs: the negation of their disjunction, as VNN-LIB states it.

    One about several networks is a property of them side by side: its outputs are theirs, one network after the other.
    """

    n_in: int
    n_out: int
    cases: tuple[Case, ...]
    strict: tuple[tuple[int, ...], ...] = ()  #: the rows of outputs of each case that must be below their limits
    networks: tuple[PartNetwork, ...] = ()  #: several; none: one network that takes all inputs

    def is_statement_of(self, proof: Proof) -> bool:
        """Whether a proof is about this property: the same cases, number by number, in any order."""
        statement = proof.statement
        sizes = proof.model.n_in, proof.model.n_out
        if not isinstance(statement, VerifyStatement) or sizes != (self.n_in, self.n_out):
            return False
        if statement.integer or statement.one_hot:  # about fewer inputs than the cases have
            return False
        return {_exact_numbers(each) for each in statement.cases} == {_exact_numbers(each) for each in case_sets(self)}


def case_sets(prop: Property) -> tuple[CaseSet, ...]:
    """Return the cases of a property as a proof states them."""
    strict = prop.strict or ((),) * len(prop.cases)
    parts = ([part.tolist() for part in (case.box, case.A, case.b, case.C, case.D, case.d)] for case in prop.cases)
    return tuple(CaseSet(*numbers, strict=rows) for numbers, rows in zip(parts, strict, strict=True))  # type: ignore[misc]


def _exact_numbers(case: CaseSet) -> tuple[object, ...]:
    """Return the numbers of a case, equal for equal values however they are written."""

    def convert(value: Any) -> object:
        if isinstance(value, list | tuple):
            return tuple(map(convert, value))
        return value if value in (np.inf, -np.inf) else Fraction(value)

    return tuple(convert(getattr(case, part.name)) for part in fields(case))


# -- numbers that are no floats ---------------------------------------------------------------------------------------


def as_numbers(values: Sequence[Any], shape: tuple[int, ...]) -> Numbers:
    """Return fractions as an array of float64 if all of them are; else as they are."""
    exact = np.array(values, dtype=object)
    exact = exact.reshape(shape) if exact.size else np.zeros([max(size, 0) for size in shape], dtype=object)
    floats = np.array([float(value) for value in exact.flat], float).reshape(exact.shape)
    is_exact = all(Fraction(near) == value for near, value in zip(floats.flat, exact.flat, strict=True))
    return floats + 0.0 if is_exact else exact  # no negative zero


def enclose_case(net: Network, case: Case) -> Case:
    """Return a case of floats that contains a case: ends and limits are rounded outwards.

    What the rounding of a row's coefficients can matter, for inputs of the box and their outputs, widens its limit.
    """
    if case.is_float:
        return case
    box = np.array([(round_down(low), round_up(high)) for low, high in case.box], float).reshape(-1, 2)
    reach_x = [max(abs(Fraction(end)) for end in pair) for pair in box.tolist()]
    reach_y = [Fraction(0)] * net.n_out
    if case.C.dtype == object:
        ends = np.stack(output_bounds(net, box)).reshape(2, -1)
        if not np.isfinite(ends).all():
            raise InputError("prop", "have coefficients of outputs that are float64, where outputs are this large")
        reach_y = [Fraction(float(value)) for value in np.abs(ends).max(axis=0)]
    (A, a_away), (C, c_away), (D, d_away) = (_nearest(rows) for rows in (case.A, case.C, case.D))
    b = [Fraction(limit) + dot(row, reach_x) for limit, row in zip(case.b.tolist(), a_away, strict=True)]
    outputs = zip(case.d.tolist(), c_away, d_away, strict=True)
    d = [Fraction(limit) + dot(of_y, reach_y) + dot(of_x, reach_x) for limit, of_y, of_x in outputs]
    limits, most = (np.array([round_up(value) for value in values], float) for values in (b, d))
    return Case(box, A, limits, C, D, most)


def _nearest(rows: Numbers) -> tuple[Floats, list[list[Fraction]]]:
    """Return the nearest floats of rows (k, n), and how far each is away."""
    floats = np.array([[float(value) for value in row] for row in rows], float).reshape(rows.shape)
    pairs = zip(floats.tolist(), rows.tolist(), strict=True)
    return floats, [[abs(Fraction(a) - Fraction(v)) for a, v in zip(*pair, strict=True)] for pair in pairs]


# -- several networks side by side ------------------------------------------------------------------------------------


def put_side_by_side(net: NetworkLike | tuple[NetworkLike, ...], prop: Property) -> Network:
    """Return the network that a property is about, in float64: several are put side by side.

    Its inputs and outputs must be those of the property; a proof of the property is about this network.
    """
    if not prop.networks:
        if isinstance(net, tuple):
            raise InputError("net", "be one network: the property is about one", f"{len(net)}")
        work = _to_float(net)
        _check_sizes(work, prop.n_in, prop.n_out, "")
        return work
    if not isinstance(net, tuple) or len(net) != len(prop.networks):
        names = ", ".join(part.name for part in prop.networks)
        got = f"a tuple of {len(net)}" if isinstance(net, tuple) else "one"
        raise InputError("net", f"be a tuple of {len(prop.networks)} networks: {names}", got)
    parts = [_to_float(each) for each in net]
    for each, part in zip(parts, prop.networks, strict=True):
        _check_sizes(each, len(part.inputs), part.n_out, f" of {part.name}")
    steps, shape = list[Step](), (prop.n_in,)
    pairs = zip(parts, prop.networks, strict=True)
    ends = [add_network(steps, each, part.name, shape, part.inputs) for each, part in pairs]
    return concatenate(steps, ends, prop.n_out, shape)


def match_networks(net: NetworkLike, other: NetworkLike | None, prop: Property) -> NetworkLike | PlainNetwork:
    """Return the network that a proof of a property is about, as the checker reads it."""
    if prop.networks:
        return put_side_by_side((net, net if other is None else other), prop)
    if other is not None:
        raise InputError("other", "be left out: the property is about one network")
    plain = as_plain(net)
    _check_link(plain.link)
    return plain


def _to_float(net: NetworkLike) -> Network:
    work = as_network(net).to("cpu").to(torch.float64)
    _check_link(work.link)
    return work


def _check_link(link: str) -> None:
    if link:
        hint = "pass the model without its last layer to ask about its scores"
        raise InputError("net", "have the outputs that the property names", f"scores before {link}", hint)


def _check_sizes(net: Network, n_in: int, n_out: int, whose: str) -> None:
    if (n_in, n_out) != (net.n_in, net.n_out):
        expected = f"have the network's {plural(net.n_in, 'input')} and {plural(net.n_out, 'output')}{whose}"
        raise InputError("prop", expected, f"{n_in} and {n_out}")


# -- answers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(OneLine):
    """Whether a property holds everywhere: proved, refuted by an input, or not known when the budget is over."""

    status: Literal["holds", "violated", "unknown"]
    counterexample: Floats | None = None  #: (n_in,), or (2, n_in) for a pair; the network was run there
    outputs: Floats | None = None  #: (m,) or (2, m), the network's outputs at the counterexample
    seconds: float = 0.0
    detail: str = ""  #: what is known, in words
    proof: Proof | None = field(default=None, repr=False)  #: of the verdict, where it was recorded

    @property
    def proof_note(self) -> str:
        """Why there is no proof; "" if there is one."""
        if self.proof is not None:
            return ""
        if self.status == "unknown":
            return "nothing was decided"
        return (
            "the search that decided records no tree (units that are choices within rows, or no trees were asked for)"
        )

    def __bool__(self) -> bool:
        """Return whether the property is proved."""
        return self.status == "holds"

    def describe(self) -> Document:
        """Return the answer; where the property is violated the input, and the network's outputs there."""
        lead = self.status + (f": {self.detail}" if self.detail else "")
        points = {"input": self.counterexample, "outputs": self.outputs}
        plain: dict[str, Any] = {name: None if point is None else point.tolist() for name, point in points.items()}
        pairs = zip("XY", plain.values(), strict=True)
        lines = [f"{name}_{i} = {value!r}" for name, point in pairs for i, value in enumerate(point or ())]
        values = {"status": self.status, "detail": self.detail, **plain, "seconds": self.seconds}
        return Document(
            "Verdict", lead, [{"title": "Counterexample", "text": "\n".join(lines)}] if lines else [], values
        )

    def _repr_html_(self) -> str:
        return to_html(self)

    def __str__(self) -> str:
        lines = [self.describe().lead]
        if self.counterexample is not None and self.outputs is not None:
            for x, y in zip(np.atleast_2d(self.counterexample), np.atleast_2d(self.outputs), strict=True):
                lines.append(f"input {_numbers(x)}, outputs {_numbers(y)}")
        return "\n".join(lines)


def _numbers(values: Floats) -> str:
    shown = ", ".join(f"{value:.6g}" for value in values[:8])
    return f"({shown}{', ...' if len(values) > 8 else ''})"
