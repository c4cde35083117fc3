"""The encoding of a column: numbers with means for what is missing, and 0 and 1 for each value of a category."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from creases._schema import Kind, expect, is_number
from creases._text import plural
from creases._typing import Floats
from creases.tables._columns.codec import Codec
from creases.tables._columns.kinds import CODECS, MAX_LEVELS, ColumnKind, Gaps
from creases.tables._columns.levels import Levels, Lookup
from creases.tables._folder.records import read_record
from creases.tables._reading.columns import Column

#: A value is rare in fewer rows than this, or than one of so many: its rows cannot tell what it adds.
RARE, RARE_SHARE = 3, 2_000

#: Values of a category that are not pooled at most, and of all categories together while each keeps a few.
MOST_LEVELS, ALL_LEVELS = 400, 600

#: Values of a category above which it can be one input, the number of the value.
LOOKUP = 50

#: Largest mean that is stored: sums of larger ones would not be finite.
LARGEST = 1e300

#: Texts, each of them once: names of columns and classes.
NAMES = Kind(
    "different strings",
    lambda value: (
        isinstance(value, Collection) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)
    ),
)


@dataclass(frozen=True, eq=False)
class ColumnEncoding:
    """A column of the table: its kind, its use, and what its numbers are."""

    kind: ColumnKind
    use: Literal["input", "target", "left out"]
    n_missing: int = 0
    means: tuple[float, ...] = ()  #: of numbers: what missing values become, one for each number
    levels: tuple[str, ...] = ()  #: of a category: its values, sorted; "" where it is missing
    rare: tuple[str, ...] = ()  #: those of them that are pooled
    common: str = ""  #: the most frequent one
    gaps: Gaps = field(default_factory=Gaps)  #: what of the missing cells has text

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.kind.name

    @property
    def n_frequent(self) -> int:
        """Of a category: values with an input of their own."""
        return len(self.levels) - len(self.rare)

    @property
    def n_levels(self) -> int:
        """Of a category: inputs, one for each frequent value and one for all rare ones."""
        return self.n_frequent + bool(self.rare)

    def places(self, missing: str) -> dict[str, int]:
        """Return the input of each value of a category, by number: that of rare ones is ``n_frequent``."""
        place = {level: k for k, level in enumerate(level for level in self.levels if level not in self.rare)}
        place |= dict.fromkeys(self.rare, self.n_frequent)
        return place | ({"": place.get(self.common, len(place))} if missing == "mean" else {})

    @property
    def read_as_missing(self) -> str:
        """How many of its cells are missing, with their texts: ``3 cells of 'age' (2 'NA', 1 empty)``."""
        gaps = self.gaps
        marks = [f"{count:,} {text!r}" for text, count in gaps.marks.most_common()]
        unread = [f"{gaps.unread:,} not {self.kind.codec.plural}, such as {gaps.example!r}"] if gaps.unread else []
        empty = self.n_missing - gaps.marks.total() - gaps.unread
        whole = [*marks, *unread, *([f"{empty:,} empty"] if empty > 0 else [])]
        return f"{plural(self.n_missing, 'cell')} of {self.name!r} ({', '.join(whole)})"

    def check(self) -> None:
        """Raise ValueError where its parts do not match each other: they may be of a damaged file."""
        kind, where, is_input = self.kind, f"column {self.name!r}", self.use == "input"
        codec = kind.codec
        expect(kind.kind in codec.kinds, f"{where} has the kind {kind.kind!r} and the format {codec.kinds[0]!r}")
        parts = [codec, *(part for part in vars(codec).values() if isinstance(part, Codec))]
        expect(all(part.check() for part in parts), f"{where} has a damaged format of {codec.plural}: {codec}")
        expect(all(map(_is_mean, kind.codes)), f"{where} has codes that are no numbers")
        expect(kind.marks is None or NAMES.allows(kind.marks), f"{where} has the marks {kind.marks}")
        is_usable = kind.kind in (*codec.given, "yes/no") or kind.is_counter
        expect(not is_input or is_usable, f"{where} is an input of the kind {kind.kind!r}")
        count = len(codec.features(self.name)) if is_input else 0
        expect(len(self.means) == count, f"{where} has {len(self.means)} means where {count} belong")
        expect(all(map(_is_mean, self.means)), f"{where} has a mean that is not a number")
        if is_input and isinstance(codec, Levels):
            is_sorted = NAMES.allows(self.levels) and list(self.levels) == sorted(self.levels)
            expect(is_sorted, f"the values of {where} are not in order")
            is_known = NAMES.allows(self.rare) and set(self.rare) <= set(self.levels)
            expect(is_known, f"{where} has rare values that it does not have")
            common = [level for level in self.levels if level not in self.rare]
            expect(self.common in common, f"{self.common!r}, the most frequent value of {where}, is not one")
        else:
            expect(not self.levels and not self.rare, f"{where} has values of a category")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        codec = {"kind": self.kind.codec.kinds[0]} | asdict(self.kind.codec)
        parts = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in ("kind", "gaps")}
        part = None if self.kind.part is None else asdict(self.kind.part)
        return vars(self.kind) | {"codec": codec, "part": part} | parts | {"gaps": vars(self.gaps)}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ColumnEncoding:
        """Return the column of plain data; one whose parts do not match each other raises ValueError."""
        where = f"column {value['name']!r}"
        codec = read_record(CODECS[value["codec"]["kind"]], value["codec"], where)
        kind = read_record(ColumnKind, {**value, "codec": codec}, where)
        return read_record(cls, {**value, "kind": kind}, where)


def _is_mean(value: Any) -> bool:
    return is_number(value) and bool(np.isfinite(float(value))) and abs(value) <= LARGEST


def find_lookups(columns: Sequence[Column], kinds: Sequence[ColumnKind], uses: Sequence[Any]) -> list[ColumnKind]:
    """Return the kinds of columns that have been read, in which an input of very many values is read by a lookup."""
    result = list(kinds)
    for k, (column, kind, use) in enumerate(zip(columns, kinds, uses, strict=True)):
        if use == "input" and isinstance(kind.codec, Levels) and len(column.levels()) > LOOKUP:
            result[k] = replace(kind, codec=Lookup(kind.codec.number))
    return result


Sum = tuple[float, float, int]  #: a sum, what rounding took from it, and how many numbers it is of


def add_exactly(values: Floats) -> Sum:
    """Return the sum of numbers (n,) without those that are missing, and what rounding took from it.

    Both together have twice the digits of a float64, so sums of parts of a column, in any order, round to the same
    number as that of the whole column (the two-sum of Knuth, by halves).
    """
    values = values[~np.isnan(values)]
    count, rest = len(values), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        while len(values) > 1:
            half = len(values) // 2
            a, b, odd = values[:half], values[half : 2 * half], values[2 * half :]
            total = a + b
            shadow = total - a
            rest += float(((a - (total - shadow)) + (b - shadow)).sum())
            values = np.append(total, odd)
    return float(values.sum()), rest if math.isfinite(rest) else 0.0, count


def fit_means(sums: Sequence[Sum]) -> tuple[float, ...]:
    """Return the means of columns by their sums, 0 where everything is missing."""
    means = []
    for total, rest, count in sums:
        whole = math.fsum([total, rest]) if math.isfinite(total) else total
        means.append(float(np.clip(whole / max(count, 1), -LARGEST, LARGEST)))
    return tuple(means)


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What all rows tell of an input: those of a table in memory, or of one that is read in blocks."""

    n_missing: int
    sums: tuple[Sum, ...] = ()  #: of numbers
    counts: Any = None  #: of a category: rows with each value, also with "", or parts of them that add up
    n_others: int = 0  #: rows with values so rare that they were not counted
    first: Any = None  #: of dates that are read in blocks: the earliest

    @classmethod
    def of(cls, kind: ColumnKind, read: Column) -> ColumnSummary:
        """Return what a column that has been read tells."""
        if isinstance(kind.codec, Levels):
            return cls(0, counts=count_values(read, kind.codec.texts(read)))
        return cls(int(read.take(read.missing).sum()), tuple(map(add_exactly, read.take(kind.numbers(read)).T)))

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        counts = None if self.counts is None else self.counts + other.counts
        days = [each for each in (self.first, other.first) if each is not None]
        sums = tuple(add_sums(a, b) for a, b in zip(self.sums, other.sums, strict=True))
        return ColumnSummary(self.n_missing + other.n_missing, sums, counts, first=min(days, default=None))


def count_values(column: Column, values: Sequence[Any]) -> Counter[Any]:
    """Return in how many rows of a column each of its values (k,) is, which may be written in another way."""
    if column.places is None:
        return Counter(values)
    result: Counter[Any] = Counter()
    for value, count in zip(values, column.counts.tolist(), strict=True):
        if count:
            result[value] += count
    return result


def fit_inputs(kinds: Sequence[ColumnKind], summaries: Sequence[ColumnSummary], missing: str) -> list[ColumnEncoding]:
    """Return how inputs become numbers, by what all rows tell of them."""
    pairs, encodings = [*zip(kinds, summaries, strict=True)], []
    most = most_levels([each.counts for kind, each in pairs if each.counts is not None and kind.codec.has_levels])
    for kind, each in pairs:
        if each.counts is not None:
            learned = fit_category(each.counts, missing, most, n_others=each.n_others)
            if isinstance(kind.codec, Lookup):
                learned |= {"rare": (), "levels": tuple(filter(None, learned["levels"]))}
            encodings.append(ColumnEncoding(kind, "input", **learned))
            continue
        sums = list(each.sums)
        if each.first is not None:  # its numbers were counted from the first of a sample
            codec, shift = kind.codec.begin(each.first)
            kind = replace(kind, codec=codec, note=kind.note.replace(kind.codec.describe(), codec.describe(), 1))
            sums[codec.main] = add_sums(sums[codec.main], (shift * sums[codec.main][2], 0.0, 0))
        encodings.append(ColumnEncoding(kind, "input", each.n_missing, fit_means(sums)))
    return encodings


def add_sums(a: Sum, b: Sum) -> Sum:
    """Return the sum of two sums."""
    total, rest, _ = add_exactly(np.array([a[0], b[0]]))
    return total, math.fsum([a[1], b[1], rest]), a[2] + b[2]


def most_levels(counts: Collection[Counter[str]]) -> int:
    """Return how many values of a category are not pooled at most, by the rows with each value of all categories."""
    sizes = np.array([sum(count >= _least_rows(each.total()) for count in each.values()) for each in counts])
    fitting = (most for most in range(MOST_LEVELS, MAX_LEVELS, -1) if sizes.clip(max=most).sum() <= ALL_LEVELS)
    return next(fitting, MAX_LEVELS)


def _least_rows(n: int) -> int:
    """Return in how many of n rows a value is not rare."""
    return max(RARE, n // RARE_SHARE) if n >= RARE * MAX_LEVELS else 1


def fit_category(counts: Counter[str], missing: str, most: int, *, n_others: int = 0) -> dict[str, Any]:
    """Return the values of a category, sorted, those that are pooled as rare, and the most frequent one.

    ``counts`` is in how many rows each is; it is changed. At most ``most`` values are not pooled. ``n_others`` further
    rows have values so rare that they were not counted.
    """
    n = counts.total() + n_others
    common = min((text for text in counts if text), key=lambda text: (-counts[text], text), default="")
    gaps = counts[""]
    if missing == "mean" and common:
        counts[common] += counts.pop("", 0)
    levels = sorted(level for level, count in counts.items() if count)
    many = np.array([counts[level] for level in levels])
    is_rare = many < _least_rows(n)
    if len(levels) - is_rare.sum() + 1 > most:  # one is for those that are pooled
        is_rare[np.argsort(many, kind="stable")[: 1 - most]] = True
    rare = tuple(level for level, each in zip(levels, is_rare, strict=True) if each and level != common)
    return {"n_missing": gaps, "levels": tuple(levels), "rare": rare, "common": common}
