"""The encoding of a table's columns as numbers: fitted once, stored as JSON, applied to new rows."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from creases._schema import expect
from creases._text import list_names, list_some, plural
from creases._typing import Floats, Task
from creases.errors import ColumnWarning, FileError, InputError
from creases.tables._columns.codec import Feature, format_level
from creases.tables._columns.kinds import MAX_LEVELS, ColumnKind, Gaps
from creases.tables._columns.levels import Levels
from creases.tables._columns.numbers import PLAIN
from creases.tables._encoding.columns import NAMES, ColumnEncoding, ColumnSummary, fit_inputs
from creases.tables._folder.records import read_record
from creases.tables._reading.columns import Column
from creases.tables._reading.files import row_columns
from creases.tables._reading.options import Missing

if TYPE_CHECKING:
    import pandas as pd


Labels = Literal["text", "integer", "number", "boolean"]

#: The version of what is written; that of earlier versions is fitted again.
_VERSION = 4


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """New rows as the network takes them."""

    X: Floats  #: (n, d)
    unusual: tuple[Unusual, ...]  #: unknown categories, new missing values, cells that could not be read

    @property
    def notes(self) -> tuple[str, ...]:
        """What was unusual about them, in words."""
        return tuple(map(str, self.unusual))

    @property
    def unread(self) -> tuple[str, ...]:
        """Those of the notes on cells that could not be read, or are likely misspelled."""
        return tuple(str(each) for each in self.unusual if each.like or each.what not in ("unknown", "missing"))

    def warn(self) -> Floats:
        """Return the rows as numbers, with a :class:`creases.errors.ColumnWarning` of cells that are likely wrong."""
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
    def kinds(self) -> dict[str, str]:
        """The kind of every column by its name."""
        return {column.name: column.kind.kind for column in self.columns}

    @property
    def left_out(self) -> dict[str, str]:
        """Why columns are not used, by their names."""
        return {column.name: f"{column.kind.kind}: {column.kind.note}" if column.kind.left_out else "not chosen"
                for column in self.columns if column.use == "left out" and not column.kind.is_split}  # fmt: skip

    @property
    def ignored(self) -> str:
        """The columns that cannot be used, each with its reason; those that the user leaves out are not among them."""
        out = [column for column in self.columns if column.use == "left out" and not column.kind.is_split]
        columns = [column for column in out if column.kind.left_out]
        return list_some([f"{each.name!r} ({each.kind.kind}: {each.kind.note})" for each in columns])

    @property
    def pooled(self) -> str:
        """The categories whose rare values share an effect, each with how many and an example; "" if there are none."""
        columns = [column for column in self.inputs if column.rare]
        return list_some([f"{plural(len(each.rare), 'rare value')} of {each.name!r}" for each in columns])

    @property
    def read_as_missing(self) -> str:
        """What is missing in the columns that are used, each with its cells and their texts; "" if nothing is.

        Classes that are called like what stands for a missing value elsewhere are named, too.
        """
        texts = [column.read_as_missing for column in self.columns if column.n_missing and column.use != "left out"]
        named = Column("", np.array(self.classes or (), object))
        if kept := named.values[named.is_marked(None)].tolist():
            texts.append(f"not {list_names(kept)} of {self.target!r}, a class unless missing_marks says so")
        return list_some(texts)

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
        """The numbers that the network gets, in their order; none has the name of another one or of another column."""
        columns = {column.name for column in self.inputs}
        used: set[str] = set()
        result = []
        encoded = [column.kind.codec.encoded_features(column, self.missing) for column in self.inputs]
        for feature in chain.from_iterable(encoded):
            name = feature.name
            while name in used or (name in columns and name != feature.column):
                name += "'"
            used.add(name)
            result.append(replace(feature, name=name))
        return tuple(result)

    @cached_property
    def input_names(self) -> tuple[str | tuple[str, str], ...]:
        """What each feature is called: one of a category by its column and its value, as in no other of the column."""
        levels = {(feature.column, feature.level) for feature in self.features}
        names: list[str | tuple[str, str]] = []
        for feature in self.features:
            level = feature.level or ("other values" if feature.is_pooled else "missing")
            while not feature.level and (feature.column, level) in levels:
                level += "'"
            plain = feature.name if feature.is_numeric or feature.is_gap else feature.column
            names.append((feature.column, level) if feature.is_level else plain)
        return tuple(names)

    def transform(self, rows: Any, *, header: bool | None = None) -> EncodedRows:
        """Encode rows: a file, a DataFrame, a mapping or a list of them by column names, or an array (n, columns).

        Columns that the network does not use are ignored, and need not be there. Missing values, cells that cannot be
        read and unknown categories are encoded too, and said in ``notes``.
        """
        names = [*dict.fromkeys(column.kind.source for column in self.inputs)]
        return self.transform_columns(row_columns(rows, names, header))

    def find_columns(self, names: Collection[str]) -> list[str]:
        """Return the column that each input is read from, of those that rows have; refuse rows that lack some."""
        found = [each.name if each.name in names else each.kind.source for each in self.inputs]
        if absent := list(dict.fromkeys(name for name in found if name not in names)):
            raise InputError("rows", f"have the columns {list_names(absent)}", list_names([*names]) or "none")
        return found

    def transform_columns(self, columns: Sequence[Column], *, is_all: bool = True) -> EncodedRows:
        """Encode rows that came as columns, which may be those of a block."""
        by_name = {column.name: column for column in columns}
        self.find_columns(by_name)
        chosen = [column.kind.cells(by_name) for column in self.inputs]
        read = [column.kind.read(raw) for column, raw in zip(self.inputs, chosen, strict=True)]
        check_finite(read, [column.kind for column in self.inputs], is_all=is_all)
        triples = zip(self.inputs, chosen, read, strict=True)
        return EncodedRows(self.encode(read), tuple(note for each in triples for note in find_unusual(*each)))

    def encode(self, read: Sequence[Column]) -> Floats:
        """Return the inputs (n, d) of rows by their columns, which have been read."""
        pairs = zip(self.inputs, read, strict=True)
        encoded = [cells.take(each.kind.codec.encode(each, cells, self.missing)) for each, cells in pairs]
        return np.concatenate(encoded, axis=1)

    def check(self) -> None:
        """Raise ValueError where its parts do not match each other: they may be of a damaged file."""
        uses, classes = [column.use for column in self.columns], self.classes or ()
        is_regression = self.task == "regression"
        expect((self.classes is None) == is_regression, "a regression has classes, or a classification has none")
        expect(NAMES.allows(classes) and len(set(self.label_values.tolist())) == len(classes), "two classes are one")
        expect(NAMES.allows([column.name for column in self.columns]), "two columns have one name")
        expect(uses.count("target") == 1 and "input" in uses, "there is no column to predict, or none to predict from")

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
            entries = {**value, "columns": [ColumnEncoding.from_dict(column) for column in value["columns"]]}
            encoding = read_record(cls, entries, "the encoding")
            if value["features"] != [asdict(feature) for feature in encoding.features]:
                raise ValueError("its features are not those of its columns")
            return encoding
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as problem:
            why = f"there is no {problem}" if isinstance(problem, KeyError) else problem
            raise FileError(f"the encoding of the table is damaged ({why})") from None


def fit_encoding(
    summaries: Sequence[ColumnSummary],
    kinds: Sequence[ColumnKind],
    uses: Sequence[Any],
    missing: Missing,
    gaps: Sequence[tuple[int, Gaps]],
    **target: Any,
) -> TableEncoding:
    """Return the encoding of a table's columns by what is known of its inputs; ``target`` are its task and classes.

    ``gaps`` are how many cells of each column are missing, and which texts, also in rows that were left out.
    """
    fitted = iter(
        fit_inputs([kind for kind, use in zip(kinds, uses, strict=True) if use == "input"], summaries, missing)
    )
    encoded = [
        replace(next(fitted), gaps=texts) if use == "input" else ColumnEncoding(kind, use, n_missing, gaps=texts)
        for kind, use, (n_missing, texts) in zip(kinds, uses, gaps, strict=True)
    ]
    return TableEncoding(tuple(encoded), missing, **target)


def number_encoding(names: Sequence[str], means: Floats) -> TableEncoding:
    """Return the encoding of columns of numbers with these names; missing values become the means (d,)."""
    columns = zip(names, means.tolist(), strict=True)
    encoded = [ColumnEncoding(ColumnKind(name, "number", PLAIN), "input", means=(mean,)) for name, mean in columns]
    return TableEncoding(tuple(encoded), "mean", "regression", None)


def check_finite(columns: Sequence[Column], kinds: Sequence[ColumnKind], *, is_all: bool = True) -> None:
    """Refuse infinite numbers, which cannot be averaged, scaled or learned; name every column that has some.

    Only of all rows it is known how many, and where the first is.
    """
    found = []
    for column, kind in zip(columns, kinds, strict=True):
        if not kind.codec.has_levels and column.values.dtype.kind == "f":
            infinite = np.isinf(column.take(column.values))
            if infinite.any():
                first = f"(the first in row {int(infinite.argmax())}, counted from 0)"
                some = f"{plural(int(infinite.sum()), 'infinite value')} {first}" if is_all else "infinite values"
                found.append(f"column {column.name!r} with {some}")
    if found:
        raise InputError(
            "data",
            "have finite numbers",
            list_some(found),
            f"correct those cells, leave them empty, or leave {'the column' if len(found) == 1 else 'the columns'} out",
        )


def column_note(column: ColumnEncoding) -> str:
    """Say what is special about a column."""
    notes = [note for note in (column.kind.note, column.gaps.unread_text) if note]
    if column.use == "input" and isinstance(column.kind.codec, Levels):
        shown = [level for level in column.levels if level not in column.rare and level]
        notes.append(plural(len(shown), "value") + (f", {len(column.rare)} rare pooled" if column.rare else ""))
    return "; ".join(notes)


@dataclass(frozen=True)
class Unusual:
    """What is unusual in a column of new rows, and in how many."""

    column: str
    what: str  #: ``unknown``, ``missing``, or why cells were read as missing: ``not numbers``, ``not times``
    count: int
    example: str = ""
    like: str = ""  #: the value that an unknown one is likely to be, misspelled

    def __str__(self) -> str:
        if self.what == "unknown":
            words = "an unknown value" if self.count == 1 else "unknown values"
            hint = f"; it may be {self.like!r}, written otherwise" if self.like else ""
            text = f"{plural(self.count, 'row')} with {words} ({self.example!r}){hint}"
        elif self.what == "missing":
            text = f"{plural(self.count, 'missing value')}, where the training table had none"
        else:
            text = f"{plural(self.count, 'cell')} read as missing, {self.what} ({self.example!r})"
        return f"column {self.column!r}: {text}"


#: Unknown values of a column that are compared with those of the table, and how alike two are that may be the same.
MAX_SPELLED, ALIKE = 100, 0.85

_TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "æ": "ae", "å": "aa"})


def likely_spelling(text: str, levels: Sequence[str]) -> str:
    """Return the value of which a text is likely a misspelling, "" for none: with the same digits."""

    def plain(text: str) -> str:
        letters = normalize("NFKD", text.casefold().translate(_TWO_LETTERS))
        return "".join(letter for letter in letters if letter.isalnum())

    by_plain = {plain(level): level for level in reversed(levels) if level}
    digits = [letter for letter in text if letter.isdigit()]
    same = [each for each in by_plain if [letter for letter in each if letter.isdigit()] == digits]
    near = get_close_matches(plain(text), same, n=1, cutoff=ALIKE)
    return by_plain[near[0]] if near else ""


def find_unusual(column: ColumnEncoding, raw: Column, read: Column) -> list[Unusual]:
    """Say what is unusual in a column of new rows."""
    kind, found, counts = column.kind, [], raw.counts
    gaps = kind.gaps(raw, read)
    if isinstance(kind.codec, Levels):
        texts, known = kind.codec.texts(read), {*column.levels, ""}
        unknown = np.array([text not in known for text in texts], bool) & (counts > 0)
        if unknown.any():
            new = [*dict.fromkeys(texts[k] for k in np.flatnonzero(unknown).tolist())][:MAX_SPELLED]
            spelled = {text: like for text in new if (like := likely_spelling(text, column.levels))}
            example = next(iter(spelled), new[0])
            n_rows = int(counts[unknown].sum())
            found.append(Unusual(column.name, "unknown", n_rows, example, spelled.get(example, "")))
    if gaps.unread:
        found.append(Unusual(column.name, f"not {kind.codec.plural}", gaps.unread, gaps.example))
    n_missing = int(counts[read.missing].sum()) - gaps.unread
    if n_missing and not column.n_missing:
        found.append(Unusual(column.name, "missing", n_missing))
    return found


# The column to predict: classes by number and by name, or values.


def encode_target(
    column: Column, kind: ColumnKind, task: Task | None
) -> tuple[NDArray[np.int64] | Floats, tuple[str, ...] | None]:
    """Return class numbers and the names of the classes, or values and None, of a column that has been read."""
    levels, n = column.levels(), len(column.values)
    is_integer = not column.is_text and bool((column.values == np.round(column.values)).all())
    few = len(levels) <= MAX_LEVELS and 2 * len(levels) <= n
    if len(levels) == 1:
        raise InputError(
            "target", "have different values", f"{levels[0]!r} in all {plural(n, 'row')} of column {column.name!r}"
        )
    if task is None:
        is_count = is_integer and len(levels) > 2 and column.values.min() >= 0
        is_classes = column.is_text or kind.codec.has_levels or (is_integer and few and not is_count)
        task = "classification" if is_classes else "regression"
    if task == "regression":
        if column.is_text and not kind.codec.has_levels:
            return kind.numbers(column)[:, 0], None
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
        levels = [str(level) for level in column.levels()]
        is_typed = column.source != "O"  # as text of a file may be
        if is_typed and set(levels) == {"False", "True"}:
            return "boolean"
        return "integer" if is_typed and all(level.removeprefix("-").isdecimal() for level in levels) else "text"
    is_integer = bool((column.present == np.round(column.present)).all()) and column.source != "f"
    return "integer" if is_integer else "number"
