"""Linear functions and half-spaces as text: the largest terms by name, the rest summed.

Numbers have three digits, and more where rounding would be seen: where it changes the sum, at a row, by more than a
hundredth of the sum's standard deviation over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

import numpy as np

from creases._text import format_number, plural
from creases._typing import Floats, Ints
from creases.tables._explain.table import readable_name

#: A term counts as absent where it varies by less than this share of the largest.
NEGLIGIBLE = 1e-9

#: Rounding a number may change a sum by this share of its standard deviation.
VISIBLE = 0.01

MAX_DIGITS = 7


@dataclass(frozen=True, eq=False)
class LinearText:
    """A linear function ``coefficients . x + offset`` in parts to print: the largest terms, and the rest summed."""

    offset: str  #: with the mean of the smaller terms over the rows
    terms: tuple[tuple[str, str], ...]  #: (coefficient, name of the input), largest first; ``[color = red]`` is 0 or 1
    rest: str  #: standard deviation, over the rows, of the sum of the smaller terms; "" if there are none
    n_rest: int

    def __str__(self) -> str:
        return join_terms(self.terms, lead=self.offset) + self.ending

    @property
    def ending(self) -> str:
        """The smaller terms as the end of a sum, `` ± 0.05 (3 smaller terms)``; "" if there are none."""
        return f" ± {self.rest} ({plural(self.n_rest, 'smaller term')})" if self.n_rest else ""


def linear_text(
    coefficients: Floats, offset: float, rows: Floats, names: Sequence[str], max_terms: int, spread: Floats
) -> LinearText:
    """Return a linear function with its largest terms, at most ``max_terms``; the rest is summed over rows (n, d)."""
    inputs, rest = largest_terms(coefficients, spread, max_terms)
    unit = VISIBLE * float((rows @ coefficients).std())
    size = np.abs(rows).max(axis=0)
    terms = tuple((round_number(coefficients[k], unit / max(size[k], 1e-300)), input_name(names[k])) for k in inputs)
    total = rows[:, rest] @ coefficients[rest]
    deviation = deviation_text(total) if len(rest) else ""
    return LinearText(round_number(offset + float(total.mean()), unit), terms, deviation, len(rest))


def deviation_text(values: Floats) -> str:
    """Return the standard deviation of values (n,); rounding counts as 0."""
    deviation = float(values.std())
    return format_number(deviation) if deviation > NEGLIGIBLE * float(np.abs(values).max()) else "0"


def half_space_text(
    normal: Floats, bound: float, rows: Floats, names: Sequence[str], max_terms: int, spread: Floats
) -> str:
    """Return ``normal . x < bound`` as text, scaled so that the largest term has the coefficient 1.

    Examples
    --------
    >>> rows = np.array([[1.0, 5.0], [3.0, 2.0]])
    >>> half_space_text(np.array([-2.0, 6.0]), -5.0, rows, ["tenure", "tickets"], 4, rows.std(axis=0))
    'tickets - 0.333 tenure < -0.833'
    """
    inputs, rest = largest_terms(normal, spread, max_terms)
    if not len(inputs):
        return "always" if bound >= 0 else "never"
    lead = float(normal[inputs[0]])
    scaled, limit, sign = normal / lead, bound / lead, "<" if lead > 0 else ">"
    name = names[inputs[0]]
    if len(inputs) == 1 and not len(rest) and "=" in name and 0 <= limit <= 1:
        return readable_name(name) if sign == ">" else readable_name(name).replace(" = ", " is not ", 1)
    text = linear_text(scaled, -limit, rows, names, max_terms, spread)
    limit_text = text.offset[1:] if text.offset.startswith("-") else f"-{text.offset}"
    return f"{join_terms(text.terms)}{text.ending} {sign} {limit_text if text.offset != '0' else '0'}"


def largest_terms(coefficients: Floats, spread: Floats, max_terms: int) -> tuple[Ints, Ints]:
    """Return the inputs with the largest terms, at most ``max_terms``, and the others whose term is not zero.

    A term is as large as its coefficient times the standard deviation of its input. Inputs that do not vary count with
    the others: over these rows they are constant.
    """
    size = np.abs(coefficients) * spread
    order = np.argsort(-size, kind="stable")
    present = order[size[order] > NEGLIGIBLE * size.max(initial=0)]
    constant = np.flatnonzero((coefficients != 0) & (spread == 0))
    count = max_terms if len(present) + bool(len(constant)) > max_terms + 1 else len(present)  # a rest of 1 says less
    return present[:count], np.concatenate([present[count:], constant]).astype(np.int64)


def input_name(name: str) -> str:
    """Return the name of an input; of a category in brackets, ``[species = Adelie]``: 1 for its rows, 0 for others."""
    return f"[{readable_name(name)}]" if "=" in name else name


def join_terms(terms: Sequence[tuple[str, str]], *, lead: str = "") -> str:
    """Return a sum as text: ``0.4 tenure - 1.2 tickets``; ``lead`` is what it begins with, such as a constant."""
    text = lead
    for coefficient, name in terms:
        size = coefficient.removeprefix("-")
        term = name if size == "1" else f"{size} {name}"
        sign = "-" if coefficient.startswith("-") else "+"
        text += f" {sign} {term}" if text else f"{'-' if sign == '-' else ''}{term}"
    return text


def round_number(value: float, unit: float) -> str:
    """Return a number with three digits, or as many as a rounding of at most ``unit`` takes.

    Examples
    --------
    >>> round_number(1999.3712, 5.0), round_number(1999.3712, 0.1), round_number(0.123456, 1.0)
    ('1999', '1999.37', '0.123')
    """
    if not value:
        return "0"
    short = format_number(value)
    if not 0 < unit < np.inf or abs(float(short) - value) <= unit:
        return short
    digits = min(ceil(log10(abs(value) / unit)) + 1, MAX_DIGITS)
    return f"{value:.{digits}g}"
