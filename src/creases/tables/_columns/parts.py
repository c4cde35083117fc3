"""Columns whose cells have several parts: lists of numbers, tags and codes. Each part is a column of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from creases.tables._columns.codec import format_level, unused_name
from creases.tables._columns.numbers import MIN_CELLS, WELL
from creases.tables._reading.columns import Column, Marks

#: What separates the numbers of a list, and tags, in the order in which they are tried.
_LISTS = {"x": r"\s*[x×*]\s*(?=[\d+.-])", "/": r"\s*/\s*", ";": r"\s*;\s*", "|": r"\s*\|\s*", ",": r"\s*,\s*"}
_TAGS = (";", "|", ",")

#: Different values of a column of lists or codes at least; numbers of a list, and tags of a column, at most.
LEAST_LEVELS, MOST_NUMBERS, MOST_TAGS = 21, 8, 100

#: Rows that a tag is in at least, and the beginning of a code on average.
TAG_ROWS, CODE_ROWS = 3, 5

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
    """Return the tags of a cell."""
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
