"""A column of a table: its kind, its use, and what its numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from creases.tables._reading.dates import DateFormat
from creases.tables._reading.kinds import ColumnKind
from creases.tables._reading.notations import read_notation
from creases.tables._reading.numbers import NumberFormat


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

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.kind.name

    @property
    def is_category(self) -> bool:
        """Whether it becomes a column of 0 and 1 for each of its values."""
        return self.kind.kind == "category"

    @property
    def n_frequent(self) -> int:
        """Of a category: values with an input of their own."""
        return len(self.levels) - len(self.rare)

    @property
    def n_levels(self) -> int:
        """Of a category: inputs, one for each frequent value and one for all rare ones."""
        return self.n_frequent + bool(self.rare)

    def places(self, missing: str) -> dict[str, int]:
        """Return the input of each frequent value of a category, by number; others have ``n_frequent``."""
        place = {level: k for k, level in enumerate(level for level in self.levels if level not in self.rare)}
        return place | ({"": place.get(self.common, len(place))} if missing == "mean" else {})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        forms: dict[str, Any] = {name: getattr(self.kind, name) for name in ("number", "date", "notation")}
        kind = {entry.name: getattr(self.kind, entry.name) for entry in fields(self.kind) if entry.name not in forms}
        formats = {name: None if form is None else form.to_dict() for name, form in forms.items()}
        rest = {name: getattr(self, name) for name in ("use", "n_missing", "means", "levels", "rare", "common")}
        return kind | formats | rest

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> ColumnEncoding:
        """Return the column of plain data."""
        number, date, words = value["number"], value["date"], value["words"]
        kind = ColumnKind(
            value["name"],
            value["kind"],
            value["note"],
            value["left_out"],
            None if number is None else NumberFormat(**number),
            None if date is None else DateFormat(date["format"], date["first"], as_tuple(date["parts"], "parts")),
            None if words is None else _as_pair(words),
            read_notation(value["notation"]),
        )
        lists = {name: as_tuple(value[name], name) for name in ("means", "levels", "rare")}
        return cls(kind, value["use"], value["n_missing"], common=value["common"], **lists)


def as_tuple(values: Any, name: str) -> tuple[Any, ...]:
    """Return a list of a file as a tuple; text is not a list of its letters."""
    if not isinstance(values, list | tuple):
        raise TypeError(f"{name} is {values!r}, not a list")
    return tuple(values)


def _as_pair(values: Any) -> tuple[Any, Any]:
    first, second = as_tuple(values, "words")
    return first, second
