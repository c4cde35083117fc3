"""Kinds of columns: number, yes/no, category, date, time, ID, text and others; and columns whose cells have parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from creases._text import list_some, plural
from creases._typing import Floats
from creases.errors import InputError
from creases.tables._columns.clocks import DurationFormat, TimeFormat
from creases.tables._columns.codec import Codec, TextCodec, format_level, unused_name
from creases.tables._columns.dates import DateFormat, StampFormat, find_dates, find_stamps, is_day_first_unclear
from creases.tables._columns.levels import Levels, Lookup, YesNo
from creases.tables._columns.numbers import (
    MIN_CELLS,
    MOSTLY,
    PLAIN,
    SIGNS,
    WELL,
    NumberFormat,
    find_format,
    find_quantity,
    has_decimal_commas,
)
from creases.tables._columns.scales import CoordinateFormat, IntervalFormat, ScaleFormat
from creases.tables._reading.columns import Column, Marks

#: What separates the numbers of a list, and tags, in the order in which they are tried.
_LISTS = {"x": r"\s*[x×*]\s*(?=[\d+.-])", "/": r"\s*/\s*", ";": r"\s*;\s*", "|": r"\s*\|\s*", ",": r"\s*,\s*"}
_TAGS = (";", "|", ",")

#: Different values of a column of lists or codes at least; numbers of a list, and tags of a column, at most.
LEAST_LEVELS, MOST_NUMBERS, MOST_TAGS = 21, 8, 100

#: Rows that a tag is in at least, and a word of a text, and the beginning of a code on average.
TAG_ROWS, WORD_ROWS, CODE_ROWS = 3, 10, 5

_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-zµ°\"'%]{0,4})", re.IGNORECASE)
_CODE = re.compile(r"[+(]?(?=.*\d)[A-Z0-9][A-Z0-9()./:_ -]{1,40}", re.ASCII)
_SHORT = re.compile(r"(?i)(?:^|[^a-z])(?:zip|plz|postcode|postal|phone|telephone|tel|mobile|fax)(?:$|[^a-z]|code)")


@dataclass(frozen=True)
class Part:
    """A part of the cells of a column."""

    source: str  #: the column of the table
    kind: Literal["list", "tags", "code"]
    by: str = ""  #: what separates numbers or tags
    place: int = 0  #: of a list: which number; of a code: how many words of its beginning, 0 for letters
    size: int = 0  #: of a list: how many numbers; of a code of digits: how many, ``place`` of which are taken
    tag: str = ""

    def describe(self) -> str:
        """Say what it is."""
        words = {"list": f"number {self.place + 1}", "tags": f"1 where {self.tag!r} is a tag", "code": "the beginning"}
        return f"{words[self.kind]} of {self.source!r}"

    def cells(self, column: Column, marks: Marks = None) -> Column:
        """Return the part of every cell (n,); one that has no such part is as it was, and an empty one has no tags."""
        texts = column.without(marks).values.tolist() if self.kind == "tags" else column.values.tolist()
        texts = texts if column.is_text else [format_level(x) or None for x in texts]
        parts = {text: self._read(text) for text in {*texts} - {None}} | {None: 0.0 if self.kind == "tags" else None}
        return replace(
            column, values=np.array([parts[text] for text in texts], float if self.kind == "tags" else object)
        )

    def _read(self, text: str) -> str | float:
        if self.kind == "tags":
            return float(self.tag in split_tags(text, self.by))
        if self.kind == "list":
            numbers = split_numbers(text, self.by)
            return numbers[self.place] if len(numbers) == self.size else text
        if self.size:
            return text.zfill(self.size)[: self.place]
        letters, words = re.match(r"\+?[A-Z]*", text), re.findall(r"[+A-Z0-9]+", text)
        return " ".join(words[: self.place]) if self.place else letters[0] if letters else ""


def split_numbers(text: str, by: str) -> list[str]:
    """Return the numbers of a list, with their unit, which may be behind the last one only; [] if it is none."""
    pieces = re.split(_LISTS[by], text.strip("()[]{} "), flags=re.IGNORECASE)
    pieces = pieces if by == "," else [piece.replace(",", ".") for piece in pieces]
    found = [match for piece in pieces if (match := _NUMBER.fullmatch(piece))]
    unit = found[-1][2] if found and not any(match[2] for match in found[:-1]) else ""
    is_list = 1 < len(pieces) == len(found) <= MOST_NUMBERS
    return [f"{match[1]} {match[2] or unit}".strip() for match in found] if is_list else []


def split_tags(text: str, by: str) -> set[str]:
    """Return the tags of a cell, or with a space its words in small letters."""
    if by == " ":
        return {*re.findall(r"\w(?:[\w'-]*\w)?", text.lower())}
    return {tag for piece in text.split(by) if (tag := piece.strip())}


def find_parts(
    columns: Sequence[Column],
    aside: Collection[str],
    given: Mapping[str, str],
    marks: Marks,
    are_names: Callable[[Column], bool],
) -> list[Column]:
    """Return a column for each part of those that have parts; none of the columns ``aside`` has.

    ``given`` are kinds that a user gives columns. Others have parts where texts are read as nothing but names.
    """
    used, found = [column.name for column in columns], []
    for column in columns:
        kind = given.get(column.name)
        if column.name in aside or kind not in (None, *_FINDERS):
            continue
        is_short = kind == "code" or _SHORT.search(column.name) is not None
        if not column.is_text and (column.is_date or not is_short):
            continue
        known = column.without(marks)
        if len(known.present) < MIN_CELLS:
            continue
        texts = known.present.tolist() if column.is_text else [format_level(x) for x in known.present]
        finders = [find for name, find in _FINDERS.items() if kind in (None, name)]
        parts = next((parts for find in finders if (parts := find(known.name, texts, is_short))), {})
        parts = parts or (_find_words(known.name, texts) if kind == "tags" else {})
        if parts and (kind is not None or not column.is_text or are_names(known)):
            for name, part in parts.items():
                found.append(replace(part.cells(column, marks), name=unused_name(name, used), part=part))
                used.append(found[-1].name)
    return found


def _find_list(name: str, texts: Sequence[str], is_short: bool) -> dict[str, Part]:
    """Return the numbers of lists, of which nearly all have equally many."""
    for by in _LISTS if len({*texts}) >= LEAST_LEVELS and not is_short else ():
        if split_numbers(texts[0], by) or split_numbers(texts[-1], by):
            size, count = Counter(len(split_numbers(text, by)) for text in texts).most_common(1)[0]
            if size > 1 and count >= WELL * len(texts):
                return {f"{name} {k + 1}": Part(name, "list", by, k, size) for k in range(size)}
    return {}


def _find_tags(name: str, texts: Sequence[str], is_short: bool) -> dict[str, Part]:
    """Return the tags of cells: nearly all are in several cells, and in more combinations than there are tags."""
    letters = "\n".join(texts)
    for by in [by for by in _TAGS if by in letters]:
        cells = Counter(frozenset(split_tags(text, by)) for text in texts)
        counts = Counter(tag for tags, count in cells.items() for tag in tags for _ in range(count))
        least = max(TAG_ROWS, len(texts) // 2000)
        common = {tag for tag, count in counts.most_common(MOST_TAGS) if count >= least and len(tag) <= 30}
        fits = sum(count for tags, count in cells.items() if tags <= common)
        if 1 < len(common) < len(cells) and fits >= WELL * len(texts) and max(map(len, cells)) > 1:
            return {f"{name}: {tag}": Part(name, "tags", by, tag=tag) for tag in sorted(common)}
    return {}


def _find_words(name: str, texts: Sequence[str]) -> dict[str, Part]:
    """Return the most frequent words of texts, as tags."""
    counts = Counter(word for text in texts for word in split_tags(text, " "))
    least = max(WORD_ROWS, len(texts) // 200)
    words = sorted(word for word, count in counts.most_common(MOST_TAGS) if count >= least)
    return {f"{name}: {word}": Part(name, "tags", " ", tag=word) for word in words}


def _find_code(name: str, texts: Sequence[str], is_short: bool) -> dict[str, Part]:
    """Return the shortest and longest beginnings of codes that many rows share: of postcodes, telephones, versions."""
    n_levels = len({*texts})
    misfits = (text for text in texts if not _CODE.fullmatch(text))
    if n_levels < LEAST_LEVELS or any(len(texts) - k < WELL * len(texts) for k, _ in enumerate(misfits, 1)):
        return {}
    size = max(map(len, texts)) if is_short and all(map(str.isdecimal, texts)) else 0
    chosen: list[Part] = []
    n_before = 1
    for place in range(1, size) if size else range(4):
        part = Part(name, "code", place=place, size=size)
        count = len({part._read(text) for text in texts})
        if n_before < count <= len(texts) / CODE_ROWS and count < n_levels:
            chosen, n_before = [*chosen[:1], part], count
    return {f"{name} beginning{f' {k + 1}' if len(chosen) > 1 else ''}": part for k, part in enumerate(chosen)}


_FINDERS = {"list": _find_list, "tags": _find_tags, "code": _find_code}
PART_KINDS = tuple(_FINDERS)


# The kind of a column.


#: All codecs, by the first of their kinds as they are called in files.
_CODECS = (
    NumberFormat, Levels, Lookup, ScaleFormat, IntervalFormat, DateFormat, StampFormat, TimeFormat, DurationFormat,
    CoordinateFormat, YesNo,
)  # fmt: skip
CODECS: dict[str, type[Codec]] = {each.kinds[0]: each for each in _CODECS}

#: Those of texts, in the order in which they are tried.
TEXT_CODECS: tuple[type[TextCodec], ...] = (
    TimeFormat, DurationFormat, CoordinateFormat, IntervalFormat, ScaleFormat,
)  # fmt: skip

#: Kinds that a user can give a column; a scale such as ``low<high`` is one too.
GIVEN_KINDS = (*dict.fromkeys(kind for codec in CODECS.values() for kind in codec.given), *PART_KINDS)

#: Cells from which it is seen how a column of text is to be read.
PROBE = 200

#: A column of text with more different values than this has rare values, which are pooled, or is no category.
MAX_LEVELS = 20

#: Rows from which a column of different values may be an ID.
MIN_ROWS = 10

#: Share of the steps of a row number that are 1; in a sample, or where rows were deleted, others are larger.
COUNTING = 0.9

#: Words for no and yes.
YES_NO = (
    ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on"), ("nein", "ja"), ("non", "oui"),
)  # fmt: skip

_ID_NAME = re.compile(
    r"(?i)(?:^|[^a-z])(?:ids?|uuid|guid|key|index|idx|nr|no|row ?names?|row)$|^unnamed: \d+$|^column 0$"
)
_CODE_NAME = re.compile(r"(?i)(?:^|[^a-z])(?:ids?|uuid|guid|zip|plz|(?:\w*[ _-])?code)$|(?:zip|post|postal)code$")
_ID_ENDING = re.compile(r"[a-z](?:Id|ID)$")


_PERSON = re.compile(r"(?i)(?:^|[^a-z])(?:customer|client|patient|user|person|subject|account|household|member)s?$")


def looks_like_id(name: str) -> bool:
    """Return whether a column is called like what several rows may belong to: ``customer``, ``patient_id``."""
    return any(pattern.search(name) for pattern in (_ID_NAME, _ID_ENDING, _PERSON))


@dataclass(frozen=True, eq=False)
class ColumnKind:
    """What a column holds, and by which codec its cells are read."""

    name: str
    kind: str  #: what it is called: number, quantity, share, date, ID, text and so on
    codec: Codec
    note: str = ""  #: why it is left out, or what is special about it
    left_out: bool = False
    codes: tuple[float, ...] = ()  #: of numbers: those that are none but levels of their own, such as -999
    marks: Marks = None  #: texts that stand for a missing value; None for the usual ones
    part: Part | None = None  #: of another column's cells, which it reads; None for all of its own
    differs: bool = False  #: whether no two rows have the same text

    def cells(self, columns: Mapping[str, Column]) -> Column:
        """Return its cells, of a column of its name or as parts of those of another one."""
        if self.part is None or self.name in columns:
            return columns[self.name]
        return replace(self.part.cells(columns[self.part.source], self.marks), name=self.name)

    @property
    def source(self) -> str:
        """The column of the table whose cells it reads."""
        return self.name if self.part is None else self.part.source

    @property
    def is_split(self) -> bool:
        """Whether its cells are read in parts, each a column of its own."""
        return self.kind in ("list", "tags")

    @property
    def is_counter(self) -> bool:
        """Whether it is an ID of whole numbers."""
        return self.kind == "ID" and not self.codec.has_levels

    @property
    def unit(self) -> str:
        """The unit of its numbers; "" if there is none."""
        return self.codec.unit_of(self.name)

    def read(self, column: Column) -> Column:
        """Return a column as its codec has it, whatever it came from; what cannot be read is missing.

        Numbers are float64 and dates datetime64; the values of others, as those of a category, are texts.
        """
        return self.codec.read(column.without(self.marks))

    def numbers(self, read: Column) -> Floats:
        """Return the numbers (n, k) of a column that has been read, NaN where they are missing or codes."""
        numbers = self.codec.numbers(read)
        return np.where(np.isin(numbers, self.codes), np.nan, numbers) if self.codes else numbers

    def gaps(self, raw: Column, read: Column) -> Gaps:
        """Return what cells with text were read as missing."""
        counts, marked = raw.counts, raw.is_marked(self.marks)
        unread = read.missing & ~raw.missing & ~marked & (counts > 0)
        marks: Counter[str] = Counter()
        for k in np.flatnonzero(marked).tolist():
            marks[raw.values[k]] += int(counts[k])
        example = str(raw.values[unread.argmax()]) if unread.any() else ""
        return Gaps(marks, int(counts[unread].sum()), example)


@dataclass(frozen=True, eq=False)
class Gaps:
    """Cells with text that were read as missing."""

    marks: Counter[str] = field(default_factory=Counter)  #: texts that stand for a missing value, with their cells
    unread: int = 0  #: cells that are something else than the column has
    example: str = ""  #: one of these

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(self.marks + other.marks, self.unread + other.unread, self.example or other.example)

    @property
    def unread_text(self) -> str:
        """What could not be read, in words: ``2 cells read as missing, such as '12abc'``; "" for nothing."""
        return f"{plural(self.unread, 'cell')} read as missing, such as {self.example!r}" if self.unread else ""


def set_codes(kind: ColumnKind, codes: Any) -> ColumnKind:
    """Return the kind of a column with numbers that are levels of their own."""
    if not kind.codec.has_codes or (kind.left_out and not kind.is_counter):
        hint = "each value of a category is a level already"
        raise InputError("codes", f"be of columns of numbers; {kind.name!r} is of the kind {kind.kind}", hint=hint)
    values = [codes] if isinstance(codes, int | float | str) else list(codes)
    try:
        numbers = tuple(sorted({float(value) for value in values}))
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or not np.isfinite(numbers).all():
        raise InputError("codes", f"have numbers for column {kind.name!r}", repr(codes), 'such as {"age": [-999]}')
    return replace(kind, codes=numbers)


def detect_kinds(
    columns: Sequence[Column],
    *,
    given: Mapping[str, str] | None = None,
    wanted: Collection[str] = (),
    target: str = "",
    marks: Marks = None,
) -> list[ColumnKind]:
    """Return the kind of every column.

    ``given`` are kinds by the names of columns, instead of what these look like; those ``wanted`` are used also where
    they look like an ID or text. The usual marks of missing values are classes of the target, unless it has
    numbers.
    """
    commas, given = has_decimal_commas([column.without(marks) for column in columns]), given or {}

    parts = [column for column in columns if column.part is not None]
    split = {column.part.source: column.part.kind for column in parts if column.part.kind != "code"}
    codes = {column.part.source for column in parts}

    def find(column: Column, marks: Marks) -> ColumnKind:
        known, kind_given = column.without(marks), given.get(column.name)
        if column.name in split:
            names = list_some([repr(part.name) for part in parts if part.part.source == column.name])
            return ColumnKind(column.name, split[column.name], Levels(), f"read as {names}", True, marks=marks)
        if column.part is not None and column.part.kind == "code" and kind_given is None:
            return ColumnKind(column.name, "category", Levels(), column.part.describe(), marks=marks, part=column.part)
        is_code = kind_given == "code" and column.name in codes
        if is_code and not column.is_text:
            return ColumnKind(column.name, "ID", PLAIN, "a code, read by its beginning", True, marks=marks)
        if kind_given is not None and not is_code:
            return replace(impose_kind(known, kind_given, commas=commas), marks=marks, part=column.part)
        is_target = column.name == target
        kind = detect_kind(known, wanted=column.name in wanted, is_target=is_target, commas=commas)
        has_numbers = is_target and not kind.read(known).is_text
        if is_target and marks is None and not (has_numbers and len(known.levels()) > 1):
            return find(column, ())
        return replace(kind, marks=marks, part=column.part)

    return [find(column, marks) for column in columns]


def detect_kind(column: Column, *, wanted: bool = False, is_target: bool = False, commas: bool = False) -> ColumnKind:
    """Return the kind of one column; the options are those of :func:`detect_kinds`, for this column."""
    name = column.name
    if column.unreadable:
        return ColumnKind(name, "other", Levels(), f"values of type {column.unreadable}", left_out=True)
    if not len(column.present):
        return ColumnKind(name, "empty", Levels(), "no values", left_out=True)
    if column.is_date and (dates := find_dates(column)) is not None:
        return _date_kind(column, dates)
    numbers = find_format(column, commas=commas) if column.is_text else (PLAIN, column.values)
    if numbers is not None and not is_target:
        is_plain = numbers[0] == PLAIN and not looks_like_id(name)
        if is_plain and (stamps := find_stamps(replace(column, values=numbers[1]))) is not None:
            return _date_kind(column, stamps)
        if (names := _name_kind(column, *numbers)) is not None:
            return names
    if numbers is not None and not _has_flaws(column, numbers[1]):
        return _number_kind(column, *numbers, wanted=wanted)
    if (words := _yes_no_words(column)) is not None:
        return ColumnKind(name, "yes/no", YesNo(words))
    if (dates := find_dates(column)) is not None:
        return _date_kind(column, dates)
    if (kind := _text_codec_kind(column, is_target=is_target, commas=commas)) is not None:
        return kind
    if numbers is not None and len(column.levels()) > MAX_LEVELS:
        return _number_kind(column, *numbers, wanted=wanted)
    return _text_kind(column, wanted=wanted)


def impose_kind(column: Column, kind: str, *, commas: bool = False) -> ColumnKind:
    """Return the kind that a user gives a column; values that cannot be so are refused."""
    name, n = column.name, len(column.present)
    if not isinstance(kind, str) or (kind not in GIVEN_KINDS and "<" not in kind):
        kinds = f"{', '.join(GIVEN_KINDS)}, or its values in order such as low<high"
        raise InputError("kinds", f"have for column {name!r} one of {kinds}", repr(kind))
    if column.unreadable or not n:
        return detect_kind(column)
    result, numbers = _read_as(column, kind, commas)
    flaws = np.isnan(numbers) & ~column.missing
    if result is None or 2 * int(flaws.sum()) > n:
        example = column.values[flaws.argmax()] if flaws.any() else column.present[0]
        example = str(example) if column.is_text or column.is_date else format_level(float(example))
        got = f"{kind!r}, which values such as {example!r} are not"
        other = f"; write values in order, such as {name!r}: 'low<high'" if kind == "ordinal" else ""
        hint = f"kinds are {', '.join(GIVEN_KINDS)}{other}"
        raise InputError("kinds", f"be what column {name!r} can be read as", got, hint)
    return result


def _read_as(column: Column, kind: str, commas: bool) -> tuple[ColumnKind | None, Floats]:
    """Return a column's kind as it is given, None if it cannot be so, and its numbers (n,): NaN for what is not."""
    name, n = column.name, len(column.values)
    unread, is_number = np.full(n, np.nan), not column.is_text and not column.is_date
    codec: Codec | None
    if kind in Levels.given:
        form = find_format(column, commas=commas) if column.is_text else None
        form = None if form is None or form[0].is_marked else form
        return ColumnKind(name, kind, Levels(PLAIN if is_number else form[0] if form else None)), np.zeros(n)
    if kind in PART_KINDS:
        return None, unread
    if kind in (*DateFormat.given, *StampFormat.given):
        stamps = find_stamps(column, is_given=True) if kind in StampFormat.given else None
        dates = stamps if is_number or stamps is not None else find_dates(column)
        is_so = dates is not None and kind in dates.kinds[: 1 + dates.is_months]
        return (_date_kind(column, dates), np.zeros(n)) if dates is not None and is_so else (None, unread)
    if not column.is_text:
        return (ColumnKind(name, kind, PLAIN) if is_number and kind == "number" else None), np.zeros(n)
    if kind in NumberFormat.given and not (kind == "share" and not any("%" in text for text in column.present[:100])):
        read = find_quantity(column, commas=commas) if kind == "quantity" else find_format(column, commas=commas)
        if read is None and kind == "number":
            read = PLAIN, PLAIN.parse(column.values.tolist())
        return (None, unread) if read is None else (_number_kind(column, *read, wanted=True), read[1])
    if "<" in kind:
        codec = ScaleFormat(tuple((word.strip(),) for word in kind.split("<")))
    else:
        codec = next(each for each in TEXT_CODECS if kind in each.kinds).impose(Counter(column.present.tolist()))
    if codec is None:
        return None, unread
    return _codec_kind(column, codec), codec.parse(column.values.tolist())


def _has_flaws(column: Column, numbers: Floats) -> bool:
    """Return whether some cells that are not missing are no numbers."""
    return bool((np.isnan(numbers) & ~column.missing).any())


def _text_codec_kind(column: Column, *, is_target: bool, commas: bool) -> ColumnKind | None:
    """Return the kind of a column of text that is read as numbers: with a unit, as times, intervals and so on.

    A column of one value is none of these. Nor is one of few different values of which some are not readable, and a
    column to predict that has few values has classes.
    """
    levels = column.levels()
    few = len(levels) <= MAX_LEVELS
    if len(levels) == 1 or (is_target and few and 2 * len(levels) <= len(column.present)):
        return None
    read = _find_codec(column, [each for each in TEXT_CODECS if each.is_before_units])
    if read is None and (found := find_quantity(column, commas=commas)) is not None:
        return None if few and _has_flaws(column, found[1]) else _number_kind(column, *found, wanted=True)
    read = read or _find_codec(column, [each for each in TEXT_CODECS if each.may_be_target or not is_target])
    return None if read is None or (few and _has_flaws(column, read[1])) else _codec_kind(column, read[0])


def _find_codec(column: Column, codecs: Sequence[type[TextCodec]]) -> tuple[TextCodec, Floats] | None:
    """Return what reads a column of text, and its numbers (n,); None if none of some codecs does.

    As of numbers, nearly all cells must be readable, and of a few all of them.
    """
    texts = column.present.tolist()
    probe = Counter(texts[:: max(1, len(texts) // PROBE)])
    counts: Counter[str] | None = None
    for need in (1.0, MOSTLY) if len(texts) >= MIN_CELLS else (1.0,):
        for each in codecs:
            if _share(each.find(probe, column.name), probe) < 2 * need - 1:
                continue
            counts = Counter(texts) if counts is None else counts
            codec = each.find(counts, column.name)
            if codec is not None and _share(codec, counts) >= need:
                return codec, codec.parse(column.values.tolist())
    return None


def _share(codec: TextCodec | None, counts: Mapping[str, int]) -> float:
    """Return the share of cells that a codec reads."""
    if codec is None:
        return 0.0
    read = ~np.isnan(codec.parse([*counts]))
    sizes = np.array([*counts.values()])
    return float(sizes[read].sum() / sizes.sum())


def _codec_kind(column: Column, codec: TextCodec) -> ColumnKind:
    return ColumnKind(column.name, codec.kinds[-1], codec, codec.describe())


def _number_kind(column: Column, form: NumberFormat, numbers: Floats, *, wanted: bool) -> ColumnKind:
    name, levels = column.name, np.unique(numbers[~np.isnan(numbers)])
    if not wanted and len(levels) == 1 and not np.isnan(numbers).any():
        return ColumnKind(name, "constant", form, f"{format_level(levels[0])} in every row", left_out=True)
    if not wanted and (why := _id_reason(column, numbers)):
        return ColumnKind(name, "ID", form, why, left_out=True)
    if set(levels.tolist()) <= {0.0, 1.0} and not form.unit:
        return ColumnKind(name, "yes/no", YesNo(number=form), form.describe())
    kind = "share" if form.unit == "%" else "quantity" if form.unit and form.unit not in SIGNS else "number"
    return ColumnKind(name, kind, form, form.describe())


def _name_kind(column: Column, form: NumberFormat, numbers: Floats) -> ColumnKind | None:
    """Return the kind of whole numbers that are names, such as zip codes, and come again; None if they are numbers.

    Their column is called so, or they begin with zeros and have as many digits each.
    """
    present = numbers[~np.isnan(numbers)]
    n_levels = len(np.unique(present))
    if n_levels <= MAX_LEVELS or 2 * n_levels > len(present) or (present != np.round(present)).any():
        return None
    texts = column.present.tolist() if column.is_text else [""]
    if all(map(str.isdecimal, texts)) and len({*map(len, texts)}) == 1 and any(text[0] == "0" for text in texts):
        return ColumnKind(column.name, "category", Levels(), "numbers that begin with zeros: names")
    if _CODE_NAME.search(column.name) or _ID_ENDING.search(column.name):
        return ColumnKind(column.name, "category", Levels(form), "numbers that are names: by its name")
    return None


def _id_reason(column: Column, numbers: Floats) -> str:
    """Say why a column of numbers is an ID; "" if it is not."""
    n = len(numbers)
    if n < MIN_ROWS or np.isnan(numbers).any() or (numbers != np.round(numbers)).any():
        return ""
    if len(np.unique(numbers)) < n:
        return ""
    if _ID_NAME.search(column.name) or _ID_ENDING.search(column.name):
        return "different in every row"
    steps = np.diff(numbers)
    if numbers[0] in (0, 1) and n >= 2 * MIN_ROWS and steps.min() > 0 and np.mean(steps == 1) > COUNTING:
        return "row number"
    return ""


def _yes_no_words(column: Column) -> tuple[str, str] | None:
    """Return the words for no and yes, as a column of two values writes them; None if it has others."""
    levels = column.levels()
    lower = {str(level).lower() for level in levels}
    for words in YES_NO:
        if lower <= set(words) and len(lower) == 2:
            no, yes = (next(level for level in levels if level.lower() == word) for word in words)
            return no, yes
    return None


def _text_kind(column: Column, *, wanted: bool) -> ColumnKind:
    name, levels, n = column.name, column.levels(), len(column.present)
    if not wanted:
        if len(levels) == 1 and n == len(column.values):
            return ColumnKind(name, "constant", Levels(), f"{levels[0]!r} in every row", left_out=True)
        if (len(levels) > MAX_LEVELS and 2 * len(levels) > n) or (len(levels) == n >= MIN_ROWS):
            length = np.mean([len(str(level).split()) for level in levels])
            note = f"{len(levels):,} different values in {plural(n, 'row')}"
            kind, differs = "text" if length >= 2 else "ID", len(levels) == n
            return ColumnKind(name, kind, Levels(), note, left_out=True, differs=differs)
    return ColumnKind(name, "category", Levels())


def _date_kind(column: Column, dates: DateFormat) -> ColumnKind:
    notes = [dates.describe()]
    if is_day_first_unclear(column, dates):
        notes.append("read with the month before the day")
    return ColumnKind(column.name, dates.kinds[dates.is_months], dates, "; ".join(notes))
