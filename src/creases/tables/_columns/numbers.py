"""Numbers as tables write them: decimal points or commas, thousands separators, signs and units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np

from creases._typing import Floats
from creases.tables._columns.codec import Codec
from creases.tables._reading.columns import LARGEST_WHOLE, Column, to_number

#: Units that convert into each other, with their sizes.
_DIMENSIONS: tuple[dict[str, float], ...] = (
    {"µg": 1e-9, "ug": 1e-9, "mg": 1e-6, "g": 1e-3, "kg": 1.0, "t": 1e3, "lb": 0.45359237, "lbs": 0.45359237,
     "oz": 0.028349523125},
    {"nm": 1e-9, "µm": 1e-6, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1.0, "km": 1e3, "in": 0.0254,
     "ft": 0.3048, "yd": 0.9144, "mi": 1609.344, "mile": 1609.344, "miles": 1609.344},
    {"mm²": 1e-6, "cm²": 1e-4, "cm2": 1e-4, "m²": 1.0, "m2": 1.0, "sqm": 1.0, "ha": 1e4, "km²": 1e6, "km2": 1e6,
     "sqft": 0.09290304, "ft²": 0.09290304, "ft2": 0.09290304},
    {"µl": 1e-6, "ml": 1e-3, "mL": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0, "L": 1.0, "m³": 1e3, "m3": 1e3},
    {"Wh": 1.0, "kWh": 1e3, "MWh": 1e6, "GWh": 1e9, "J": 1 / 3600, "kJ": 1 / 3.6, "MJ": 1e3 / 3.6},
    {"cal": 1e-3, "kcal": 1.0},
    {"mW": 1e-3, "W": 1.0, "kW": 1e3, "MW": 1e6, "GW": 1e9},
    {"m/s": 3.6, "km/h": 1.0, "kmh": 1.0, "kph": 1.0, "mph": 1.609344},
    {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    {"Pa": 1.0, "hPa": 100.0, "mbar": 100.0, "kPa": 1e3, "bar": 1e5},
    {"mV": 1e-3, "V": 1.0, "kV": 1e3},
    {"mA": 1e-3, "A": 1.0},
    {"KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
)  # fmt: skip

_UNIT_NAME = r"/\s?[1-9]\d{0,4}|[a-zA-Z°µ\u00c0-\u024f][^\d\s]{0,11}[23]?(?: [a-zA-Z]{1,12})?"
_QUANTITY = re.compile(
    rf"([+-]?(?!0\d)[\d.,'\u2019\u00a0\u202f ]{{0,30}}\d(?:[eE][+-]?\d+)?)\s*({_UNIT_NAME})", re.ASCII
)


def split_unit(text: str) -> tuple[str, str] | None:
    """Return the number and the unit of a text such as ``61.5 kg`` or ``7/10``; None if it is no such text."""
    match = _QUANTITY.fullmatch(text)
    if match is None or (match[2][0] == "/" and not 0 <= (to_number(match[1]) or 0.0) <= float(match[2][1:])):
        return None
    return match[1].strip(), match[2].replace(" ", "") if match[2][0] == "/" else match[2]


@cache
def unit_factor(unit: str, base: str) -> float | None:
    """Return how many of one unit a unit is; None if they do not convert. A unit that is not known has a plural."""
    if unit[0] == base[0] == "/":  # of a fraction
        return float(base[1:]) / float(unit[1:])
    for sizes in _DIMENSIONS:
        known = {name.lower(): size for name, size in sizes.items()} | sizes
        a, b = (known.get(each, known.get(each.lower())) for each in (unit, base))
        if a is not None and b is not None and _is_clear(unit, base):
            return 1.0 if a == b else a / b
    return 1.0 if _singular(unit) == _singular(base) else None


def _is_clear(*units: str) -> bool:
    """Return whether letters in another case mean nothing else: MW and mW differ."""
    return all(
        any(unit in sizes for sizes in _DIMENSIONS)
        or sum(name.lower() == unit.lower() for sizes in _DIMENSIONS for name in sizes) == 1
        for unit in units
    )


def _singular(unit: str) -> str:
    unit = unit.lower().rstrip(".")
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


def common_unit(texts: Sequence[str], share: float) -> str | None:
    """Return the most frequent unit of texts, if at least a share of them have one that converts into it."""
    units = Counter(pair[1] for text in texts if (pair := split_unit(text)) is not None)
    if units.total() < share * len(texts) or not units:
        return None
    base = min(units, key=lambda unit: (-units[unit], unit))
    converts = sum(count for unit, count in units.items() if unit_factor(unit, base) is not None)
    return base if converts >= share * len(texts) else None


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

#: What multiplies a number, and what does only in a column that has one of the others, or a currency, too.
_MULTIPLES = {"k": 1e3, "thousand": 1e3, "mn": 1e6, "mio": 1e6, "mln": 1e6, "million": 1e6, "bn": 1e9, "bln": 1e9,
              "mrd": 1e9, "billion": 1e9, "trillion": 1e12, "m": 1e6, "b": 1e9, "t": 1e12}  # fmt: skip
_UNCLEAR = frozenset({"m", "b", "B", "t", "T"})

#: Numbers with what people put beside them: ~12.5, 12.5*, 12 (est.), 12.5 [3], 1.5M, (1,234.50).
_SIGN = r"[$€£¥]?"
_MARKED = re.compile(
    rf"(?P<about>~|≈|(?:ca|circa|about|around|approx|est)\b\.?)?\s*(?P<open>\()?\s*"
    rf"(?P<number>{_SIGN}\s?[+-]?{_SIGN}\s?\d[\d.,{_SPACES}]*?(?:e[+-]?\d+)?(?:\s?[€£$¥%])?)\s*"
    rf"(?P<multiple>(?:{'|'.join(_MULTIPLES)})\b\.?\s?{_SIGN})?(?(open)\s*\))"
    r"(?P<marks>(?:\s*(?:[*†‡§¶]|[\u00b9\u00b2\u00b3\u2070-\u2079]|\[\w{1,3}\]))*)"
    r"(?P<word>\s*\([a-z][\w. ]{0,20}\)|\s+(?:est|estimated|approx|prov|provisional|prelim|revised)\b\.?)?",
    re.IGNORECASE,
)

#: A column has marked numbers if at least this share of its cells are some.
WELL = 0.95


@dataclass(frozen=True)
class NumberFormat(Codec):
    """How a column writes its numbers, also with signs and units."""

    kinds: ClassVar[tuple[str, ...]] = ("number", "quantity", "share", "ID", "constant")
    given: ClassVar[tuple[str, ...]] = ("number", "quantity", "share")

    decimal: str = "."
    thousands: str = ""  #: a character class of separators between groups of three digits; "" for none
    unit: str = ""  #: a sign of :data:`SIGNS` or a unit such as kg; cells with another unit are converted into it
    is_marked: bool = False  #: whether cells may have marks and words, multiples (k, M), or parentheses for minus

    def describe(self) -> str:
        """Say what is special about it: ``decimal commas``; "" for plain numbers."""
        parts = ["decimal commas"] if self.decimal == "," else []
        parts += ["thousands separators"] if self.thousands else []
        parts += [f"in {self.unit}"] if self.unit else []
        parts += ["read with footnote marks, multiples (k, M) and parentheses for minus"] if self.is_marked else []
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
        if self.is_marked:
            if (match := _MARKED.fullmatch(text)) is None:
                return np.nan
            text, multiple = match["number"].strip(), (match["multiple"] or "").rstrip(f"{SIGNS}. ")
            if _CODE.fullmatch(text) or (match["open"] and text.startswith(("-", "+"))):
                return np.nan
            factor = _MULTIPLES.get(multiple.lower(), 1.0) * (-1.0 if match["open"] else 1.0)
        if self.unit and self.unit not in SIGNS:
            text, unit = split_unit(text) or (text, self.unit)
            converted = unit_factor(unit, self.unit)
            if converted is None:
                return np.nan
            factor *= converted
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

    @property
    def is_plain(self) -> bool:  # type: ignore[override]
        """Whether they are as Python spells them."""
        return self == PLAIN

    @property
    def is_reading(self) -> bool:  # type: ignore[override]
        """Whether they have marks, or a unit behind them, and could be names."""
        return self.is_marked or (bool(self.unit) and self.unit not in SIGNS)

    @property
    def is_spelled(self) -> bool:  # type: ignore[override]
        """Whether a text such as 1234.5 is what it is in Python."""
        return self.decimal == "."

    def check(self) -> bool:
        """Return whether it is a known format, with a sign or a unit."""
        is_known = NumberFormat(self.decimal, self.thousands) in FORMATS
        return is_known and (self.unit in ("", *SIGNS) or split_unit(f"1 {self.unit}") == ("1", self.unit))

    def read(self, column: Column) -> Column:
        """Return a column as numbers; new rows may write them in another way than the table did."""
        read = super().read(column)
        if not column.is_text or not (read.missing & ~column.missing).any():
            return read
        other = find_format(column)
        is_better = other is not None and not (np.isnan(other[1]) & ~column.missing).any()
        return replace(read, values=other[1]) if other is not None and is_better else read

    def unit_of(self, name: str) -> str:
        """Return the unit by the signs in its cells, or by the brackets in its name."""
        return self.unit or super().unit_of(name)

    def example(self, value: float, unit: str) -> str:
        """Return a number with its unit, where the table does not write it as Python does."""
        return "" if replace(self, is_marked=False).is_plain else f"{value:g} {unit}".strip()


@cache
def _pattern(form: NumberFormat) -> re.Pattern[str]:
    integer = rf"\d+|{_GROUPED.format(f'[{re.escape(form.thousands)}]')}" if form.thousands else r"\d+"
    return re.compile(rf"[+-]?(?:{integer})?(?:{re.escape(form.decimal)}\d*)?{_EXPONENT}")


PLAIN = NumberFormat()
FORMATS = (PLAIN, NumberFormat(".", f",{_SPACES}"), NumberFormat(",", f".{_SPACES}"))


def find_format(column: Column, *, commas: bool = False) -> tuple[NumberFormat, Floats] | None:
    """Return how a column of text writes numbers, and the numbers (n,); None if it does not.

    With ``commas`` other columns have decimal commas, so that ``1.234`` may have a thousands separator, ``1,234`` not.
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
    is_long = len(texts) >= MIN_CELLS
    for need, with_marks in ((1.0, False), (1.0, True), *([(WELL, True), (MOSTLY, False)] if is_long else [])):
        if with_marks and not _has_marks(texts):
            continue
        for form in forms:
            form = replace(form, is_marked=with_marks)
            if np.isnan(form.parse(_sample(texts))).mean() > 2 * (1 - need):  # most text is no number: see by a few
                continue
            numbers = form.parse(column.values.tolist())
            if (~np.isnan(numbers)).sum() >= need * len(texts):
                long = np.flatnonzero(np.abs(numbers) > LARGEST_WHOLE).tolist()
                names = {text for text in column.values[long] if text.isdecimal()}  # of accounts: two are one number
                return None if len({float(text) for text in names}) < len(names) else (form, numbers)
    return None


def _has_marks(texts: Sequence[str]) -> bool:
    """Return whether some texts are numbers with marks beside them that are no names or units.

    Words are in at most half of the cells, and parentheses not in all. One letter alone, such as 5 m or 2B, is no
    multiple; others are where they are next to their number, or some cells have another one or none.
    """
    found = [match for text in texts if (match := _MARKED.fullmatch(text))]
    multiples = Counter((match["multiple"] or "").rstrip(f"{SIGNS}. ") for match in found)
    is_next = any(match["multiple"] and match.start("multiple") == match.end("number") for match in found)
    is_clear = multiples.keys() - _UNCLEAR - {""} and (len({*map(str.lower, multiples)}) > 1 or is_next)
    if multiples.keys() - {""} and not is_clear and not any(set(match[0]) & set(SIGNS) for match in found):
        return False
    is_negative = [match["open"] is not None for match in found]
    has_words = sum(match["word"] is not None for match in found)
    others = [match for match in found if any(match[name] for name in ("about", "open", "multiple", "marks", "word"))]
    return bool(others) and not all(is_negative) and 2 * has_words <= len(found)


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
