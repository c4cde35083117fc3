"""The encoding of a table's columns as numbers: fitted once, stored as JSON, applied to new rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from creases._schema import BOOL, COUNT, NAMES, STRING, check_entries, choice, expect, is_number, optional
from creases._text import list_names, list_some, plural
from creases._typing import Floats, Ints, Task
from creases.errors import ColumnWarning, FileError, InputError
from creases.tables._encoding.columns import LARGEST, ColumnEncoding, as_tuple, encode, fit_columns
from creases.tables._reading import numbers
from creases.tables._reading import times as dates
from creases.tables._reading.columns import Column
from creases.tables._reading.files import row_columns
from creases.tables._reading.kinds import GIVEN_KINDS, MAX_LEVELS, ColumnKind, Kind, format_level
from creases.tables._reading.numbers import check_notation, split_unit

if TYPE_CHECKING:
    import pandas as pd


# Checks of a table's encoding that was read from a file, which may be damaged.

#: Kinds of columns that can be inputs.
_INPUT_KINDS = ("yes/no", "ID", *GIVEN_KINDS)


def check_encoding(columns: Sequence[ColumnEncoding], missing: Any, task: Any, classes: Sequence[Any] | None) -> None:
    """Raise ValueError where the parts of an encoding are not what its class declares or do not match each other."""
    kinds = {"missing": choice("indicate", "mean", "drop", "error"), "task": choice(*get_args(Task))}
    encoding = {"missing": missing, "task": task, "classes": classes}
    check_entries(encoding, "the encoding", classes=optional(NAMES), **kinds)
    expect((classes is None) == (task == "regression"), "a regression has classes, or a classification has none")
    for number, column in enumerate(columns):
        _check_kind(column.kind, f"column {number}")
        _check_values(column, f"column {column.name!r}")
    expect(NAMES.allows([column.name for column in columns]), "two columns have one name")
    uses = [column.use for column in columns]
    expect(uses.count("target") == 1 and "input" in uses, "there is no column to predict, or none to predict from")


def _check_kind(kind: ColumnKind, where: str) -> None:
    check_entries(kind, where, name=STRING, note=STRING, kind=choice(*get_args(Kind)), left_out=BOOL)
    has_format = "no date format" if kind.date is None else "a date format"
    is_date = kind.kind in ("date", "month")
    expect((kind.date is not None) == is_date, f"{where} has the kind {kind.kind!r} and {has_format}")
    if kind.date is not None:
        parts, first = kind.date.parts, kind.date.first
        expect(kind.date.format in dates.FORMATS, f"{where} has the date format {kind.date.format!r}")
        known_parts = NAMES.allows(parts) and 0 < len(parts) == len(set(parts) & set(dates.PARTS))
        expect(known_parts, f"{where} has the parts of dates {parts}")
        expect(date.fromisoformat(first).isoformat() == first, f"{where} begins on the day {first!r}")
        check_entries(kind.date, where, whole_months=BOOL)
    if kind.number is not None:
        unit = kind.number.unit
        known = replace(kind.number, unit="") in numbers.FORMATS and isinstance(unit, str)
        expect(known, f"{where} has an unknown format of numbers")
        is_unit = unit in ("", *numbers.SIGNS) or split_unit(f"1 {unit}") == ("1", unit)
        expect(is_unit, f"{where} has numbers with the unit {unit!r}")
    texts = ("ordinal", "interval", "time", "duration")
    named = kind.notation is None or (kind.notation.kind == kind.kind and kind.number is None)
    expect(named and (kind.kind not in texts or kind.notation is not None), f"{where} has a notation of another kind")
    if kind.notation is not None:
        check_notation(kind.notation, where)
    expect(all(map(_is_mean, kind.codes)), f"{where} has codes that are no numbers")
    if kind.words is not None:
        expect(kind.kind == "yes/no" and NAMES.allows(kind.words), f"{where} has the words {kind.words}")


def _check_values(column: ColumnEncoding, where: str) -> None:
    kinds = {"levels": NAMES, "rare": NAMES, "common": STRING, "n_missing": COUNT}
    check_entries(column, where, use=choice("input", "target", "left out"), **kinds)
    is_input = column.use == "input"
    expect(not is_input or column.kind.kind in _INPUT_KINDS, f"{where} is an input of the kind {column.kind.kind!r}")
    is_category = is_input and column.is_category
    date_format = column.kind.date
    count = 0 if not is_input or is_category else 1 if date_format is None else len(date_format.parts)
    expect(len(column.means) == count, f"{where} has {len(column.means)} means where {count} belong")
    expect(all(map(_is_mean, column.means)), f"{where} has a mean that is not a number")
    if is_category:
        expect(list(column.levels) == sorted(column.levels), f"the values of {where} are not in order")
        expect(set(column.rare) <= set(column.levels), f"{where} has rare values that it does not have")
        common = [level for level in column.levels if level not in column.rare]
        expect(column.common in common, f"{column.common!r}, the most frequent value of {where}, is not one")
    else:
        expect(not column.levels and not column.rare, f"{where} has values of a category")


def _is_mean(value: Any) -> bool:
    return is_number(value) and bool(np.isfinite(float(value))) and abs(value) <= LARGEST


Missing = Literal["indicate", "mean", "drop", "error"]

Labels = Literal["text", "integer", "number", "boolean"]

_VERSION = 2


@dataclass(frozen=True)
class Feature:
    """A number that the network gets for each row, and where it comes from."""

    name: str  #: as in ``Problem.features``: ``age``, ``town=Ulm``, ``town=other values``, ``age is missing``
    column: str  #: the column of the table
    kind: Literal["number", "yes/no", "date", "category", "missing"]  #: "missing" is 1 where the cell is, or is a code
    level: str = ""  #: of a category: its value; "" for a missing value or the pooled rare ones; the code
    unit: str = ""  #: of numbers, if known
    part: str = ""  #: of a date: year, month, weekday, hour or days; of a time of day: hour

    @property
    def circle(self) -> tuple[float, float] | None:
        """Where a month, weekday or hour begins and ends, which is the same place; None for what is no circle."""
        return dates.CIRCLES.get(self.part)

    @property
    def is_numeric(self) -> bool:
        """Whether it takes more values than 0 and 1."""
        return self.kind in ("number", "date")

    @property
    def is_gap(self) -> bool:
        """Whether it is 1 where the column has no value: the cell is missing, or a code."""
        return self.kind == "missing"

    @property
    def is_code(self) -> bool:
        """Whether it is 1 where the cell is a code, which ``level`` is."""
        return self.is_gap and bool(self.level)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """New rows as the network takes them."""

    X: Floats  #: (n, d)
    notes: tuple[str, ...]  #: what was unusual about them: unknown categories, new missing values
    unread: tuple[str, ...] = ()  #: those of the notes on cells that could not be read

    def warn(self) -> Floats:
        """Return the rows as numbers, with a :class:`creases.errors.ColumnWarning` of cells that were not readable."""
        for note in self.unread:
            warnings.warn(note, ColumnWarning, stacklevel=3)
        return self.X


@dataclass(frozen=True, eq=False)
class TableEncoding:
    r"""How the columns of a table become numbers.

    It is what ``read_table`` fits; ``Problem.encoding`` holds it. ``transform`` encodes new rows in the same way, and
    ``to_dict`` and ``from_dict`` store and restore it, bit for bit, without pickling.

    Examples
    --------
    >>> from creases.tables import parse_table
    >>> problem = parse_table("size,town,price\n1,Ulm,5.5\n2,Bonn,6.5\n,Ulm,5.7\n", "houses.csv")
    >>> problem.encoding.kinds
    {'size': 'number', 'town': 'category', 'price': 'number'}
    >>> rows = problem.encoding.transform([{"size": "3", "town": "Rom"}])
    >>> rows.X.tolist(), problem.features
    ([[3.0, 0.0, 0.0, 0.0]], ('size', 'size is missing', 'town=Bonn', 'town=Ulm'))
    >>> rows.notes
    ("column 'town': 1 row with an unknown value ('Rom')",)
    """

    columns: tuple[ColumnEncoding, ...]  #: all columns, in the table's order
    missing: Missing
    task: Task
    classes: tuple[str, ...] | None  #: names of the classes; None for a regression
    labels: Labels = "text"  #: what the table has for classes

    @cached_property
    def label_values(self) -> NDArray[Any]:
        """The classes (n_classes,) as the table has them: strings, integers, numbers or booleans."""
        names = self.classes or ()
        if self.labels == "boolean":
            return np.array([name == "True" for name in names], bool)
        types: dict[str, type] = {"integer": np.int64, "number": np.float64, "text": np.str_}
        return np.array(names, np.str_).astype(types[self.labels])

    @property
    def inputs(self) -> tuple[ColumnEncoding, ...]:
        """The columns that are used as inputs."""
        return tuple(column for column in self.columns if column.use == "input")

    @property
    def target(self) -> str:
        """The name of the column to predict."""
        return next(column.name for column in self.columns if column.use == "target")

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of every column by its name."""
        return {column.name: column.kind.kind for column in self.columns}

    @property
    def left_out(self) -> dict[str, str]:
        """Why columns are not used, by their names."""
        return {column.name: f"{column.kind.kind}: {column.kind.note}" if column.kind.left_out else "not chosen"
                for column in self.columns if column.use == "left out"}  # fmt: skip

    @property
    def ignored(self) -> str:
        """The columns that cannot be used, each with its reason; those that the user leaves out are not among them."""
        columns = [column for column in self.columns if column.kind.left_out and column.use == "left out"]
        return list_some([f"{each.name!r} ({each.kind.kind}: {each.kind.note})" for each in columns])

    @property
    def pooled(self) -> str:
        """The categories whose rare values share an effect, each with how many and an example; "" if there are none."""
        columns = [column for column in self.inputs if column.rare]
        return list_some([f"{plural(len(each.rare), 'rare value')} of {each.name!r}" for each in columns])

    @property
    def doubtful(self) -> dict[str, str]:
        """What to know of columns that are used and look like IDs, by their names."""
        return {
            column.name: f"{column.name!r} looks like an ID ({column.kind.note}) and is used; either the target has a "
            "trend over the rows, or the order of the rows gives it away (a leak) and will not do so for new rows"
            for column in self.inputs
            if column.kind.is_counter
        }

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The numbers that the network gets, in their order."""
        return tuple(feature for column in self.inputs for feature in self._features_of(column))

    def _features_of(self, column: ColumnEncoding) -> list[Feature]:
        kind, name = column.kind, column.name
        if column.is_category:
            return [Feature(feature, name, "category", level) for feature, level in _level_names(column, self.missing)]
        if kind.date is not None:
            units = {"days": "days", "hour": "h"}
            names = zip(kind.date.names(name), kind.date.parts, strict=True)
            result = [Feature(feature, name, "date", unit=units.get(part, ""), part=part) for feature, part in names]
        elif kind.kind == "yes/no":
            result = [Feature(f"{name}={kind.words[1]}" if kind.words else name, name, "yes/no")]
        else:
            result = [Feature(name, name, "number", unit=kind.unit, part="hour" if kind.kind == "time" else "")]
        if column.n_missing and self.missing == "indicate":
            result.append(Feature(f"{name} is missing", name, "missing"))
        texts = [format_level(code) for code in kind.codes]
        return result + [Feature(f"{name} is {text}", name, "missing", text) for text in texts]

    def transform(self, rows: Any, *, header: bool | None = None) -> EncodedRows:
        """Encode rows: a file, a DataFrame, a mapping or a list of them by column names, or an array (n, columns).

        Columns that the network does not use are ignored, and need not be there. Missing values, cells that cannot be
        read and unknown categories are encoded too, and said in ``notes``.
        """
        names = [column.name for column in self.inputs]
        return self.transform_columns(row_columns(rows, names, header))

    def transform_columns(self, columns: Sequence[Column]) -> EncodedRows:
        """Encode rows that were read as columns."""
        by_name = {column.name: column for column in columns}
        absent = [column.name for column in self.inputs if column.name not in by_name]
        if absent:
            raise InputError("rows", f"have the columns {list_names(absent)}", list_names([*by_name]) or "none")
        chosen = [by_name[column.name] for column in self.inputs]
        check_finite(chosen, [column.kind for column in self.inputs])
        pairs = zip(self.inputs, chosen, strict=True)
        notes = [note for column, raw in pairs for note in find_unusual(column, raw)]
        unread = tuple(str(note) for note in notes if note.what not in ("unknown", "missing"))
        X = encode(self.inputs, chosen, self.missing)
        return EncodedRows(X, tuple(map(str, notes)), unread)

    def describe(self) -> pd.DataFrame:
        """Return a table of the columns: name, kind, use, missing values, note."""
        import pandas as pd

        return pd.DataFrame(
            [(c.name, c.kind.kind, c.use, c.n_missing, column_note(c)) for c in self.columns],
            columns=["column", "kind", "use", "missing", "note"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as plain data, ready for JSON."""
        return {
            "creases-encoding": _VERSION,
            "missing": self.missing,
            "task": self.task,
            "classes": None if self.classes is None else list(self.classes),
            "labels": self.labels,
            "columns": [column.to_dict() for column in self.columns],
            "features": [asdict(feature) for feature in self.features],
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> TableEncoding:
        """Return the encoding of plain data; one whose parts do not match each other is refused."""
        try:
            if value["creases-encoding"] != _VERSION:
                raise ValueError(f"version {value['creases-encoding']}, expected {_VERSION}")
            columns = tuple(ColumnEncoding.from_dict(column) for column in value["columns"])
            classes = None if value["classes"] is None else as_tuple(value["classes"], "classes")
            check_encoding(columns, value["missing"], value["task"], classes)
            labels = value.get("labels", "text")  # earlier versions had names only
            expect(labels in get_args(Labels), f"there are no labels {labels!r}")
            encoding = cls(columns, value["missing"], value["task"], classes, labels)
            expect(len(set(encoding.label_values.tolist())) == len(classes or ()), "two classes have one label")
            if value["features"] != [asdict(feature) for feature in encoding.features]:
                raise ValueError("its features are not those of its columns")
            return encoding
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as problem:
            why = f"there is no {problem}" if isinstance(problem, KeyError) else problem
            raise FileError(f"the encoding of the table is damaged ({why})") from None


def fit_encoding(
    columns: Sequence[Column], kinds: Sequence[ColumnKind], uses: Sequence[Any], missing: Missing, **target: Any
) -> TableEncoding:
    """Return the encoding of a table's columns; ``target`` are its task and classes."""
    chosen = [(column, kind) for column, kind, use in zip(columns, kinds, uses, strict=True) if use == "input"]
    fitted = iter(fit_columns(chosen, missing))
    encoded = []
    for column, kind, use in zip(columns, kinds, uses, strict=True):
        values = next(fitted) if use == "input" else {}
        encoded.append(ColumnEncoding(kind, use, **({"n_missing": int(column.missing.sum())} | values)))
    return TableEncoding(tuple(encoded), missing, **target)


def number_encoding(names: Sequence[str], means: Floats) -> TableEncoding:
    """Return the encoding of columns of numbers with these names; missing values become the means (d,)."""
    columns = zip(names, means.tolist(), strict=True)
    encoded = [ColumnEncoding(ColumnKind(name, "number"), "input", means=(mean,)) for name, mean in columns]
    return TableEncoding(tuple(encoded), "mean", "regression", None)


def check_finite(columns: Sequence[Column], kinds: Sequence[ColumnKind]) -> None:
    """Refuse infinite numbers, which cannot be averaged, scaled or learned; name every column that has some."""
    found = []
    for column, kind in zip(columns, kinds, strict=True):
        if kind.kind in ("number", "quantity", "share", "yes/no", "ID", "constant") and not column.is_date:
            infinite = np.isinf(kind.numbers(column))
            if infinite.any():
                first = f"(the first in row {int(infinite.argmax())}, counted from 0)"
                found.append(f"column {column.name!r} with {plural(int(infinite.sum()), 'infinite value')} {first}")
    if found:
        raise InputError(
            "data",
            "have finite numbers",
            list_some(found),
            f"correct those cells, leave them empty, or leave {'the column' if len(found) == 1 else 'the columns'} out",
        )


def column_note(column: ColumnEncoding) -> str:
    """Say what is special about a column."""
    notes = [column.kind.note] if column.kind.note else []
    if column.use == "input" and column.is_category:
        shown = [level for level in column.levels if level not in column.rare and level]
        notes.append(plural(len(shown), "value") + (f", {len(column.rare)} rare pooled" if column.rare else ""))
    return "; ".join(notes)


def _level_names(column: ColumnEncoding, missing: Missing) -> list[tuple[str, str]]:
    names = [
        (f"{column.name} is missing" if level == "" else f"{column.name}={level}", level)
        for level in column.levels
        if level not in column.rare and not (level == "" and missing == "mean")
    ]
    return names + ([(f"{column.name}=other values", "")] if column.rare else [])


@dataclass(frozen=True)
class Unusual:
    """What is unusual in a column of new rows, and in how many."""

    column: str
    what: str  #: ``unknown``, ``missing``, or why cells were read as missing: ``not numbers``, ``not times``
    count: int
    example: str = ""

    def __str__(self) -> str:
        if self.what == "unknown":
            words = "an unknown value" if self.count == 1 else "unknown values"
            text = f"{plural(self.count, 'row')} with {words} ({self.example!r})"
        elif self.what == "missing":
            text = f"{plural(self.count, 'missing value')}, where the training table had none"
        else:
            text = f"{plural(self.count, 'cell')} read as missing, {self.what} ({self.example!r})"
        return f"column {self.column!r}: {text}"


def find_unusual(column: ColumnEncoding, raw: Column, counts: Ints | None = None) -> list[Unusual]:
    """Say what is unusual in a column of new rows; ``counts`` is in how many of them each value is, by default one."""
    kind, found = column.kind, []
    counts = np.ones(len(raw.values), np.int64) if counts is None else counts
    gaps = raw.missing

    def add(what: Any, mask: NDArray[np.bool_], values: NDArray[Any]) -> None:
        if n := int(counts[mask].sum()):
            found.append(Unusual(column.name, what, n, str(values[(mask & (counts > 0)).argmax()])))

    if column.is_category:
        texts = np.array(kind.texts(raw), object)
        add("unknown", ~np.isin(texts, [*column.levels, ""]), texts)
        gaps = texts == ""
    else:
        read = np.isnat(kind.date.parse(raw)) if kind.date is not None else np.isnan(kind.numbers(raw))
        add(f"not {kind.plural}", read & ~gaps, raw.values)
    if not column.n_missing:
        add("missing", gaps, raw.values)
    return found


# The column to predict: classes by number and by name, or values.


def encode_target(
    column: Column, kind: ColumnKind, task: Task | None
) -> tuple[NDArray[np.int64] | Floats, tuple[str, ...] | None]:
    """Return class numbers and the names of the classes, or values and None."""
    levels, n = column.levels(), len(column.values)
    is_integer = not column.is_text and bool((column.values == np.round(column.values)).all())
    few = len(levels) <= MAX_LEVELS and 2 * len(levels) <= n
    if len(levels) == 1:
        raise InputError(
            "target", "have different values", f"{levels[0]!r} in all {plural(n, 'row')} of column {column.name!r}"
        )
    if task is None:
        is_count = is_integer and len(levels) > 2 and column.values.min() >= 0
        is_classes = column.is_text or kind.kind == "category" or (is_integer and few and not is_count)
        task = "classification" if is_classes else "regression"
    if task == "regression":
        if column.is_text:
            raise InputError(
                "target",
                "be numbers for regression",
                f"text in column {column.name!r} ({column.values[0]!r})",
                "use {0}",
                [("task", "classification")],
            )
        return column.values, None
    if len(levels) == n > 2 or (len(levels) > MAX_LEVELS and not column.is_text and not is_integer):
        count = f"{len(levels)} different values in {plural(n, 'row')} of column {column.name!r}"
        if column.is_text:
            raise InputError("target", "be classes", count, "predict another column")
        raise InputError("target", "be classes", count, "use {0}", [("task", "regression")])
    number = {level: k for k, level in enumerate(levels)}
    y = np.array([number[value] for value in column.values.tolist()], np.int64)
    if column.source == "b":
        return y, tuple(str(bool(level)) for level in levels)
    return y, tuple(format_level(level) if is_integer else str(level) for level in levels)


def describe_choice(column: Column, classes: tuple[str, ...] | None) -> str:
    """Say that a column of few whole numbers is read as counts, and how to change that; "" for other columns."""
    levels = column.levels()
    if classes is not None or column.is_text or len(levels) > MAX_LEVELS:
        return ""
    if not (column.values == np.round(column.values)).all():
        return ""
    return f"; the {len(levels)} whole numbers of {column.name!r} are counts, not classes (task: classification)"


def label_kind(column: Column) -> Labels:
    """Return what the values of a column of classes are, so that predictions are of the same type."""
    if column.is_text:
        is_integer = column.source == "" and all(str(level).removeprefix("-").isdecimal() for level in column.levels())
        return "integer" if is_integer else "text"
    if column.source == "b":
        return "boolean"
    is_integer = bool((column.present == np.round(column.present)).all()) and column.source != "f"
    return "integer" if is_integer else "number"
