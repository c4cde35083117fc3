"""A network on one page: the linear function of every region that holds rows, and what separates the regions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._arguments import check_arguments
from creases._schema import NUMBER, optional, sequence
from creases._text import plural
from creases._typing import Bools, Floats, Ints
from creases._validation import check_count, check_finite, check_points
from creases.network import NetworkLike
from creases.tables._explain import scorecard_text as page
from creases.tables._explain.conditions import Condition, find_conditions
from creases.tables._explain.numbering import number_regions
from creases.tables._explain.table import ScalingLike, Table, check_targets, make_table
from creases.tables._explain.terms import LinearText, half_space_text, linear_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ScorecardRegion:
    """The regions of a network that share a linear function, with the rows that lie in them."""

    number: int  #: from 1, by the number of rows
    rows: Ints  #: numbers of its rows
    n_patterns: int  #: regions of the network that were merged: those of the same function
    coefficients: Floats  #: (q, d) of the inputs, in the table's own units
    offset: Floats  #: (q,)
    mean: Floats  #: (q,) mean of the outputs over its rows
    #: When a row is in the region: any of these sets of conditions holds. None where the region is not listed alone.
    conditions: tuple[tuple[Condition, ...], ...] | None
    complete: bool  #: whether the conditions hold for the region's rows, all of them, and for no others
    difference: Floats  #: (q,) root mean square, over its rows, of the network minus the linear model of all rows
    counts: Ints | None  #: (classes,) rows of each class; of the predicted classes where y is not given
    score: float | None  #: accuracy on its rows; for a regression the root mean squared error


@dataclass(frozen=True, eq=False)
class ScorecardCheck:
    """How far a scorecard is from its network, at every row."""

    error: float  #: largest difference of the outputs, relative to the largest output (at least 1)
    misplaced: int  #: rows that meet the conditions of a listed region that they are not in, or fail those of their own
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether the outputs agree within the tolerance, and no row is misplaced."""
        return self.error <= self.tolerance and not self.misplaced


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard:
    """A network written down, as :func:`scorecard` returns it; ``print`` shows it."""

    table: Table
    regions: tuple[ScorecardRegion, ...]  #: by the number of rows, those not listed alone included
    region_of: Ints  #: (n,) index into ``regions`` of each row
    patterns: dict[bytes, int]  #: index into ``regions`` of each pattern that holds rows
    linear: tuple[Floats, Floats]  #: coefficients (q, d) and offset (q,) of the linear model of all rows
    by_prediction: bool  #: whether ``counts`` are of predicted classes
    max_terms: int

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs (q,): for two classes the log-odds of the second, else one for each class or target."""
        return self.table.outputs

    @cached_property
    def listed(self) -> tuple[ScorecardRegion, ...]:
        """The regions with enough rows to be listed alone."""
        return tuple(region for region in self.regions if region.conditions is not None)

    @cached_property
    def others(self) -> tuple[ScorecardRegion, ...]:
        """The regions with few rows, which are summed."""
        return tuple(region for region in self.regions if region.conditions is None)

    def predict(self, X: Any) -> Floats:
        """Return the outputs by the functions of the scorecard: (n,) for one output, else (n, q).

        These are the network's own outputs; for two classes the log-odds of the second. A row in a region that held
        no rows before gets that region's function, from the network.
        """
        rows = check_points(X.to_numpy(np.float64) if hasattr(X, "to_numpy") else X, len(self.table.names), "X")
        which = self.locate(rows)
        J = np.stack([region.coefficients for region in self.regions])
        y = np.stack([region.offset for region in self.regions])
        values = np.einsum("nqd,nd->nq", J[which], rows) + y[which]
        new = which < 0
        if new.any():
            J, y = self.table.pieces(rows[new])
            values[new] = np.einsum("nqd,nd->nq", J, rows[new]) + y
        return np.asarray(values[:, 0] if len(self.outputs) == 1 else values)

    def locate(self, X: Any) -> Ints:
        """Return the index into ``regions`` (n,) of rows (n, d); -1 for a region that held no rows before."""
        rows = check_points(X, len(self.table.names), "X")
        check_finite(rows, "X")
        packed = self.table.net.pattern(self.table.to_network(rows)).reshape(len(rows), -1)
        return np.array([self.patterns.get(pattern.tobytes(), -1) for pattern in packed], np.int64)

    def check(self, tolerance: float = 1e-9) -> ScorecardCheck:
        """Compare the scorecard with the network at every row: the outputs, and which rows meet which conditions."""
        table = self.table
        values = self.predict(table.X).reshape(len(table.X), -1)
        error = np.abs(values - table.values).max() / max(1.0, np.abs(table.values).max())
        misplaced = 0
        for index, region in enumerate(self.regions):
            if region.conditions is None or not region.complete:
                continue
            inside, outside = (table.X[(self.region_of == index) == wanted] for wanted in (True, False))
            misplaced += int((~_meets(region.conditions, inside)).sum())
            misplaced += int(_meets(region.conditions, outside, strict=True).sum())
        return ScorecardCheck(float(error), misplaced, tolerance)

    # -- as text ------------------------------------------------------------------------------------------------------

    def function_text(self, region: ScorecardRegion, output: int = 0) -> LinearText:
        """Return the function of a region for one output: its largest terms, and the rest summed over its rows."""
        table, J = self.table, region.coefficients[output]
        return linear_text(
            J, float(region.offset[output]), table.X[region.rows], table.names, self.max_terms, table.spread
        )

    def condition_texts(self, region: ScorecardRegion) -> tuple[tuple[str, ...], ...]:
        """Return the conditions of a region in words, as ``region.conditions``; () for one that is not listed."""
        table = self.table
        return tuple(
            tuple(
                half_space_text(part.normal, part.bound, table.X, table.names, self.max_terms, table.spread)
                for part in conditions
            )
            for conditions in region.conditions or ()
        )

    @cached_property
    def questions(self) -> dict[str, str]:
        """Conditions that several regions share, by the letters that the text gives them; empty if they are few."""
        return page.name_questions(self)

    def when_text(self, region: ScorecardRegion) -> str:
        """Return when a row is in a region: its conditions in words, or by the letters of :attr:`questions`."""
        return page.when_text(self, region)

    def __str__(self) -> str:
        return page.scorecard_text(self)

    def __repr__(self) -> str:
        return f"<Scorecard: {plural(len(self.table.X), 'row')} in {plural(len(self.regions), 'region')}>"

    def _repr_html_(self) -> str:
        return page.scorecard_html(self)

    # -- as data ------------------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each region and output, with every coefficient in full."""
        import pandas as pd

        records = []
        for region in self.regions:
            for k, output in enumerate(self.outputs):
                head = {"region": region.number, "output": output, "rows": len(region.rows)}
                head |= {"share": len(region.rows) / len(self.table.X), "mean": region.mean[k]}
                head |= {
                    "score": region.score,
                    "difference": region.difference[k],
                    "when": page.when_text(self, region),
                }
                counts = [] if region.counts is None else region.counts.tolist()
                head |= {f"rows of {name}": count for name, count in zip(self.table.classes or (), counts, strict=True)}
                head |= {"offset": region.offset[k]}
                records.append(head | dict(zip(self.table.names, region.coefficients[k].tolist(), strict=True)))
        return pd.DataFrame.from_records(records).set_index(["region", "output"])

    def to_dict(self) -> dict[str, Any]:
        """Return the scorecard as JSON-able data, with every coefficient in full."""
        check = self.check()
        return {
            "creases-scorecard": 1,
            "inputs": list(self.table.names),
            "outputs": list(self.outputs),
            "classes": None if self.table.classes is None else list(self.table.classes),
            "rows": len(self.table.X),
            "error": check.error,
            "linear": {"coefficients": self.linear[0].tolist(), "offset": self.linear[1].tolist()},
            "regions": [self._region_dict(region) for region in self.regions],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict())

    def _region_dict(self, region: ScorecardRegion) -> dict[str, Any]:
        conditions = None
        if region.conditions is not None:
            conditions = [
                [{"normal": part.normal.tolist(), "bound": part.bound, "text": text, "beyond": _region_number(part)}
                 for part, text in zip(parts, texts, strict=True)]
                for parts, texts in zip(region.conditions, self.condition_texts(region), strict=True)
            ]  # fmt: skip
        return {
            "region": region.number,
            "rows": len(region.rows),
            "merged": region.n_patterns,
            "counts": None if region.counts is None else region.counts.tolist(),
            "score": region.score,
            "mean": region.mean.tolist(),
            "difference": region.difference.tolist(),
            "coefficients": region.coefficients.tolist(),
            "offset": region.offset.tolist(),
            "functions": [str(self.function_text(region, k)) for k in range(len(self.outputs))],
            "conditions": conditions,
            "complete": region.complete,
        }


def _meets(alternatives: tuple[tuple[Condition, ...], ...], X: Floats, *, strict: bool = False) -> Bools:
    """Return which rows (n, d) meet all conditions of one of the alternatives."""
    met = np.zeros(len(X), bool)
    for conditions in alternatives:
        met |= np.all([np.ones(len(X), bool), *(part.holds(X, strict=strict) for part in conditions)], axis=0)
    return met


def _region_number(condition: Condition) -> int | None:
    return None if condition.neighbor is None else condition.neighbor + 1


@check_arguments(names=optional(sequence()), classes=optional(sequence()), min_share=NUMBER)
def scorecard(
    net: NetworkLike,
    X: Any,
    y: Any = None,
    *,
    names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    target: str | None = None,
    scaling: ScalingLike | None = None,
    max_regions: int = 8,
    max_terms: int = 4,
    min_share: float = 0.01,
) -> Scorecard:
    """Write a network down: the linear function of every region that holds rows of a table, and what separates them.

    Regions with the same function are merged. They are ordered by their number of rows; those with few are summed in
    the text, but :meth:`Scorecard.predict`, :meth:`Scorecard.to_frame` and :meth:`Scorecard.to_dict` have all of them.

    Parameters
    ----------
    net
        A network, torch module or file name; computed in float64.
    X
        (n, d) rows in the table's own units, or a data frame. Inputs of 0 and 1 called ``species=Adelie``,
        ``species=Gentoo``, ... are categories.
    y
        (n,) classes, by number or name, or targets, in the table's own units; adds how well each region predicts.
    names
        Names of the inputs (d,); by default those of the data frame, or ``x0``, ``x1``, ...
    classes
        Names of the classes for a classifier. Two of them have one function, the log-odds of the second. Without
        classes the outputs are numbers, such as the target of a regression.
    target
        What a regression predicts, for the text.
    scaling
        The :class:`creases.growth.Scaling` by which the network takes its inputs and gives its targets; by default it
        takes rows in the table's own units, as the networks of growth runs and estimators do.
    max_regions, min_share
        Regions that are listed alone: at most so many, with at least this share of the rows.
    max_terms
        Terms of a function that are written; the rest is summed.

    Returns
    -------
    Scorecard
        What separates a region from its neighbors are few of the half-spaces that bound it, chosen so that all its
        rows meet them and no other row of the table does. The linear model that each region is compared with is the
        least-squares fit of the network's outputs over all rows.

    Examples
    --------
    >>> import creases
    >>> from creases.tables import scorecard
    >>> net = creases.read([([[1.0]], [-2.0]), ([[3.0]], [1.0])])  # 1 + 3 relu(tenure - 2)
    >>> card = scorecard(net, [[0], [1], [2], [4]], names=["tenure"], target="cost")
    >>> print(card)
    4 rows in 2 regions; in each the network is a linear function.
    <BLANKLINE>
    Region 1: 3 rows (75 %)
      when tenure < 2 (else region 2)
      cost = 1
      on average 1; differs from one linear model for all rows by 1.31 (tenure: 0, there 1.54)
    <BLANKLINE>
    Region 2: 1 row (25 %)
      when tenure > 2 (else region 1)
      cost = -5 + 3 tenure
      on average 7; differs from one linear model for all rows by 1.03 (tenure: 3, there 1.54)
    >>> card.check().holds
    True
    """
    table = make_table(net, X, names=names, classes=classes, target=target, scaling=scaling)
    check_count(max_regions, "max_regions")
    check_count(max_terms, "max_terms")
    targets = check_targets(y, table)
    numbers = number_regions(table)
    first, region_of_pattern, J, offset = numbers.first, numbers.region_of_pattern, numbers.J, numbers.offset
    region_of = region_of_pattern[numbers.pattern_of]
    linear = _fit_linear(table)
    sizes = np.bincount(numbers.pattern_of, minlength=len(first))
    limit = max(min_share * len(table.X), 1)
    regions = []
    for index, count in enumerate(numbers.counts):
        members = np.flatnonzero(region_of_pattern == index)
        members = members[np.argsort(-sizes[members], kind="stable")]
        listed = index < max_regions and (count >= limit or index == 0)
        found = find_conditions(table, first[members], region_of, index) if listed else (None, False)
        lead = members[0]
        regions.append(_summarize(table, index, region_of, len(members), J[lead], offset[lead], found, linear, targets))
    lookup = {pattern.tobytes(): int(index) for pattern, index in zip(numbers.patterns, region_of_pattern, strict=True)}
    return Scorecard(table, tuple(regions), region_of, lookup, linear, targets is None, max_terms)


def _fit_linear(table: Table) -> tuple[Floats, Floats]:
    """Return the least-squares linear function of the network's outputs: coefficients (q, d), offset (q,)."""
    center, values = table.X.mean(axis=0), table.values
    spread = np.where(table.spread > 0, table.spread, 1.0)
    solution, *_ = np.linalg.lstsq((table.X - center) / spread, values - values.mean(axis=0), rcond=None)
    J = np.asarray(solution.T / spread)
    return J, np.asarray(values.mean(axis=0) - J @ center)


def _summarize(
    table: Table,
    index: int,
    region_of: Ints,
    n_patterns: int,
    J: Floats,
    offset: Floats,
    found: tuple[Any, bool],
    linear: tuple[Floats, Floats],
    targets: Any,
) -> ScorecardRegion:
    rows = np.flatnonzero(region_of == index)
    values = table.values[rows]
    difference = values - (table.X[rows] @ linear[0].T + linear[1])
    counts, score = None, None
    if table.classes is not None:
        decided = table.decide(values)
        actual = decided if targets is None else targets[rows]
        counts = np.bincount(actual, minlength=len(table.classes)).astype(np.int64)
        score = None if targets is None else float((decided == actual).mean())
    elif targets is not None:
        score = float(np.sqrt(((values - targets[rows]) ** 2).mean()))
    root = np.asarray(np.sqrt((difference**2).mean(axis=0)))
    return ScorecardRegion(
        index + 1, rows, n_patterns, J, offset, values.mean(axis=0), found[0], found[1], root, counts, score
    )
