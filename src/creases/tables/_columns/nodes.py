"""How the cells of a column are read by an exported program, and the steps of arithmetic that codecs write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partialmethod
from typing import Any, Literal

from creases._typing import Floats

#: Texts of dates and times of day that are read, in which 0 stands for any digit. A time may have one digit before it.
SHAPES = {
    "date": ("0000-00", *(f"0000-00-00{clock}" for clock in ("", " 00:00", "T00:00", " 00:00:00", "T00:00:00"))),
    "time": ("00:00", "00:00:00"),
}

#: White space, which never counts around a text.
SPACES = "".join(letter for letter in map(chr, range(0x3001)) if letter.isspace())

#: Fields of dates and times: where their digits are, and what they are where the text is shorter.
FIELDS = {
    "date": {"year": (1, 4, 1), "month": (6, 2, 1), "day": (9, 2, 1),
             "hour": (12, 2, 0), "minute": (15, 2, 0), "second": (18, 2, 0)},
    "time": {"hour": (1, 2, 0), "minute": (4, 2, 0), "second": (7, 2, 0)},
}  # fmt: skip

#: Years that dates can have: others are none where moments are counted in nanoseconds.
FIRST_YEAR, LAST_YEAR = 1678, 2261


@dataclass(frozen=True)
class Input:
    """A column, and how its cells are read. White space around a text never counts."""

    name: str
    cells: Literal["number", "text", "date", "time"]
    about: str  #: what its cells are to be, in words
    is_spelled: bool = True  #: of numbers: whether a text such as 3.5 is one, as it is in the table
    ignores: Literal["nothing", "case", "marks"] = "nothing"  #: of texts: case; or case, and what is between words
    gaps: tuple[str, ...] = ("",)  #: texts that stand for a missing value


def _operate(a: Any, op: str, b: Any) -> Operation:
    return Operation("<", b, a) if op == ">" else Operation(op, a, b)


class Node:
    """A value that is computed, of a cell or by arithmetic of others; comparisons are conditions."""

    __add__ = partialmethod(_operate, "+")
    __sub__ = partialmethod(_operate, "-")
    __mul__ = partialmethod(_operate, "*")
    __truediv__ = partialmethod(_operate, "/")
    __mod__ = partialmethod(_operate, "%")
    __lt__ = partialmethod(_operate, "<")
    __gt__ = partialmethod(_operate, ">")
    __or__ = partialmethod(_operate, "or")
    __and__ = partialmethod(_operate, "and")
    equals = partialmethod(_operate, "=")


@dataclass(frozen=True)
class Number(Node):
    """The number of a cell; another one where it is missing or cannot be read."""

    column: int
    other: float


@dataclass(frozen=True)
class Missing(Node):
    """1 where a cell is missing, else 0."""

    column: int


@dataclass(frozen=True)
class Shaped(Node):
    """1 where a cell has the shape of a date, or of a time of day, else 0."""

    column: int


@dataclass(frozen=True)
class Field(Node):
    """A field of a cell that is shaped so; ``absent`` where its text is shorter or is not."""

    column: int
    start: int  #: of the digits, from 1
    length: int
    absent: int


@dataclass(frozen=True)
class Choose(Node):
    """A number for each text of a column or, where a cell is not a text, for each number; and one for others."""

    column: int
    texts: Mapping[str, float]
    numbers: Mapping[float, float]
    other: float


@dataclass(frozen=True)
class Name(Node):
    """The value of an earlier step."""

    name: str


@dataclass(frozen=True)
class Operation(Node):
    """``a op b`` with op among ``+ - * / % < = and or min max``; comparisons are conditions of :class:`If`."""

    op: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Whole(Node):
    """The largest whole number that is not above a value."""

    value: Any


@dataclass(frozen=True, eq=False)
class Interpolate(Node):
    """A piecewise-linear function of a step: straight between knots, constant outside."""

    name: str
    knots: Floats  #: (k,)
    values: Floats  #: (k,)


@dataclass(frozen=True)
class If(Node):
    """One of two values by a condition."""

    condition: Any
    yes: Any
    no: Any
