"""Numbers as tables write them: decimal points or commas, thousands separators, signs and units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import inf
from typing import Any, ClassVar, get_args

import numpy as np

from creases._schema import BOOL, COUNT, NAMES, STRING, check_entries, expect, is_number
from creases._typing import Floats
from creases.tables._reading.columns import Column, to_number
from creases.tables._reading.scales import ScaleFormat, find_scale, order_words
from creases.tables._reading.times import DurationFormat, TimeFormat, find_durations, find_times, parse_each, thin_out

# Numbers with a unit behind them, fractions, and intervals, as tables write them.

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

_UNIT_NAME = r"[a-zA-Z°µ\u00c0-\u024f][^\d\s]{0,11}[23]?(?: [a-zA-Z]{1,12})?"
_QUANTITY = re.compile(
    rf"([+-]?(?!0\d)[\d.,'\u2019\u00a0\u202f ]{{0,30}}\d(?:[eE][+-]?\d+)?)\s*({_UNIT_NAME})", re.ASCII
)
_FRACTION = re.compile(r"(\d{1,9}(?:\.\d+)?)\s*/\s*(\d{1,9})", re.ASCII)

_SIGNED = r"[$€£]?\s*(-?(?!0\d)\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*%?"  # 007 is a code
_N = r"[$€£]?\s*(-?(?!0\d)\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?)\s*%?"
_FLAGS = re.ASCII | re.IGNORECASE
_BETWEEN = re.compile(rf"{_N}\s*(?:-|–|—|\bto\b|\.\.\.?|…)\s*{_N}", _FLAGS)
_BRACKETS = re.compile(rf"[\[(]\s*{_SIGNED}\s*[,;]\s*{_SIGNED}\s*[\])]", _FLAGS)
_LESS, _MORE = r"(?:or|and|&) (?:less|under|below|fewer|younger)", r"(?:or|and|&) (?:more|over|above|up|older)"
_BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to|at most)\s*{_N}|{_N}\s*{_LESS}", _FLAGS)
_ABOVE = re.compile(rf"(?:>=?|≥|over|above|more than|at least)\s*{_N}|{_N}\s*(?:\+|plus\b|{_MORE})", _FLAGS)
_POINT = re.compile(_N, _FLAGS)

#: Intervals whose texts are stored, so that values are shown as the table writes them.
MAX_LABELS = 100


def split_unit(text: str) -> tuple[str, str] | None:
    """Return the number and the unit of a text such as ``61.5 kg``; None if it is no such text."""
    match = _QUANTITY.fullmatch(text)
    return None if match is None else (match[1].strip(), match[2])


@cache
def unit_factor(unit: str, base: str) -> float | None:
    """Return how many of one unit a unit is; None if they do not convert. A unit that is not known has a plural."""
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


@dataclass(frozen=True)
class FractionFormat:
    """How a column writes shares as fractions, ``3/4``, which become numbers from 0 to 1."""

    kind: ClassVar[str] = "share"
    plural: ClassVar[str] = "fractions"
    below: int = 1  #: the largest number below the line
    common: bool = True  #: whether all have this one

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the shares (n,) of cells, NaN for those that are missing or no fractions up to 1."""
        return parse_each(texts, _read_fraction)

    def write(self, value: float) -> str:
        """Return a share as a fraction: as the column writes it, or the nearest with numbers as small as its own."""
        if self.common:
            return f"{float(f'{value * self.below:.6g}'):.15g}/{self.below}"
        fraction = Fraction(value).limit_denominator(self.below)
        return f"{fraction.numerator}/{fraction.denominator}"

    def describe(self) -> str:
        """Say how its numbers are to be read."""
        return "fractions"

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes, and the name of this step."""
        size = 1 / self.below if self.common and 10 / self.below >= high - low else 0.1
        return size, self.write(size) if self.common else format(size, "g")

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return fractions within a range, at most so many."""
        below = self.below if self.below <= most else 100
        return thin_out(np.arange(below + 1) / below, low, high, most)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": self.kind, **asdict(self)}


def _read_fraction(text: str) -> float:
    match = _FRACTION.fullmatch(text)
    if match is None or int(match[2]) == 0 or float(match[1]) > int(match[2]):
        return np.nan
    return float(match[1]) / int(match[2])


def find_fractions(counts: Mapping[str, int], _name: str) -> FractionFormat | None:
    """Return how texts write fractions; None if they write none, or some that are greater than 1."""
    matches = [match for text in counts if (match := _FRACTION.fullmatch(text))]
    if not matches or any(np.isnan(_read_fraction(match[0])) for match in matches):
        return None
    below = {int(match[2]) for match in matches}
    return FractionFormat(max(below), len(below) == 1)


@dataclass(frozen=True)
class IntervalFormat:
    """How a column writes intervals, which become their middles; open ones reach half a usual width beyond their bound.

    Where no interval has two ends, ``65+`` is 65, and ``<5`` is half of 5.
    """

    kind: ClassVar[str] = "interval"
    plural: ClassVar[str] = "intervals"
    width: float = 0.0  #: the median width of its intervals with two ends, 0 if there are none
    unit: str = ""
    labels: tuple[str, ...] = ()  #: its texts in order; none if there are more than ``MAX_LABELS``

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the middles (n,) of intervals, NaN for cells that are missing or no intervals."""
        return parse_each(texts, self._read)

    def _read(self, text: str) -> float:
        ends = _read_interval(text, self.unit)
        if ends is None:
            return np.nan
        low, high = ends
        if low == -inf:
            return high - self.width / 2 if self.width else high / 2 if high > 0 else high
        return low + self.width / 2 if high == inf else (low + high) / 2

    def write(self, value: float) -> str:
        """Return the interval whose middle is nearest."""
        if not self.labels:
            return f"{value:.6g}" + (f" {self.unit}" if self.unit else "")
        return self.labels[int(np.abs(self._middles - value).argmin())]

    @cached_property
    def _middles(self) -> Floats:
        return self.parse(self.labels)

    def describe(self) -> str:
        """Say how its numbers are to be read."""
        return "read as their middles"

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes, and the name of this step."""
        size = 10.0 ** np.floor(np.log10(0.1 * (high - low) * (1 + 1e-12)))
        return size, f"{size:g}" + (f" {self.unit}" if self.unit else "")

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return middles within a range, at most so many."""
        return thin_out(np.unique(self._middles) if self.labels else np.linspace(low, high, most), low, high, most)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"kind": self.kind, "width": self.width, "unit": self.unit, "labels": list(self.labels)}


def _read_interval(text: str, unit: str = "") -> tuple[float, float] | None:
    """Return the ends of an interval, infinite where it is open; a number is an interval without a width."""
    if unit and text.lower().endswith(unit.lower()):
        text = text[: -len(unit)].rstrip()
    if match := _BETWEEN.fullmatch(text) or _BRACKETS.fullmatch(text):
        low, high = _number(match[1]), _number(match[2])
        return (low, high) if low is not None and high is not None and low <= high else None
    for pattern, is_upper in ((_BELOW, True), (_ABOVE, False)):
        if match := pattern.fullmatch(text):
            bound = _number(match[1] or match[2])
            return None if bound is None else (-inf, bound) if is_upper else (bound, inf)
    if match := _POINT.fullmatch(text):
        value = _number(match[1])
        return None if value is None else (value, value)
    return None


def _number(text: str) -> float | None:
    """Return a number in which commas separate thousands, or decimals if they cannot."""
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def find_intervals(counts: Mapping[str, int], _name: str) -> IntervalFormat | None:
    """Return how texts write intervals; None if they write none."""
    tails = Counter(match[0].strip() for text in counts if (match := re.search(r"[^\W\d_]+\.?$", text)))
    common = min(tails, key=lambda tail: (-tails[tail], tail), default="")
    for unit in ("", common):
        ends = {text: pair for text in counts if (pair := _read_interval(text, unit)) is not None}
        if 2 * len(ends) < len(counts) or all(low == high for low, high in ends.values()):
            continue
        widths = sorted({(low, high) for low, high in ends.values() if low < high and high - low < inf})
        is_code = 2 * len(widths) > len(ends) > MAX_LABELS and 2 * len(ends) > sum(counts.values())
        if is_code:  # 555-1234: numbers of parts or telephones
            return None
        width = float(np.median([high - low for low, high in widths])) if widths else 0.0
        form = IntervalFormat(width, unit)
        if len(ends) > MAX_LABELS:
            return form
        order = sorted(ends, key=lambda text: (form._read(text), text))
        return IntervalFormat(width, unit, tuple(order))
    return None


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


# Texts that are read as numbers and shown as texts again: times, durations, fractions, intervals, ordered words.

Notation = TimeFormat | DurationFormat | FractionFormat | IntervalFormat | ScaleFormat

#: What finds a notation in texts with their counts and the name of their column, in the order in which they are tried.
FINDERS: dict[str, Callable[[Mapping[str, int], str], Notation | None]] = {
    "time": find_times,
    "duration": find_durations,
    "share": find_fractions,
    "interval": find_intervals,
    "ordinal": find_scale,
}

#: Cells from which it is seen that a column of text has a notation.
PROBE = 200


def find_notation(column: Column, kinds: tuple[str, ...] = tuple(FINDERS)) -> tuple[Notation, Floats] | None:
    """Return the notation of a column of text, and its numbers (n,); None if it has none of these kinds.

    As of numbers, nearly all cells must be readable, and of a few all of them.
    """
    texts = column.present.tolist()
    probe = Counter(texts[:: max(1, len(texts) // PROBE)])
    counts: Counter[str] | None = None
    for need in (1.0, MOSTLY) if len(texts) >= MIN_CELLS else (1.0,):
        for kind in kinds:
            if _share(FINDERS[kind](probe, column.name), probe) < 2 * need - 1:
                continue
            counts = Counter(texts) if counts is None else counts
            notation = FINDERS[kind](counts, column.name)
            if notation is not None and _share(notation, counts) >= need:
                return notation, notation.parse(column.values.tolist())
    return None


def _share(notation: Notation | None, counts: Mapping[str, int]) -> float:
    """Return the share of cells that a notation reads."""
    if notation is None:
        return 0.0
    read = ~np.isnan(notation.parse([*counts]))
    sizes = np.array([*counts.values()])
    return float(sizes[read].sum() / sizes.sum())


def impose_notation(column: Column, kind: str) -> Notation | None:
    """Return the notation of a column that a user says has one, in which unreadable cells may be more."""
    counts = Counter(column.present.tolist())
    if kind == "time":
        return find_times(counts, "") or TimeFormat(seconds=True)
    return order_words(counts) if kind == "ordinal" else FINDERS[kind](counts, column.name)


def read_notation(value: Mapping[str, Any] | None) -> Notation | None:
    """Return the notation of plain data; data that are none raise an error of Python's."""
    if value is None:
        return None
    options = {name: _as_tuples(entry) for name, entry in value.items() if name != "kind"}
    forms: dict[str, type[Notation]] = {form.kind: form for form in get_args(Notation)}
    return forms[value["kind"]](**options)


def _as_tuples(entry: Any) -> Any:
    return tuple(map(_as_tuples, entry)) if isinstance(entry, list | tuple) else entry


def check_notation(notation: Notation, where: str) -> None:
    """Raise ValueError where the parts of a notation that was read from a file are not what its class declares."""
    what = f"{where} has a damaged notation of {notation.plural}"
    if isinstance(notation, TimeFormat):
        check_entries(notation, what, half_days=BOOL, seconds=BOOL)
    elif isinstance(notation, DurationFormat):
        check_entries(notation, what, unit=STRING, clock=BOOL, seconds=BOOL)
        expect(not notation.unit or notation.parse([f"1 {notation.unit}"])[0] > 0, what)
    elif isinstance(notation, FractionFormat):
        check_entries(notation, what, below=COUNT, common=BOOL)
        expect(notation.below > 0, what)
    elif isinstance(notation, IntervalFormat):
        check_entries(notation, what, unit=STRING, labels=NAMES)
        expect(is_number(notation.width) and 0 <= notation.width < np.inf, what)
        expect(not np.isnan(notation.parse(notation.labels)).any(), what)
    else:
        expect(isinstance(notation.levels, tuple) and len(notation.levels) > 1, what)
        expect(all(NAMES.allows(words) and words for words in notation.levels), what)
