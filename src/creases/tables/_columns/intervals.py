"""Intervals, which become their middles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import ClassVar, Literal, Self

import numpy as np

from creases._typing import Floats
from creases.tables._columns.codec import TextCodec, parse_each, thin_out

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
