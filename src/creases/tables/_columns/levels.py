"""Columns of values that are told one by one: categories, with a number for each value, and columns of yes and no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from creases._typing import Floats
from creases.tables._columns.codec import (
    SWITCH,
    UNKNOWN,
    Codec,
    EncodedColumn,
    Feature,
    Ranges,
    Steps,
    format_level,
    level_number,
    unused_name,
)
from creases.tables._columns.nodes import Choose, If, Input, Name, Number
from creases.tables._columns.numbers import PLAIN, NumberFormat
from creases.tables._reading.columns import Column, to_number


@dataclass(frozen=True)
class Levels(Codec):
    """A category, or texts that are left out, such as names. Its values may be numbers."""

    kinds: ClassVar[tuple[str, ...]] = ("category", "ID", "text", "list", "tags", "constant", "empty", "other")
    given: ClassVar[tuple[str, ...]] = ("category",)
    has_levels: ClassVar[bool] = True
    own_unit: ClassVar[str | None] = ""
    is_discrete: ClassVar[bool] = True
    has_codes: ClassVar[bool] = False
    number: NumberFormat | None = None  #: how its values are written, if they are numbers

    @property
    def is_plain(self) -> bool:  # type: ignore[override]
        """Whether its values are numbers as Python spells them."""
        return self.number == PLAIN

    def read(self, column: Column) -> Column:
        """Return its values as numbers, or as texts."""
        if self.number is not None:
            return self.number.read(column)
        if column.is_text:
            return column
        return replace(column, values=np.array([text or None for text in self.texts(column)], object))

    def texts(self, column: Column) -> list[str]:
        """Return cells as values are written, "" for what is missing; numbers in one way."""
        if column.is_text:
            return ["" if text is None else str(text) for text in column.values]
        if column.is_date:
            texts = np.datetime_as_string(column.values, unit="s").tolist()  # days have no midnight
            plain = [text.removesuffix("T00:00:00").replace("T", " ") for text in texts]
            return ["" if text == "NaT" else text for text in plain]
        return [format_level(number) for number in column.values]

    def features(self, name: str) -> list[Feature]:
        """Return none: its values are no numbers."""
        return []

    def encode(self, column: EncodedColumn, read: Column, missing: str) -> Floats:
        """Return 0 and 1 for each value (n, levels); an unknown one is 0 in all."""
        place = column.places(missing)
        codes = np.array([place.get(text, column.n_levels) for text in self.texts(read)], np.int64)
        result: Floats = np.eye(column.n_levels + 1, column.n_levels)[codes]
        return result

    def encoded_features(self, column: EncodedColumn, missing: str) -> list[Feature]:
        """Return an input for each value that is not rare, and one for those that are."""
        name = column.name
        levels = [level for level in column.levels if level not in column.rare and (level or missing != "mean")]
        result = [
            Feature(f"{name}={level}" if level else f"{name} is missing", name, "category", level) for level in levels
        ]
        return result + ([Feature(f"{name}=other values", name, "category", is_pooled=True)] if column.rare else [])

    def level_of(self, column: EncodedColumn, values: Floats) -> str | None:
        """Return a value by its inputs (k,), "" where it is missing, None if unknown; of rare ones the first."""
        levels = [*(level for level in column.levels if level not in column.rare), *column.rare[:1]]
        return levels[int(values.argmax())] if values.any() else None

    def cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return a value, None where it is missing; an unknown one has a name that no value has."""
        level = self.level_of(column, values)
        return unused_name(UNKNOWN, column.levels) if level is None else level or None

    def exported_cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return a value as a cell that a program reads."""
        level = self.level_of(column, values)
        level = UNKNOWN if level is None else level
        return to_number(level) if self.number is not None else level or None

    def levels(self, column: EncodedColumn, names: Sequence[str]) -> list[tuple[str, Floats]]:
        """Return the values, each with its inputs."""
        return list(zip(names, np.eye(len(names)), strict=True))

    def options(self, own: Floats, features: Sequence[Feature], ranges: Ranges) -> tuple[Floats, Floats]:
        """Return the inputs of any other value."""
        levels = [k for k, feature in enumerate(features) if feature.level and not own[k]]
        return np.eye(len(own))[levels], np.full(len(levels), SWITCH)

    def input(self, column: EncodedColumn) -> Input:
        """Return that a program reads texts, or numbers where all values are."""
        if self.number is None:
            return Input(column.name, "text", "text")
        return Input(column.name, "number", "a number", self.number.is_spelled)

    def steps(self, column: EncodedColumn, k: int, missing: str) -> Steps:
        """Return the steps that read a value."""
        place = column.places(missing)
        codes = {text: float(j + 1) for text, j in place.items() if text}
        numbers = {x: codes[text] for text in codes if (x := level_number(text)) is not None}
        texts: Mapping[str, float] = codes if self.number is None else {}
        chosen = If(Name(f"missing{k}").equals(1), float(place.get("", -1) + 1), Choose(k, texts, numbers, 0.0))
        nodes: list[Any] = [If(Name(f"level{k}").equals(j + 1), 1, 0) for j in range(column.n_levels)]
        flaw = 0 if self.number is None else If(Number(k, 0.0).equals(Number(k, 1.0)), 0, 1)
        return Steps(({}, {f"level{k}": chosen}), nodes, flaw)


@dataclass(frozen=True)
class Lookup(Levels):
    """A category of very many values, such as customers: one input, the number of the value from 1 on, or 0."""

    kinds: ClassVar[tuple[str, ...]] = ("lookup", "category", "ID", "text")
    has_levels: ClassVar[bool] = False

    def encode(self, column: EncodedColumn, read: Column, missing: str) -> Floats:
        """Return the number of each value, and where there are gaps 1 for these, (n, 1 or 2)."""
        place, texts = column.places(missing), self.texts(read)
        numbers = np.array([place.get(text, -1) + 1.0 for text in texts])
        gaps = [[not text for text in texts]] if column.n_missing and missing == "indicate" else []
        return np.column_stack([numbers, *gaps])

    def encoded_features(self, column: EncodedColumn, missing: str) -> list[Feature]:
        """Return the input, and one for what is missing."""
        gap = Feature(f"{column.name} is missing", column.name, "missing")
        return [Feature(column.name, column.name, "lookup")] + [gap] * (column.n_missing > 0 and missing == "indicate")

    def level_of(self, column: EncodedColumn, values: Floats) -> str | None:
        """Return a value by its inputs (k,), None if it is unknown."""
        return column.levels[int(values[0]) - 1] if values[0] else None

    def levels(self, column: EncodedColumn, names: Sequence[str]) -> list[tuple[str, Floats]]:
        """Return the values, each with its number, and what is missing."""
        unit = np.eye(len(names))
        gap = [(unused_name("missing", column.levels), each) for each in unit[1:]]
        return [(level, (k + 1) * unit[0]) for k, level in enumerate(column.levels)] + gap

    def options(self, own: Floats, features: Sequence[Feature], ranges: Ranges) -> tuple[Floats, Floats]:
        """Return the numbers of all other values."""
        values = np.arange(1.0, float(ranges.high[0]) + 1)
        values = values[values != own[0]]
        return np.outer(values, np.eye(1, len(own))), np.full(len(values), SWITCH)

    def steps(self, column: EncodedColumn, k: int, missing: str) -> Steps:
        """Return the steps that read a value."""
        return replace(super().steps(column, k, missing), nodes=[Name(f"level{k}")], gap=Name(f"missing{k}"))


@dataclass(frozen=True)
class YesNo(Codec):
    """Two words, or the numbers 0 and 1."""

    kinds: ClassVar[tuple[str, ...]] = ("yes/no",)
    is_discrete: ClassVar[bool] = True
    has_codes: ClassVar[bool] = False
    words: tuple[str, ...] | None = None  #: for 0 and 1, as the table writes them, without regard to case
    number: NumberFormat = PLAIN  #: how 0 and 1 are written, if there are no words

    def check(self) -> bool:
        """Return whether it has two words, or none."""
        return self.words is None or len(set(self.words)) == 2

    @property
    def spellings(self) -> dict[str, float]:
        """What texts may be, in small letters, with their numbers: its words first."""
        words = dict(zip(map(str.lower, self.words or ()), (0.0, 1.0), strict=False))
        return words | {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}

    def read(self, column: Column) -> Column:
        """Return its words, or 0 and 1."""
        read = super().read(column)
        if self.words is None:
            return read
        words = {0.0: self.words[0], 1.0: self.words[1]}
        return replace(column, values=np.array([*map(words.get, read.values.tolist())], object))

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return 0 and 1 for texts (n,)."""
        known = {text: self.spellings.get(text.lower(), to_number(text)) for text in {*texts} if text is not None}
        return self.accept(np.array([None if text is None else known[text] for text in texts], np.float64))

    def accept(self, values: Floats) -> Floats:
        """Return 0 and 1; no other number is yes or no."""
        return np.where(np.isin(values, (0.0, 1.0)), values, np.nan)

    def numbers(self, read: Column) -> Floats:
        """Return 0 and 1 (n, 1)."""
        if self.words is None:
            return super().numbers(read)
        yes = [np.nan if word is None else float(word == self.words[1]) for word in read.values]
        return np.array(yes, np.float64)[:, None]

    def features(self, name: str) -> list[Feature]:
        """Return the input that is 1 for yes."""
        return [Feature(f"{name}={self.words[1]}" if self.words else name, name, "yes/no")]

    def cell(self, column: EncodedColumn, values: Floats) -> Any:
        """Return a word, or a number."""
        return super().cell(column, values) if self.words is None else self.words[int(values[0] > 0.5)]

    def text(self, values: Floats, name: str, knots: Floats) -> str:
        """Return a word, or a number."""
        return super().text(values, name, knots) if self.words is None else self.words[int(values[0] > 0.5)]

    def levels(self, column: EncodedColumn, names: Sequence[str]) -> list[tuple[str, Floats]]:
        """Return yes, no and, where it has an input, what is missing."""
        no, yes = self.words or ("0", "1")
        unit = np.eye(len(names))
        gap = [("missing", column.means[0] * unit[0] + unit[1])] if len(names) > 1 else []
        return [(yes, unit[0]), (no, 0 * unit[0]), *gap]

    def options(self, own: Floats, features: Sequence[Feature], ranges: Ranges) -> tuple[Floats, Floats]:
        """Return the other of yes and no, if the table has both."""
        n = int(ranges.low[0] < ranges.high[0])
        rows = np.repeat(own[None], n, axis=0)
        rows[:, 0] = 1.0 - own[0]
        return rows, np.full(n, SWITCH)

    def steps(self, column: EncodedColumn, k: int, missing: str) -> Steps:
        """Return the steps that read 0 and 1."""
        read, cell = super().steps(column, k, missing), Number(k, 0.5)
        return replace(read, flaw=If(cell.equals(0) | cell.equals(1), 0, 1))

    def labels(self) -> dict[str, float]:
        """Return the words and what else is read as these."""
        if self.words is None:
            return {}
        lower = [word.lower() for word in self.words]
        others = {text: number for text, number in self.spellings.items() if text not in lower}
        return dict(zip(self.words, (0.0, 1.0), strict=True)) | others | {"0.0": 0.0, "1.0": 1.0}

    def named(self, labels: Mapping[str, float]) -> Sequence[str]:
        """Return the words."""
        return self.words or ()

    @property
    def is_spelled(self) -> bool:  # type: ignore[override]
        """Whether a text such as 1.0 is what it is in Python."""
        return self.number.is_spelled
