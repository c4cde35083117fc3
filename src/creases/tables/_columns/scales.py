"""Texts that are numbers on a scale: words in an order, known or given by a user, coordinates, intervals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import ClassVar, Literal, Self

import numpy as np

from creases._typing import Floats
from creases.tables._columns.codec import Axis, Feature, TextCodec, parse_each, thin_out

#: Words of known scales, from least to most; words between two bars mean the same.
_SCALES = (
    "none | very low, lowest | low | medium, moderate, mid, middle, average, normal | high | very high, highest"
    " | extreme, critical",
    "never | almost never, hardly ever, very rarely | rarely, seldom | sometimes, occasionally | often, frequently"
    " | usually, very often, mostly, almost always | always",
    "tiny, extra small, very small | small | medium, mid, middle | large, big | huge, extra large, very large",
    "xxs, 2xs | xs | s | m | l | xl | xxl, 2xl | xxxl, 3xl",
    "strongly disagree | disagree | somewhat disagree, slightly disagree | neutral, neither agree nor disagree, "
    "neither, undecided | somewhat agree, slightly agree | agree | strongly agree",
    "very dissatisfied | dissatisfied | neutral | satisfied | very satisfied",
    "very unlikely | unlikely | neutral | likely | very likely",
    "terrible, very poor, very bad, awful | poor, bad | fair, average, ok, okay | good | very good | excellent",
    "none, absent | mild | moderate | severe | very severe, critical",
    "very slow | slow | medium, moderate, average | fast | very fast",
    "very short | short | medium, average | long, tall | very long, very tall",
    "young | middle-aged, middle age, middle | old, senior",
    "very cold, freezing | cold | cool | mild | warm | hot | very hot",
    "very light | light | medium, moderate | heavy | very heavy",
    "very weak | weak | medium, moderate | strong | very strong",
    "novice, beginner | intermediate | advanced | expert",
    "intern | junior | mid, middle, mid-level, intermediate | senior | lead, principal",
    "trivial | minor | moderate | major | critical",
    "bronze | silver | gold | platinum | diamond",
    "very easy | easy | medium, moderate | hard, difficult | very hard, very difficult",
    "first | second | third | fourth | fifth | sixth | seventh | eighth | ninth | tenth",
    "monday, mon | tuesday, tue, tues | wednesday, wed | thursday, thu, thur, thurs | friday, fri | saturday, sat"
    " | sunday, sun",
    "january, jan | february, feb | march, mar | april, apr | may | june, jun | july, jul | august, aug"
    " | september, sep, sept | october, oct | november, nov | december, dec",
)

#: Words that make an order of the number or letter behind them: grade A, level 3, stage II. Others, such as type and
#: group, need not.
_RANK = re.compile(r"(?i)grade|level|lvl|stage|tier|rank|rating|step|phase|floor|year|band|degree|score")
_NUMBERED = re.compile(r"(?i)([a-z]*?)[\s:#._-]*(\d{1,3}|(?<![a-z])(?:[a-z]|[ivx]{1,4}))", re.ASCII)
_ENDED = re.compile(r"(?i)(\d{1,3})(?:st|nd|rd|th)", re.ASCII)
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10, "xi": 11,
          "xii": 12}  # fmt: skip

#: Levels of a scale at most.
MAX_WORDS = 100

Words = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ScaleFormat(TextCodec):
    """An order of words, which become 0, 1, 2, ..."""

    kinds: ClassVar[tuple[str, ...]] = ("ordinal",)
    given: ClassVar[tuple[str, ...]] = ("ordinal",)
    plural: ClassVar[str] = "values of the scale"
    tells_levels: ClassVar[bool] = True
    ignores: ClassVar[Literal["nothing", "case", "marks"]] = "marks"
    words: tuple[tuple[str, ...], ...]  #: spellings of each level, in order; the first is that of the table

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the numbers (n,) of words, NaN for those that are missing or not of the scale; case does not count."""
        codes = {_plain(word): float(k) for k, words in enumerate(self.words) for word in words}
        return parse_each(texts, lambda text: codes.get(_plain(text), np.nan))

    def write(self, value: float) -> str:
        """Return the word of the level that is nearest."""
        return self.words[int(np.clip(round(value), 0, len(self.words) - 1))][0]

    def describe(self) -> str:
        """List the words in order."""
        words = [words[0] for words in self.words]
        return " < ".join(words if len(words) <= 7 else [*words[:3], "...", *words[-2:]])

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes, and the name of this step."""
        return 1.0, "step"

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return levels within a range, at most so many."""
        return thin_out(np.arange(float(len(self.words))), low, high, most)

    @classmethod
    def find(cls, counts: Mapping[str, int], name: str) -> Self | None:
        """Return the order of words: a known scale, or numbers and letters behind a word such as grade or level."""
        words = None if len(counts) > MAX_WORDS else _known_scale(counts) or _numbered_scale(counts, named=True)
        return None if words is None else cls(words)

    @classmethod
    def impose(cls, counts: Mapping[str, int]) -> Self | None:
        """Return the order of words that a user calls ordinal: numbers and letters need no word before them."""
        words = _known_scale(counts) or _numbered_scale(counts, named=False)
        return None if words is None else cls(words)

    def check(self) -> bool:
        """Return whether it has words, each of them once."""
        is_filled = all(words and len(set(words)) == len(words) for words in self.words)
        return len(self.words) > 1 and is_filled

    def accept(self, values: Floats) -> Floats:
        """Return numbers of levels."""
        return np.where(np.isin(values, np.arange(len(self.words))), values, np.nan)

    def axis(self, feature: Feature, knots: Floats) -> Axis:
        """Return the axis, on which there are no values between the levels."""
        return replace(super().axis(feature, knots), whole=tuple(np.arange(float(len(self.words))).tolist()))

    def labels(self) -> dict[str, float]:
        """Return the numbers of the words."""
        return {word: float(k) for k, words in enumerate(self.words) for word in words}


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text).strip().lower()


def _known_scale(counts: Mapping[str, int]) -> Words | None:
    """Return the levels of the scale that has all words; those that the table does not have are left out.

    Letters alone may be anything: M and S are sizes only beside a third one, or beside XL.
    """
    spelled: dict[str, str] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        spelled.setdefault(_plain(text), text)
    for scale in _SCALES:
        levels = [[word.strip() for word in level.split(",")] for level in scale.split("|")]
        code = {_plain(word): k for k, level in enumerate(levels) for word in level}
        if not spelled.keys() <= code.keys():
            continue
        places = {code[word] for word in spelled}
        if len(places) < 2 or (len(places) == 2 and all(len(word) == 1 for word in spelled)):
            return None
        ordered = [sorted(levels[k], key=lambda word: _plain(word) not in spelled) for k in sorted(places)]
        return tuple(tuple(spelled.get(_plain(word), word) for word in level) for level in ordered)
    return None


def _numbered_scale(counts: Mapping[str, int], *, named: bool) -> Words | None:
    """Return the order of texts that end in a number, a letter or a Roman number behind one word."""
    matches = {text: _NUMBERED.fullmatch(text.strip()) for text in counts}
    if all(match is not None for match in matches.values()):
        parts = {text: (match[1].lower(), match[2].lower()) for text, match in matches.items() if match is not None}
    elif all(_ENDED.fullmatch(text) for text in counts):
        parts = {text: ("rank", re.sub(r"\D", "", text)) for text in counts}
    else:
        return None
    prefixes, ends = {prefix for prefix, _ in parts.values()}, {end for _, end in parts.values()}
    if len(prefixes) > 1 or len(ends) < 2 or (named and not _RANK.fullmatch(next(iter(prefixes)))):
        return None
    if all(end.isdecimal() for end in ends):
        rank = {end: int(end) for end in ends}
    elif all(end in _ROMAN for end in ends):
        rank = {end: _ROMAN[end] for end in ends}
    elif all(len(end) == 1 and end.isalpha() for end in ends):
        rank = {end: ord(end) for end in ends}
    else:
        return None
    levels: dict[int, list[str]] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        levels.setdefault(rank[parts[text][1]], []).append(text)
    return tuple(tuple(levels[k]) for k in sorted(levels))


# Coordinates.


_PART = r"(?:(\d{{1,2}}(?:\.\d+)?)\s*[{0}]\s*)?"
_COORDINATE = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*°\s*" + _PART.format("'′") + _PART.format('"″') + "([NSEW])", re.ASCII)

#: Steps between coordinates, and by which slopes are told, in seconds, with their names.
_STEPS = {1: '1"', 10: '10"', 60: "1'", 600: "10'", 3600: "1°", 36_000: "10°"}


@dataclass(frozen=True)
class CoordinateFormat(TextCodec):
    """How a column writes degrees of latitude, or of longitude: ``48°12'N``, ``16°22'30"E``."""

    kinds: ClassVar[tuple[str, ...]] = ("coordinate",)
    given: ClassVar[tuple[str, ...]] = ("coordinate",)
    plural: ClassVar[str] = "coordinates"
    own_unit: ClassVar[str | None] = "degrees"
    is_before_units: ClassVar[bool] = True
    sides: tuple[str, ...] = ("N", "S")  #: of positive and of negative degrees
    digits: int = 1  #: how many of degrees, minutes and seconds are written

    @classmethod
    def find(cls, counts: Mapping[str, int], name: str) -> Self | None:
        """Return how texts write coordinates; None if they write none, or latitudes and longitudes."""
        found = [match for text in counts if (match := _COORDINATE.fullmatch(text))]
        sides = ("N", "S") if found and found[0][4] in "NS" else ("E", "W")
        if not found or any(match[4] not in sides for match in found):
            return None
        return cls(sides, max(3 if match[3] else 2 if match[2] else 1 for match in found))

    def check(self) -> bool:
        """Return whether its sides are those of one direction."""
        return self.sides in (("N", "S"), ("E", "W")) and 1 <= self.digits <= 3

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the degrees (n,) of cells, NaN for those that are missing or no coordinates."""
        return parse_each(texts, self._read)

    def _read(self, text: str) -> float:
        match = _COORDINATE.fullmatch(text)
        if match is None or match[4] not in self.sides:
            return np.nan
        degrees, minutes, seconds = (float(match[k] or 0) for k in (1, 2, 3))
        value = (degrees * 3600 + minutes * 60 + seconds) / 3600
        if minutes >= 60 or seconds >= 60 or value > (90 if "N" in self.sides else 180):
            return np.nan
        return -value if match[4] == self.sides[1] else value

    def write(self, value: float) -> str:
        """Return degrees as the column writes them, in whole numbers of its smallest unit."""
        size = 60 ** (self.digits - 1)
        degrees, rest = divmod(round(abs(value) * size), size)
        minutes, seconds = divmod(rest, 60) if self.digits == 3 else (rest, 0)
        parts = [f"{degrees}°", f"{minutes:02d}'", f'{seconds:02d}"'][: self.digits]
        return "".join(parts) + self.sides[int(value < 0)]

    def describe(self) -> str:
        """Say how its numbers are to be read."""
        return f"degrees, positive for {self.sides[0]}"

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes, and the name of this step."""
        size = max([1, *(size for size in _STEPS if size <= 360 * (high - low))])
        return size / 3600, _STEPS[size]

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return round coordinates within a range, at most about so many."""
        least = max(3600 * (high - low) / most, 3600 / 60 ** (self.digits - 1))
        size = next((size for size in _STEPS if size >= least), 36_000)
        return thin_out(np.arange(np.ceil(low * 3600 / size), high * 3600 / size + 1) * size / 3600, low, high, most)


# Intervals.


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


@dataclass(frozen=True)
class IntervalFormat(TextCodec):
    """How a column writes intervals, which become their middles; open ones reach half a usual width beyond their bound.

    Where no interval has two ends, ``65+`` is 65, and ``<5`` is half of 5.
    """

    kinds: ClassVar[tuple[str, ...]] = ("interval",)
    given: ClassVar[tuple[str, ...]] = ("interval",)
    plural: ClassVar[str] = "intervals"
    tells_levels: ClassVar[bool] = True
    ignores: ClassVar[Literal["nothing", "case", "marks"]] = "nothing"
    is_closed: ClassVar[bool] = False
    width: float = 0.0  #: the median width of its intervals with two ends, 0 if there are none
    unit: str = ""
    texts: tuple[str, ...] = ()  #: its texts in order; none if there are more than ``MAX_LABELS``

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
        if not self.texts:
            return f"{value:.6g}" + (f" {self.unit}" if self.unit else "")
        return self.texts[int(np.abs(self._middles - value).argmin())]

    @cached_property
    def _middles(self) -> Floats:
        return self.parse(self.texts)

    def describe(self) -> str:
        """Say how its numbers are to be read."""
        return "read as their middles"

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes, and the name of this step."""
        size = 10.0 ** np.floor(np.log10(0.1 * (high - low) * (1 + 1e-12)))
        return size, f"{size:g}" + (f" {self.unit}" if self.unit else "")

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return middles within a range, at most so many."""
        return thin_out(np.unique(self._middles) if self.texts else np.linspace(low, high, most), low, high, most)

    @classmethod
    def find(cls, counts: Mapping[str, int], name: str) -> Self | None:
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
            form = cls(width, unit)
            if len(ends) > MAX_LABELS:
                return form
            order = sorted(ends, key=lambda text: (form._read(text), text))
            return cls(width, unit, tuple(order))
        return None

    def check(self) -> bool:
        """Return whether its width is one, and its labels are intervals."""
        return 0 <= self.width < inf and not np.isnan(self.parse(self.texts)).any()

    def labels(self) -> dict[str, float]:
        """Return the middles of its texts."""
        return dict(zip(self.texts, self._middles.tolist(), strict=True))


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
