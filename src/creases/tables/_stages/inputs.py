"""What the encoded inputs of a table are, and the shapes that their curves must have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._typing import Bools, Floats, Ints
from creases.errors import InputError
from creases.tables._stages.basis import Circle
from creases.tables._stages.pairs import Variable, group_features
from creases.tables._stages.penalized import Shape

if TYPE_CHECKING:
    from creases.tables._encoding.encoding import TableEncoding

#: Levels of a category that planes and units read, at most.
MOST_MIXED = 30

SHAPES = ("rising", "falling", "straight", "convex")


@dataclass(frozen=True, eq=False)
class Inputs:
    """What the encoded inputs are."""

    names: tuple[str, ...]  #: (d,)
    is_numeric: tuple[bool, ...]  #: (d,) False for inputs that are 0 or 1
    columns: Ints  #: (d,) the table's column of each input
    groups: Ints  #: (d,) number of the categorical column that an input is a level of; -1 for others
    shapes: tuple[Shape, ...]  #: (d,) what the curve of an input must be; "" for any
    circles: tuple[Circle, ...]  #: (d,) where a month, weekday or hour begins and ends; None for others
    gaps: tuple[Ints, ...]  #: (d,) the inputs that are 1 where an input is missing, or a code
    fills: Floats  #: (d,) what an input is where it is missing
    levels: Mapping[int, int] = field(default_factory=dict)  #: of inputs that are numbers of values: how many there are
    clock: int | None = None  #: the input in the order of which later rows are held out

    @classmethod
    def from_table(
        cls,
        X: Floats,
        names: Sequence[str],
        encoding: TableEncoding | None,
        *,
        shapes: Mapping[str, str] | None = None,
        n_scores: int = 1,
    ) -> Inputs:
        """Return the inputs of encoded rows X (n, d).

        Without an encoding a column of 0 and 1 is yes/no, any other a number. ``shapes`` go by column or input.
        """
        d = len(names)
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise InputError("features", "be different names", f"{twice[0]!r} more than once")
        if encoding is None:
            is_numeric = tuple(not np.isin(x, (0.0, 1.0)).all() for x in X.T)
            columns, groups, owners = np.arange(d), np.full(d, -1), tuple(names)
            circles: tuple[Circle, ...] = (None,) * d
            gaps, fills, levels = tuple(np.zeros(0, np.int64) for _ in names), np.zeros(d), {}
        else:
            index = {column.name: k for k, column in enumerate(encoding.inputs)}
            is_numeric = tuple(feature.is_numeric or feature.is_lookup for feature in encoding.features)
            owners = tuple(feature.column for feature in encoding.features)
            columns = np.array([index[name] for name in owners], np.int64)
            groups = np.where([feature.is_level for feature in encoding.features], columns, -1)
            circles = tuple(feature.circle for feature in encoding.features)
            gaps, fills = _find_gaps(encoding)
            pairs = enumerate(encoding.features)
            levels = {j: encoding.inputs[columns[j]].n_levels for j, feature in pairs if feature.is_lookup}
        numbers = [numeric and j not in levels for j, numeric in enumerate(is_numeric)]
        chosen = _shapes(shapes, names, owners, numbers, circles, n_scores)
        return cls(tuple(names), is_numeric, columns, groups, chosen, circles, gaps, fills, levels)

    @property
    def may_bend(self) -> Bools:
        """(d,) Which inputs may have curves with knots: numbers whose curves need not be straight."""
        pairs = enumerate(zip(self.is_numeric, self.shapes, strict=True))
        return np.array([numeric and shape != "straight" and j not in self.levels for j, (numeric, shape) in pairs])

    @property
    def may_mix(self) -> Bools:
        """(d,) Which inputs units may read: not those whose curves have a shape, which they could spoil.

        Nor circles: a unit, straight along each input, would tear them open.
        """
        is_open = np.array([circle is None for circle in self.circles])
        return np.asarray(np.array([not shape for shape in self.shapes]) & is_open & self.may_pair)

    @property
    def may_pair(self) -> Bools:
        """(d,) Which inputs planes may read: rising and falling ones too, as their planes rise or fall with them.

        Not levels of a category of many: few rows have two such values together.
        """
        sizes = np.bincount(self.groups[self.groups >= 0], minlength=int(self.groups.max(initial=0)) + 1)
        is_long = (self.groups >= 0) & (sizes[self.groups] > MOST_MIXED)
        is_long[[*self.levels]] = True
        return np.array([shape in ("", "rising", "falling") for shape in self.shapes]) & ~is_long

    @cached_property
    def variables(self) -> list[Variable]:
        """The columns as planes take them."""
        variables, may_pair = group_features(self.is_numeric, self.columns, self.groups, self.circles), self.may_pair
        return [each for each in variables if may_pair[each.features].all()]


def _find_gaps(encoding: TableEncoding) -> tuple[tuple[Ints, ...], Floats]:
    """Return for each feature those that are 1 where it is missing or a code, and what it is there (d,)."""
    features = encoding.features
    means = {column.name: list(column.means) for column in encoding.inputs}
    gaps, fills = [], np.zeros(len(features))
    for j, feature in enumerate(features):
        is_own = [other.column == feature.column and other.is_gap for other in features]
        has_gaps = not feature.is_level and not feature.is_gap
        gaps.append(np.flatnonzero(is_own) if has_gaps else np.zeros(0, np.int64))
        fills[j] = means[feature.column].pop(0) if has_gaps and not feature.is_lookup else 0.0
    return tuple(gaps), fills


def _shapes(
    shapes: Any,
    names: Sequence[str],
    owners: Sequence[str],
    is_numeric: Sequence[bool],
    circles: Sequence[Circle],
    n_scores: int,
) -> tuple[Shape, ...]:
    if not isinstance(shapes, Mapping | None):
        raise InputError("shapes", 'be a mapping such as {"age": "rising"}', type(shapes).__name__)
    chosen: list[Any] = [""] * len(names)
    for name, shape in (shapes or {}).items():
        meant = [j for j in range(len(names)) if name in (owners[j], names[j])]
        if not meant:
            near = get_close_matches(str(name), [*dict.fromkeys(owners)], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its columns are {', '.join(dict.fromkeys(owners))}"
            raise InputError("shapes", "name columns of the table", repr(name), hint)
        places = [j for j in meant if is_numeric[j] and circles[j] is None]
        if not places and any(circles[j] for j in meant):
            hint = "the curve of a month, weekday or time of day begins where it ends"
            raise InputError("shapes", "name columns that are no circles", repr(name), hint)
        if not places:
            raise InputError("shapes", "name columns of numbers", repr(name), "a category has no shape")
        if shape not in SHAPES:
            raise InputError("shapes", f"be {', '.join(map(repr, SHAPES))}", repr(shape))
        if shape != "straight" and n_scores > 1:
            raise InputError("shapes", "be 'straight' with more than two classes or several targets", repr(shape))
        for j in places:
            chosen[j] = shape
    return tuple(chosen)
