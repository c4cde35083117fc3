"""Numbers as tables write them: decimal points or commas, thousands separators, signs and units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from creases._typing import Floats
from creases.tables._reading.columns import Column, to_number
from creases.tables._reading.quantities import common_unit, split_unit, unit_factor

#: Signs before or behind a number that are its unit.
SIGNS = "$€£¥%"

#: A column is numbers with flaws if at least this share of its cells are numbers.
MOSTLY = 0.9

#: Fewer cells than this must be numbers without exception.
MIN_CELLS = 20

_SPACES = " \u00a0\u202f'\u2019"
_GROUPED = r"[1-9]\d{{0,2}}(?:{0}\d{{3}})+"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_CODE = re.compile(r"[+-]?0\d+")  # 007: digits that are no number


@dataclass(frozen=True)
class NumberFormat:
    """How a column writes its numbers."""

    decimal: str = "."
    thousands: str = ""  #: a character class of separators between groups of three digits; "" for none
    unit: str = ""  #: a sign of :data:`SIGNS` or a unit such as kg; cells with another unit are converted into it

    def describe(self) -> str:
        """Say what is special about it: ``decimal commas``; "" for plain numbers."""
        parts = ["decimal commas"] if self.decimal == "," else []
        parts += ["thousands separators"] if self.thousands else []
        parts += [f"in {self.unit}"] if self.unit else []
        return ", ".join(parts)

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the numbers (n,) of cells, NaN for those that are missing or no numbers."""
        if self == PLAIN and not any("_" in text for text in texts if text is not None):
            try:
                return np.array(["nan" if text is None else text for text in texts], str).astype(np.float64)
            except ValueError:  # some cell is no number
                pass
        return np.array([np.nan if text is None else self._number(text) for text in texts], np.float64)

    def _number(self, text: str) -> float:
        factor = 1.0
        if self.unit and self.unit not in SIGNS:
            text, unit = split_unit(text) or (text, self.unit)
            converted = unit_factor(unit, self.unit)
            if converted is None:
                return np.nan
            factor = converted
        elif self.unit:
            text = text.replace(self.unit, "", 1).strip().replace("- ", "-")
            if text.startswith("(") and text.endswith(")"):  # accountants' minus
                text = "-" + text[1:-1]
        if self.thousands or self.decimal != ".":
            if not _pattern(self).fullmatch(text):
                return np.nan
            text = re.sub(f"[{re.escape(self.thousands)}]", "", text) if self.thousands else text
            text = text.replace(self.decimal, ".")
        number = to_number(text)
        return np.nan if number is None else number * factor

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@cache
def _pattern(form: NumberFormat) -> re.Pattern[str]:
    integer = rf"\d+|{_GROUPED.format(f'[{re.escape(form.thousands)}]')}" if form.thousands else r"\d+"
    return re.compile(rf"[+-]?(?:{integer})?(?:{re.escape(form.decimal)}\d*)?{_EXPONENT}")


PLAIN = NumberFormat()
FORMATS = (PLAIN, NumberFormat(".", f",{_SPACES}"), NumberFormat(",", f".{_SPACES}"))


def find_format(column: Column, *, commas: bool = False) -> tuple[NumberFormat, Floats] | None:
    """Return how a column of text writes numbers, and the numbers (n,); None if it does not.

    Parameters
    ----------
    column
        A column of text.
    commas
        Whether other columns of the table have decimal commas, so that ``1.234`` may have a thousands separator, and
        ``1,234`` may not.
    """
    texts = [text for text in column.values if text is not None]
    if not texts or any(_CODE.fullmatch(text) for text in texts):
        return None
    units = [sign for sign in SIGNS if sum(sign in text for text in texts) > len(texts) / 2]
    forms = [NumberFormat(form.decimal, form.thousands, unit) for form in FORMATS for unit in (units or [""])]
    if commas:
        plain_dots = [text for text in texts if "." in text]
        grouped = bool(plain_dots) and all(re.fullmatch(r"[+-]?[1-9]\d{0,2}(\.\d{3})+", text) for text in plain_dots)
        forms = forms[::-1] if grouped else [forms[0], *forms[:0:-1]]
    for need in (1.0, MOSTLY if len(texts) >= MIN_CELLS else 1.0):
        for form in forms:
            if np.isnan(form.parse(_sample(texts))).mean() > 2 * (1 - need):  # most text is no number: see by a few
                continue
            numbers = form.parse(column.values.tolist())
            if (~np.isnan(numbers)).sum() >= need * len(texts):
                return form, numbers
    return None


def find_quantity(column: Column, *, commas: bool = False) -> tuple[NumberFormat, Floats] | None:
    """Return how a column of text writes numbers with a unit, and the numbers (n,); None if it does not.

    Cells may have different units that convert, such as g and kg: numbers are in the most frequent one.
    """
    texts = column.present.tolist()
    need = MOSTLY if len(texts) >= MIN_CELLS else 1.0
    if common_unit(_sample(texts), 2 * need - 1) is None or (unit := common_unit(texts, need)) is None:
        return None
    parts = np.array([pair[0] for text in texts if (pair := split_unit(text)) is not None], object)
    plain = find_format(Column(column.name, parts), commas=commas)
    if plain is None:
        return None
    form = NumberFormat(plain[0].decimal, plain[0].thousands, unit)
    numbers = form.parse(column.values.tolist())
    return (form, numbers) if (~np.isnan(numbers)).sum() >= need * len(texts) else None


def has_decimal_commas(columns: Sequence[Column]) -> bool:
    """Return whether some column of text has decimal commas, and no other reading."""
    for column in columns:
        if column.is_text and len(present := column.present):
            result = find_format(Column(column.name, np.array(_sample(present.tolist()), object)))
            if result is not None and result[0].decimal == ",":
                return True
    return False


def _sample(texts: list[str]) -> list[str]:
    return texts[:: max(1, len(texts) // 200)]
