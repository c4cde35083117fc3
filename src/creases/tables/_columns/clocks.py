"""Times of day and durations as tables write them, as numbers of hours."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal, Self

import numpy as np

from creases._typing import Floats
from creases.tables._columns.codec import EncodedColumn, Feature, Steps, TextCodec, parse_each
from creases.tables._columns.nodes import FIELDS, Field, If, Input, Name, Shaped

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?:\s*([ap])\.?\s?m\.?)?", re.IGNORECASE | re.ASCII)
_HOUR = re.compile(r"(\d{1,2})\s*([ap])\.?m\.?", re.IGNORECASE | re.ASCII)
_LONG_CLOCK = re.compile(
    r"(-?)(?:(\d+)\s*(?:d|days?),?\s+)?(\d{1,6}):(\d{2})(?::(\d{2}(?:\.\d+)?))?", re.IGNORECASE | re.ASCII
)
_PART = re.compile(r"(\d+(?:[.,]\d+)?)\s*([a-zµ]*)\.?(?:\s*,\s*|\s+and\s+|\s*)", re.IGNORECASE | re.ASCII)
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)

#: A column of this name has durations where it writes 12:30.
_DURATION_NAME = re.compile(r"(?i)duration|elapsed|runtime|run time|time taken|lap|length")

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0  # in seconds

#: Units of time, with other spellings and seconds, the largest first; a year is 365.25 days, a month a twelfth of it.
UNITS: dict[str, tuple[tuple[str, ...], float]] = {
    "years": (("y", "yr", "yrs", "year"), 365.25 * DAY),
    "months": (("mo", "mos", "month"), 365.25 * DAY / 12),
    "weeks": (("w", "wk", "wks", "week"), 7 * DAY),
    "d": (("day", "days"), DAY),
    "h": (("hr", "hrs", "hour", "hours"), HOUR),
    "min": (("m", "mins", "minute", "minutes"), MINUTE),
    "s": (("sec", "secs", "second", "seconds"), 1.0),
    "ms": (("msec", "millisecond", "milliseconds"), 0.001),
}
_SECONDS = {word: size for name, (others, size) in UNITS.items() for word in (name, *others)}

#: Spellings that are units of other things too: they count as time only beside another unit of time.
_UNCLEAR = frozenset({"m"})

#: Steps by which slopes are told, in seconds, with their names.
_STEPS = ((0.001, "ms"), (1.0, "s"), (10.0, "10 s"), (MINUTE, "min"), (600.0, "10 min"), (HOUR, "h"), (DAY, "d"),
          (10 * DAY, "10 d"), (100 * DAY, "100 d"), (1000 * DAY, "1,000 d"))  # fmt: skip

#: Steps in which a time can change, in seconds.
_GRID = (0.001, 0.01, 0.1, 1.0, 5.0, 10.0, 15.0, 30.0, MINUTE, 300.0, 600.0, 900.0, 1800.0, HOUR, 6 * HOUR, DAY,
         7 * DAY, 30 * DAY, 365 * DAY, 3650 * DAY)  # fmt: skip


@dataclass(frozen=True)
class HourCodec(TextCodec):
    """A column of times that become hours."""

    own_unit: ClassVar[str | None] = "h"
    is_before_units: ClassVar[bool] = True
    may_be_target: ClassVar[bool] = True

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes over a range, and the name of this step."""
        fits = [(size / HOUR, name) for size, name in _STEPS if size <= 0.1 * HOUR * (high - low) * (1 + 1e-12)]
        return fits[-1] if fits else (_STEPS[0][0] / HOUR, _STEPS[0][1])


@dataclass(frozen=True)
class TimeFormat(HourCodec):
    """How a column writes times of day, which become hours from 0 to 24."""

    kinds: ClassVar[tuple[str, ...]] = ("time",)
    given: ClassVar[tuple[str, ...]] = ("time",)
    plural: ClassVar[str] = "times"
    has_codes: ClassVar[bool] = False
    until: ClassVar[tuple[str, str]] = ("until", "after")
    half_days: bool = False  #: whether it has am and pm
    seconds: bool = False

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the hours (n,) of cells, NaN for those that are missing or no times."""
        return parse_each(texts, _read_time)

    def write(self, hours: float) -> str:
        """Return a time as the column writes it: ``08:30``, ``8:30 pm``."""
        total = round(hours * HOUR, 3) if self.seconds else MINUTE * round(hours * 60)
        whole, rest = divmod(total, HOUR)
        minutes, seconds = divmod(rest, MINUTE)
        tail = f"{int(minutes):02d}" + (f":{_two_digits(seconds)}" if self.seconds else "")
        if self.half_days:
            return f"{int(whole) % 12 or 12}:{tail} {'pm' if 12 <= whole < 24 else 'am'}"
        return f"{int(whole):02d}:{tail}"

    def describe(self) -> str:
        """Say how its numbers are to be read."""
        return "hours from 0 to 24"

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return round times within a range, at most about so many."""
        return _time_grid(low, high, 1.0 if self.seconds else MINUTE, most)

    @classmethod
    def find(cls, counts: Mapping[str, int], name: str) -> Self | None:
        """Return how texts write times of day; None if they write none, or durations by the name or their look.

        12:30 is a time of day. It is a duration in a column that is called so, or that has hours without a zero before
        them and seconds too (1:30:00).
        """
        clocks = [text for text in counts if not np.isnan(_read_time(text))]
        if not clocks:
            return None
        half_days = any(text[-1] in "mM." for text in clocks)
        are_spans = any(re.fullmatch(r"\d:\d\d:\d\d.*", text) for text in clocks)
        if not half_days and (_DURATION_NAME.search(name) or are_spans):
            return None
        return cls(half_days, any(text.count(":") == 2 for text in clocks))

    @classmethod
    def impose(cls, counts: Mapping[str, int]) -> Self:
        """Return how texts write times of day, which a user says that they are."""
        return cls.find(counts, "") or cls(seconds=True)

    def features(self, name: str) -> list[Feature]:
        """Return the hour, which is a circle."""
        return [Feature(name, name, "number", unit="h", part="hour")]

    def label(self, feature: Feature, value: float, tolerance: float, *, commas: bool) -> tuple[str, float]:
        """Return an hour and its minutes, or the time as the column writes it."""
        return hour_label(value, tolerance) or super().label(feature, value, tolerance, commas=commas)

    def input(self, column: EncodedColumn) -> Input:
        """Return how a program reads times of day."""
        return Input(column.name, "time", "a time of day HH:MM or HH:MM:SS")

    def steps(self, column: EncodedColumn, k: int, missing: str) -> Steps:
        """Return the steps that read times of day."""
        stages, wrong, (hour, minute, second) = read_clock("time", k)
        flaw = If(wrong | (hour * 3600 + minute * 60 + second > 86_400), 1, 0)
        is_missing = Name(f"missing{k}").equals(1)
        return Steps(stages, [If(is_missing, column.means[0], Name(f"clock{k}"))], flaw, Name(f"missing{k}"))

    def exported_cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return an hour as a time that programs read."""
        return str(timedelta(seconds=min(round(float(values[0]) * 3600), 86_399)))


def _read_time(text: str) -> float:
    if match := _HOUR.fullmatch(text):
        hour, minutes, seconds, half = int(match[1]), 0, 0.0, match[2]
    elif match := _CLOCK.fullmatch(text):
        hour, minutes, seconds, half = int(match[1]), int(match[2]), float(match[3] or 0), match[4]
    else:
        return np.nan
    if minutes > 59 or seconds >= 60 or (half and not 1 <= hour <= 12):
        return np.nan
    if half:
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    total = HOUR * hour + MINUTE * minutes + seconds
    return total / HOUR if total <= DAY else np.nan


def _two_digits(seconds: float) -> str:
    text = f"{seconds:06.3f}".rstrip("0").rstrip(".")
    return text if len(text.split(".")[0]) == 2 else f"{int(seconds):02d}"


@dataclass(frozen=True)
class DurationFormat(HourCodec):
    """How a column writes durations, which become hours."""

    kinds: ClassVar[tuple[str, ...]] = ("duration",)
    given: ClassVar[tuple[str, ...]] = ("duration",)
    plural: ClassVar[str] = "durations"
    unit: str = ""  #: as in ``90 min``, where all have one; "" for ``1 h 30 min`` and ``1:30:00``
    clock: bool = False  #: whether they are written as ``1:30:00``
    seconds: bool = True  #: whether a clock has seconds

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the hours (n,) of cells, NaN for those that are missing or no durations; numbers have its unit."""
        return parse_each(texts, self._read)

    def _read(self, text: str) -> float:
        hours = _read_duration(text)
        return _read_duration(f"{text} {self.unit}") if self.unit and np.isnan(hours) else hours

    def write(self, hours: float) -> str:
        """Return a duration as the column writes it: ``90 min``, ``1 h 30 min``, ``1:30:00``."""
        if self.unit:
            return f"{float(f'{hours * HOUR / _SECONDS[self.unit.lower()]:.6g}'):.15g} {self.unit}"
        sign, total = "-" if hours < 0 else "", round(abs(hours) * HOUR, 3)
        if self.clock:
            total = total if self.seconds else MINUTE * round(total / MINUTE)
            whole, rest = divmod(total, HOUR)
            minutes, seconds = divmod(rest, MINUTE)
            return f"{sign}{int(whole)}:{int(minutes):02d}" + (f":{_two_digits(seconds)}" if self.seconds else "")
        words = []
        for name in ("d", "h", "min"):
            count, total = divmod(total, UNITS[name][1])
            words += [f"{int(count)} {name}"] if count else []
        words += [f"{total:.6g} s"] if total or not words else []
        return sign + " ".join(words)

    def describe(self) -> str:
        """Say how its numbers are to be read."""
        return f"in {self.unit}" if self.unit else ""

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return round durations within a range, at most about so many."""
        least = _SECONDS[self.unit.lower()] if self.unit else 1.0 if self.seconds else MINUTE
        return _time_grid(low, high, least, most)

    @classmethod
    def find(cls, counts: Mapping[str, int], name: str) -> Self | None:
        """Return how texts write durations; None if they write none."""
        read = {text: count for text, count in counts.items() if not np.isnan(_read_duration(text))}
        clocks = {text: count for text, count in read.items() if ":" in text}
        spelled = {text: parts for text in read if text not in clocks and (parts := _split_units(text.lower()))}
        units = {unit for parts in spelled.values() for _, unit in parts}
        if not read or (not clocks and units and units <= _UNCLEAR):
            return None
        if 2 * sum(clocks.values()) > sum(read.values()):
            return cls(clock=True, seconds=any(text.count(":") == 2 for text in clocks))
        if spelled and len({_SECONDS[unit] for unit in units}) == 1 and len(spelled) == len(read):
            names: Counter[str] = Counter()
            for text in spelled:
                names[re.sub(r"^[\d.,\s]+", "", text).rstrip(". ,")] += read[text]
            return cls(unit=min(names, key=lambda unit: (-names[unit], unit)))
        return cls()

    def check(self) -> bool:
        """Return whether its unit is one of time."""
        return not self.unit or bool(self.parse([f"1 {self.unit}"])[0] > 0)


def _read_duration(text: str) -> float:
    if match := _LONG_CLOCK.fullmatch(text):
        sign, days, hours, minutes, seconds = match.groups()
        if int(minutes) > 59 or float(seconds or 0) >= 60:
            return np.nan
        total = DAY * int(days or 0) + HOUR * int(hours) + MINUTE * int(minutes) + float(seconds or 0)
        return (-total if sign else total) / HOUR
    if (match := _ISO.fullmatch(text)) and len(text) > 2 and text[-1] != "T":
        sizes = (DAY, HOUR, MINUTE, 1.0)
        return sum(size * float(part or 0) for size, part in zip(sizes, match.groups(), strict=True)) / HOUR
    parts = _split_units(text.lower())
    if parts is None:
        return np.nan
    return sum(number * _SECONDS[unit] for number, unit in parts) / HOUR


def _split_units(text: str) -> list[tuple[float, str]] | None:
    """Return the numbers and units of a text such as ``1 h 30``; None if it is no duration. Units get smaller."""
    parts: list[tuple[float, str]] = []
    place = 0
    while place < len(text):
        match = _PART.match(text, place)
        if match is None:
            return None
        unit = match[2]
        if not unit and parts and match.end() == len(text):  # the minutes of 1 h 30, the seconds of 5 min 20
            unit = {HOUR: "min", MINUTE: "s"}.get(_SECONDS[parts[-1][1]], "")
        if unit not in _SECONDS or (parts and _SECONDS[unit] >= _SECONDS[parts[-1][1]]):
            return None
        parts.append((float(match[1].replace(",", ".")), unit))
        place = match.end()
    return parts or None


def _time_grid(low: float, high: float, least: float, most: int) -> Floats:
    """Return the hours between two that are multiples of a step of at least so many seconds."""
    need = max(HOUR * (high - low) / most, least) * (1 - 1e-12)
    size = next((size for size in _GRID if size >= need), _GRID[-1])
    values = np.arange(np.ceil(low * HOUR / size - 1e-9), np.floor(high * HOUR / size + 1e-9) + 1) * size / HOUR
    return np.clip(values, low, high)


def hour_label(value: float, tolerance: float) -> tuple[str, float] | None:
    """Return an hour of the day with its minutes, and the hour that this text says; None if that is not near."""
    minutes = round(60 * value)
    if abs(value - minutes / 60) > tolerance:
        return None
    return f"{minutes // 60}:{minutes % 60:02d}", minutes / 60


def read_clock(cells: Literal["date", "time"], k: int) -> tuple[list[dict[str, Any]], Any, tuple[Name, Name, Name]]:
    """Return stages of a program that read the fields of dates or times, where these are wrong, and those of clocks."""
    hour, minute, second = (Name(f"{part}{k}") for part in ("hour", "minute", "second"))
    fields: dict[str, Any] = {f"{part}{k}": Field(k, *place) for part, place in FIELDS[cells].items()}
    clock: dict[str, Any] = {f"clock{k}": hour + minute / 60 + second / 3600}
    wrong = Name(f"shaped{k}").equals(0) | (minute > 59) | (second > 59)
    return [{f"shaped{k}": Shaped(k)}, fields, clock], wrong, (hour, minute, second)
