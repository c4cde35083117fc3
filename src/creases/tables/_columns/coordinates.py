"""Geographic coordinates as tables write them, which become degrees: north and east are positive."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from creases._typing import Floats
from creases.tables._columns.codec import TextCodec, parse_each, thin_out

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
