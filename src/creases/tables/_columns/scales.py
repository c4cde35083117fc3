"""Words in an order: scales that everybody knows, numbered levels, and the order that a user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from creases._typing import Floats
from creases.tables._columns.axes import Axis
from creases.tables._columns.codec import Feature, TextCodec, parse_each, thin_out

#: Words of known scales, from least to most; words between two bars mean the same.
_SCALES = (
    "none | very low, lowest | low | medium, moderate, mid, middle, average, normal | high | very high, highest"
    " | extreme, critical",
    "never | almost never, hardly ever, very rarely | rarely, seldom | sometimes, occasionally | often, frequently"
    " | usually, very often, mostly, almost always | always",
    "tiny, extra small, very small | small | medium, mid, middle | large, big | huge, extra large, very large",
    "xxs, 2xs | xs | s | m | l | xl | xxl, 2xl | xxxl, 3xl",
    "strongly disagree | disagree | somewhat disagree, slightly disagree | neutral, neither agree nor disagree, "
    "neither, undecided | somewhat agree, slightly agree | agree | strongly agree",
    "very dissatisfied | dissatisfied | neutral | satisfied | very satisfied",
    "very unlikely | unlikely | neutral | likely | very likely",
    "terrible, very poor, very bad, awful | poor, bad | fair, average, ok, okay | good | very good | excellent",
    "none, absent | mild | moderate | severe | very severe, critical",
    "very slow | slow | medium, moderate, average | fast | very fast",
    "very short | short | medium, average | long, tall | very long, very tall",
    "young | middle-aged, middle age, middle | old, senior",
    "very cold, freezing | cold | cool | mild | warm | hot | very hot",
    "very light | light | medium, moderate | heavy | very heavy",
    "very weak | weak | medium, moderate | strong | very strong",
    "novice, beginner | intermediate | advanced | expert",
    "intern | junior | mid, middle, mid-level, intermediate | senior | lead, principal",
    "trivial | minor | moderate | major | critical",
    "bronze | silver | gold | platinum | diamond",
    "very easy | easy | medium, moderate | hard, difficult | very hard, very difficult",
    "first | second | third | fourth | fifth | sixth | seventh | eighth | ninth | tenth",
    "monday, mon | tuesday, tue, tues | wednesday, wed | thursday, thu, thur, thurs | friday, fri | saturday, sat"
    " | sunday, sun",
    "january, jan | february, feb | march, mar | april, apr | may | june, jun | july, jul | august, aug"
    " | september, sep, sept | october, oct | november, nov | december, dec",
)

#: Words that make an order of the number or letter behind them: grade A, level 3, stage II. Others, such as type and
#: group, need not.
_RANK = re.compile(r"(?i)grade|level|lvl|stage|tier|rank|rating|step|phase|floor|year|band|degree|score")
_NUMBERED = re.compile(r"(?i)([a-z]*?)[\s:#._-]*(\d{1,3}|(?<![a-z])(?:[a-z]|[ivx]{1,4}))", re.ASCII)
_ENDED = re.compile(r"(?i)(\d{1,3})(?:st|nd|rd|th)", re.ASCII)
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10, "xi": 11,
          "xii": 12}  # fmt: skip

#: Levels of a scale at most.
MAX_WORDS = 100

Words = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ScaleFormat(TextCodec):
    """An order of words, which become 0, 1, 2, ..."""

    kinds: ClassVar[tuple[str, ...]] = ("ordinal",)
    given: ClassVar[tuple[str, ...]] = ("ordinal",)
    plural: ClassVar[str] = "values of the scale"
    tells_levels: ClassVar[bool] = True
    ignores: ClassVar[Literal["nothing", "case", "marks"]] = "marks"
    words: tuple[tuple[str, ...], ...]  #: spellings of each level, in order; the first is that of the table

    def parse(self, texts: Sequence[str | None]) -> Floats:
        """Return the numbers (n,) of words, NaN for those that are missing or not of the scale; case does not count."""
        codes = {_plain(word): float(k) for k, words in enumerate(self.words) for word in words}
        return parse_each(texts, lambda text: codes.get(_plain(text), np.nan))

    def write(self, value: float) -> str:
        """Return the word of the level that is nearest."""
        return self.words[int(np.clip(round(value), 0, len(self.words) - 1))][0]

    def describe(self) -> str:
        """List the words in order."""
        words = [words[0] for words in self.words]
        return " < ".join(words if len(words) <= 7 else [*words[:3], "...", *words[-2:]])

    def step(self, low: float, high: float) -> tuple[float, str]:
        """Return by how much to tell slopes, and the name of this step."""
        return 1.0, "step"

    def grid(self, low: float, high: float, most: int) -> Floats:
        """Return levels within a range, at most so many."""
        return thin_out(np.arange(float(len(self.words))), low, high, most)

    @classmethod
    def find(cls, counts: Mapping[str, int], name: str) -> Self | None:
        """Return the order of words: a known scale, or numbers and letters behind a word such as grade or level."""
        words = None if len(counts) > MAX_WORDS else _known_scale(counts) or _numbered_scale(counts, named=True)
        return None if words is None else cls(words)

    @classmethod
    def impose(cls, counts: Mapping[str, int]) -> Self | None:
        """Return the order of words that a user calls ordinal: numbers and letters need no word before them."""
        words = _known_scale(counts) or _numbered_scale(counts, named=False)
        return None if words is None else cls(words)

    def check(self) -> bool:
        """Return whether it has words, each of them once."""
        is_filled = all(words and len(set(words)) == len(words) for words in self.words)
        return len(self.words) > 1 and is_filled

    def accept(self, values: Floats) -> Floats:
        """Return numbers of levels."""
        return np.where(np.isin(values, np.arange(len(self.words))), values, np.nan)

    def axis(self, feature: Feature, knots: Floats) -> Axis:
        """Return the axis, on which there are no values between the levels."""
        return replace(super().axis(feature, knots), whole=tuple(np.arange(float(len(self.words))).tolist()))

    def labels(self) -> dict[str, float]:
        """Return the numbers of the words."""
        return {word: float(k) for k, words in enumerate(self.words) for word in words}


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text).strip().lower()


def _known_scale(counts: Mapping[str, int]) -> Words | None:
    """Return the levels of the scale that has all words; those that the table does not have are left out.

    Letters alone may be anything: M and S are sizes only beside a third one, or beside XL.
    """
    spelled: dict[str, str] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        spelled.setdefault(_plain(text), text)
    for scale in _SCALES:
        levels = [[word.strip() for word in level.split(",")] for level in scale.split("|")]
        code = {_plain(word): k for k, level in enumerate(levels) for word in level}
        if not spelled.keys() <= code.keys():
            continue
        places = {code[word] for word in spelled}
        if len(places) < 2 or (len(places) == 2 and all(len(word) == 1 for word in spelled)):
            return None
        ordered = [sorted(levels[k], key=lambda word: _plain(word) not in spelled) for k in sorted(places)]
        return tuple(tuple(spelled.get(_plain(word), word) for word in level) for level in ordered)
    return None


def _numbered_scale(counts: Mapping[str, int], *, named: bool) -> Words | None:
    """Return the order of texts that end in a number, a letter or a Roman number behind one word."""
    matches = {text: _NUMBERED.fullmatch(text.strip()) for text in counts}
    if all(match is not None for match in matches.values()):
        parts = {text: (match[1].lower(), match[2].lower()) for text, match in matches.items() if match is not None}
    elif all(_ENDED.fullmatch(text) for text in counts):
        parts = {text: ("rank", re.sub(r"\D", "", text)) for text in counts}
    else:
        return None
    prefixes, ends = {prefix for prefix, _ in parts.values()}, {end for _, end in parts.values()}
    if len(prefixes) > 1 or len(ends) < 2 or (named and not _RANK.fullmatch(next(iter(prefixes)))):
        return None
    if all(end.isdecimal() for end in ends):
        rank = {end: int(end) for end in ends}
    elif all(end in _ROMAN for end in ends):
        rank = {end: _ROMAN[end] for end in ends}
    elif all(len(end) == 1 and end.isalpha() for end in ends):
        rank = {end: ord(end) for end in ends}
    else:
        return None
    levels: dict[int, list[str]] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        levels.setdefault(rank[parts[text][1]], []).append(text)
    return tuple(tuple(levels[k]) for k in sorted(levels))
