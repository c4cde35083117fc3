"""What a proof consists of: a statement with its answer, and a tree of splits for each claim that the answer needs.

All parts are plain data. Numbers are floats or fractions, taken at their exact value; sequences may be tuples, lists or
arrays until a proof is saved or checked, which makes them tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, Literal

Number = Annotated[float | Fraction, "finite"]  #: an exact number
Extended = Annotated[float | Fraction, "extended"]  #: an exact number, or plus or minus infinity
Point = tuple[Number, ...]  #: (n_in,)
Rows = tuple[tuple[Number, ...], ...]  #: a matrix, row by row

#: Names a claim of a statement: ("case", 0), ("high", 2), ("pair", 0, 1), ...
ClaimKey = tuple[str | int, ...]


# -- trees ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Multipliers:
    """Non-negative factors of inequalities that hold or are assumed in a node; their sum is bounded from above.

    The sum is ``rows . (C y + D x + e - limit) + domain . (b - A x) + sum of sides[u] s_u z_u``, s_u = 1 on, -1 off.
    """

    rows: tuple[Number, ...] = ()  #: one for each row of the claim
    domain: Mapping[int, Number] = field(default_factory=dict)  #: by row of ``A x <= b``
    sides: Mapping[int, Number] = field(default_factory=dict)  #: by unit whose side is fixed by a split
    slopes: Mapping[int, Number] = field(default_factory=dict)  #: of the line below a unit, between its leak and 1
    box: Mapping[int, Number] = field(default_factory=dict)  #: by input: coefficient bounded by the box, not the ball


@dataclass(frozen=True)
class Lemma:
    """Tighten a bound of what enters a unit, by multipliers (without rows) of the node that it is at."""

    unit: int
    end: Literal["low", "high"]
    multipliers: Multipliers = field(default_factory=Multipliers)


@dataclass(frozen=True)
class Split:
    """A node with two children: ``x[index] <= at | x[index] >= at``, or ``z <= 0 | z >= 0`` of a unit."""

    kind: Literal["input", "unit"]
    index: int
    at: Number = 0.0  #: of an input; for an integer column the children end at its floor and its ceiling
    lemmas: tuple[Lemma, ...] = ()
    cuts: tuple[Multipliers, ...] = ()  #: half-spaces of inputs, beyond which the claim is true: see below


@dataclass(frozen=True)
class Leaf:
    """A node where the claim is shown at once.

    ``"bounds"``: a row of the claim is small enough by the plain bounds of the node. ``"multipliers"``: rows, domain
    and sides add up to at most 0. ``"empty"``: domain and sides do, so the node has no inputs. ``"gradient"``, for
    claims on coefficients: the interval of the gradient with known sides.
    """

    by: Literal["bounds", "multipliers", "empty", "gradient"]
    multipliers: Multipliers = field(default_factory=Multipliers)
    lemmas: tuple[Lemma, ...] = ()
    cuts: tuple[Multipliers, ...] = ()


#: A cut bounds its combination by an affine function of the input. Where all rows of the claim are positive, that is
#: not negative: only such inputs need to be looked at, in the node and below. Each cut takes the place of the last.

Tree = tuple[Split | Leaf, ...]  #: the nodes in preorder: a split, all of its first child, all of its second child


@dataclass(frozen=True)
class ClaimProof:
    """The tree that proves a claim."""

    claim: ClaimKey
    tree: Tree


# -- statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Domain:
    """Inputs of a box with ``A x <= b``."""

    box: tuple[tuple[Extended, Extended], ...]  #: (n_in, 2)
    A: Rows = ()
    b: tuple[Number, ...] = ()


@dataclass(frozen=True)
class CaseSet:
    """A set that must not occur: inputs of a box with ``A x <= b`` whose outputs have ``C y + D x <= d``.

    The rows of ``strict`` must be below their limits.
    """

    box: tuple[tuple[Extended, Extended], ...]
    A: Rows
    b: tuple[Number, ...]
    C: Rows
    D: Rows
    d: tuple[Number, ...]
    strict: tuple[int, ...] = ()


@dataclass(frozen=True)
class OutputRows:
    """Outputs with ``C y <= d``."""

    C: Rows
    d: tuple[Number, ...]


@dataclass(frozen=True)
class VerifyStatement:
    """No input is in any of the cases (claims ``("case", k)``), or the point is in one of them."""

    verdict: Literal["holds", "violated"]
    cases: tuple[CaseSet, ...]
    point: Point | None = None  #: of a violation
    integer: tuple[int, ...] = ()  #: only inputs whose columns here are whole numbers
    one_hot: tuple[tuple[int, ...], ...] = ()  #: only inputs with one 1 and else 0 in each group of columns


@dataclass(frozen=True)
class HoldsStatement:
    """A class is never or always decided, or outputs stay within rows, for all inputs of a domain.

    Claims: ``("never",)``; ``("always", j)`` for every other class j; ``("row", k)`` for each row of ``C y <= d``.
    """

    verdict: Literal["holds", "violated"]
    domain: Domain
    never: int | None = None
    always: int | None = None
    outputs: OutputRows | None = None
    point: Point | None = None  #: of a violation
    integer: tuple[int, ...] = ()  #: as for cases
    one_hot: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class MonotoneStatement:
    """An output never falls (rises) by more than ``slack`` per unit of a column; claim ``("coefficient",)``."""

    verdict: Literal["holds", "violated"]
    domain: Domain
    column: int
    output: int
    direction: Literal["rising", "falling"]
    slack: Number = 0.0
    interior: Point | None = None  #: with rows: a point strictly inside of them and of the box
    pair: tuple[Point, Point] | None = None  #: of a violation: two inputs that differ in the column, the smaller first


@dataclass(frozen=True)
class RangeEntry:
    """What is proved (low, high) and reached (minimum, maximum) of a quantity; None: not stated.

    The value at ``argmin`` is at most ``minimum``, that at ``argmax`` at least ``maximum``.
    """

    index: tuple[int, ...]  #: (output,), (output, output less) or (output, column)
    low: Number | None = None
    high: Number | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    argmin: Point | None = None
    argmax: Point | None = None


@dataclass(frozen=True)
class RangeStatement:
    """Ranges of outputs, their differences or coefficients; claims ``("low", *index)`` and ``("high", *index)``."""

    quantity: Literal["outputs", "differences", "coefficients"]
    domain: Domain
    entries: tuple[RangeEntry, ...]
    interior: Point | None = None  #: with rows and coefficients: a point strictly inside of them and of the box


@dataclass(frozen=True)
class LipschitzStatement:
    """No operator norm of the Jacobian in a box is above ``upper``, claim ``("norm",)``; at ``where`` it is ``lower``.

    The Jacobian is that of the columns that are not fixed, wherever it exists; ``lower`` is no more than its norm.
    """

    norm: Literal["l1", "l2", "linf"]
    box: tuple[tuple[Extended, Extended], ...]
    upper: Number | None = None
    lower: Number | None = None
    where: Point | None = None


@dataclass(frozen=True)
class NearestStatement:
    """No input within ``lower_bound`` of x reaches another decision, and the point at ``distance`` does.

    Claims ``("goal", j)`` for each class j that may be reached, ``("goal",)`` for a range; none if the lower bound is
    0. An infinite lower bound: no input of the box does at all.
    """

    x: Point
    predicted: int  #: class of x
    norm: Literal["l1", "l2", "linf"]
    weights: tuple[Number, ...]  #: (n_in,) of the columns in the distance
    box: tuple[tuple[Extended, Extended], ...]  #: with equal ends where a column is fixed
    lower_bound: Extended
    integer: tuple[int, ...] = ()
    one_hot: tuple[tuple[int, ...], ...] = ()
    target: int | None = None  #: class to reach; None: any other
    target_range: tuple[Number | None, Number | None] | None = None  #: of a single output
    distance: Number | None = None
    point: Point | None = None


@dataclass(frozen=True)
class DifferenceEntry:
    """``|a - b|`` of an output is at most ``upper``, and at least ``lower`` at ``where``; None: not stated."""

    index: int
    upper: Number | None = None
    lower: Number | None = None
    where: Point | None = None


@dataclass(frozen=True)
class DifferencesStatement:
    """By how much two networks differ; claims ``("high", i)`` for a - b and ``("low", i)`` for b - a."""

    box: tuple[tuple[Extended, Extended], ...]
    entries: tuple[DifferenceEntry, ...]


@dataclass(frozen=True)
class DecisionsStatement:
    """Two networks decide alike: claims ``("pair", i, j)``, never a for i and b for j; or differently at a point."""

    verdict: Literal["same", "different"]
    box: tuple[tuple[Extended, Extended], ...]
    classes: tuple[int, int] | None = None  #: that a and b decide for at the point
    point: Point | None = None


@dataclass(frozen=True)
class UnitsStatement:
    """Units of ReLUs are on one side all over a box: never positive, ``("off", u)``, or never negative, ``("on", u)``.

    Units are numbered as they come, bend after bend.
    """

    box: tuple[tuple[Extended, Extended], ...]
    off: tuple[int, ...] = ()
    on: tuple[int, ...] = ()


Statement = (
    VerifyStatement
    | HoldsStatement
    | MonotoneStatement
    | RangeStatement
    | LipschitzStatement
    | NearestStatement
    | DifferencesStatement
    | DecisionsStatement
    | UnitsStatement
)

STATEMENTS: dict[str, Any] = {
    "verify": VerifyStatement,
    "holds": HoldsStatement,
    "monotone": MonotoneStatement,
    "output_range": RangeStatement,
    "lipschitz": LipschitzStatement,
    "nearest": NearestStatement,
    "differences": DifferencesStatement,
    "decisions": DecisionsStatement,
    "units": UnitsStatement,
}


# -- proofs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelMark:
    """Which network a proof is about."""

    digest: str  #: of :func:`network_digest`
    n_in: int
    n_out: int


@dataclass(frozen=True)
class Proof:
    """A statement about a network, or two, with trees that prove the claims it consists of."""

    model: ModelMark
    statement: Statement
    proofs: tuple[ClaimProof, ...] = ()
    other: ModelMark | None = None  #: the second network of differences and decisions
