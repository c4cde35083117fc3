"""Why a row gets its prediction: what each column adds to that of the average row, to the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from creases._text import common_decimals, format_fixed, format_percent, format_value, plural
from creases._typing import Floats
from creases._validation import check_vector
from creases.tables._columns.codec import unused_name
from creases.tables._model.schema import RowFunction
from creases.tables._words.column_text import cell_text
from creases.tables._words.terms import class_labels, factor_text, probability, share_probability

if TYPE_CHECKING:
    import pandas as pd

#: Terms that have a line of their own, and the share of the largest below which they have none.
LINES, SMALL = 12, 0.01

#: Rows that are printed.
PRINTED = 10


@dataclass(frozen=True)
class Effect:
    """What one term adds to a prediction."""

    name: str  #: the column, or the columns of a plane
    cell: str  #: what the row has there; "" for a plane and units
    amount: float  #: in the target's units or to its logarithm, or in points; NaN for more than two classes
    share: float  #: of the probability of the class explained; NaN for a regression


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """A prediction as a sum: that of the average row, and what each column, plane and the units add.

    ``start + sum(amounts) = total`` and ``start_probability + sum(shares) = probability``, to rounding.
    """

    name: str  #: of the row: ``row 17``
    target: str
    unit: str  #: of the amounts, with a space before it
    predicted: str  #: class or value, as text
    truth: str  #: "" where it is not known
    explained: str  #: the class whose probability is explained: the second of two, the predicted one of more
    effects: tuple[Effect, ...]  #: largest first
    start: float  #: for the average row, in the units of the amounts
    total: float
    start_probability: float
    probability: float
    probabilities: tuple[tuple[str, float], ...]  #: of all classes
    threshold: float
    is_factor: bool = False  #: whether start, amounts and total are logarithms: effects multiply

    def lines(self) -> list[str]:
        """Return the explanation as lines of text."""
        lines = [f"{self.title}: {self.about}", *_table(self)]
        if not self.probabilities:
            return lines
        if not np.isfinite(self.total):
            return [*lines, f"Each percentage is what the column adds to the probability of {self.explained}."]
        lines.append("10 points double the odds, 0 points are 50 %; percentages are shared in proportion to points.")
        if self.threshold != 0.5:
            lines.append(f"{self.explained} is predicted above {format_percent(self.threshold)}.")
        return lines

    @property
    def title(self) -> str:
        """The name of the row, as a title: ``Row 17``."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def about(self) -> str:
        """What is predicted, with probabilities and the truth: ``predicted kind: rose (rose 95 %); true: rose``."""
        ranked = sorted(self.probabilities, key=lambda each: -each[1])[:3]
        names = [name for name, _ in self.probabilities]
        labels = dict(zip(names, class_labels(names, self.target), strict=True))
        chances = ", ".join(f"{labels[name]} {format_percent(share)}" for name, share in ranked)
        what = f"{self.target}: {self.predicted}" if self.target else self.predicted
        truth = f"; true: {self.truth}" if self.truth else ""
        return f"predicted {what}{f' ({chances})' if chances else ''}{truth}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        numbers: dict[str, Any] = {"start": self.start, "total": self.total} if np.isfinite(self.total) else {}
        numbers |= {"link": "log"} if self.is_factor else {}
        if self.probabilities:
            numbers |= {
                "explained": self.explained,
                "average_probability": self.start_probability,
                "probability": self.probability,
                "probabilities": dict(self.probabilities),
            }
        effects = [
            {"name": effect.name, "value": effect.cell}
            | ({"amount": effect.amount} if np.isfinite(effect.amount) else {})
            | ({"probability": effect.share} if self.probabilities else {})
            for effect in self.effects
        ]
        known = {"truth": self.truth} if self.truth else {}
        return {"row": self.name, "predicted": self.predicted, **known, **numbers, "effects": effects}


#: What the scores of the average row are called among the parts.
INTERCEPT = "intercept"


@dataclass(frozen=True, eq=False)
class RowExplanations:
    """Why rows get their predictions; print it, or take one row's explanation, or all of them as a table."""

    model: RowFunction
    X: Floats  #: (n, d) the rows, encoded

    @cached_property
    def parts(self) -> pd.DataFrame:
        """What each column adds to the scores, a line for each row; its cells sum to the score.

        Of several scores each has columns of its own. A sum of curves is divided as it is, a network by integrated
        gradients from the mean row, which add up exactly too.
        """
        import pandas as pd

        terms = self.model._terms()
        start = np.broadcast_to(terms.start, (len(self.X), 1, len(terms.start)))
        parts = np.concatenate([start, terms.score_parts(self.X)], axis=1)  # (n, 1 + t, m)
        names = [unused_name(INTERCEPT, terms.parts), *terms.parts]
        if parts.shape[2] == 1:
            return pd.DataFrame(parts[:, :, 0], columns=names)
        keys = [(score, name) for score in self.model.schema.score_names for name in names]
        return pd.DataFrame(np.moveaxis(parts, 2, 1).reshape(len(self.X), -1), columns=pd.MultiIndex.from_tuples(keys))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.X)

    def __getitem__(self, k: int) -> RowExplanation:
        return explain_row(self.model, self.X[k], name="this row" if len(self.X) == 1 else f"row {range(len(self))[k]}")

    def __iter__(self) -> Iterator[RowExplanation]:
        return (self[k] for k in range(len(self)))

    def __str__(self) -> str:
        texts = [str(self[k]) for k in range(min(PRINTED, len(self)))]
        rest = len(self) - len(texts)
        return "\n\n".join([*texts, f"... and {plural(rest, 'more row')}"] if rest else texts)

    def _repr_html_(self) -> str:
        return str(self.parts.to_html())


def explain_row(model: RowFunction, x: Floats, *, name: str = "this row", truth: str = "") -> RowExplanation:
    """Explain the prediction of a model for an encoded row x (d,).

    ``name`` is what to call the row, ``truth`` its true class or value as text, if it is known.
    """
    terms = model._terms()
    x = check_vector(x, "x", len(terms.encoding.features))
    parts = terms.contributions(x[None])[0]  # (t, m)
    total = terms.scores(x[None])[0]
    several = terms.classes is not None and not terms.is_binary
    amounts = np.full(len(parts), np.nan) if several else parts[:, 0]
    shares, chance, begin, k = np.full(len(parts), np.nan), np.full(1, np.nan), np.full(1, np.nan), 0
    if terms.classes is None:
        value = float(terms.predictions(total)[0])
        predicted = format_value(value, max(4, len(f"{abs(value):.0f}"))) + terms.target_unit
    else:
        chance, begin = probability(terms, np.stack([total, terms.intercept]))
        k = 1 if terms.is_binary else int(chance.argmax())
        shares = share_probability(terms, parts, k)
        predicted = terms.classes[terms.predicted_class(chance)]
    cells = [cell_text(terms, term, x) for term in terms.columns]
    cells += [""] * (len(parts) - len(cells))
    effects = [Effect(*each) for each in zip(terms.names, cells, amounts.tolist(), shares.tolist(), strict=True)]
    effects.sort(key=lambda effect: -abs(effect.share if several else effect.amount))
    return RowExplanation(
        name,
        terms.target,
        terms.unit,
        predicted,
        truth,
        terms.labels[k] if terms.classes is not None else "",
        tuple(effects),
        np.nan if several else float(terms.intercept[0]),
        np.nan if several else float(total[0]),
        float(begin[k]),
        float(chance[k]),
        tuple(zip(terms.classes or (), chance.tolist(), strict=False)),
        terms.threshold,
        terms.is_factor,
    )


def _table(row: RowExplanation) -> list[str]:
    """Return the lines of the sum, its columns aligned: the average row, the effects, this row."""
    has_points = bool(np.isfinite(row.total))
    sizes = np.abs([effect.amount if has_points else effect.share for effect in row.effects])
    n = min(LINES, int((sizes > SMALL * sizes.max(initial=0.0)).sum()))
    n += len(row.effects) == n + 1  # a rest of one says less than its name
    head = f"probability of {row.explained}" if row.probabilities else row.target or "prediction"
    body = [(f"{head} for the average row", row.start, row.start_probability)]
    body += [(f"{e.name} {e.cell}" if e.cell else e.name, e.amount, e.share) for e in row.effects[:n]]
    rest = [e for e in row.effects[n:] if e.amount or e.share > 0 or e.share < 0]
    if rest:
        sums = float(np.sum([e.amount for e in rest])), float(np.sum([e.share for e in rest]))
        sizes = sizes[sizes > 0]
        text = plural(len(sizes) - n, "smaller effect")
        if abs(sums[0] if has_points else sums[1]) > min(sizes[:n], default=0.0) and not row.is_factor:
            largest = float(sizes[n:].max())  # together they are larger than one that has a line
            most = format_value(largest, 2) + row.unit if has_points else format_percent(largest)
            text += f" together, each at most {most}"
        body.append((text, *sums))
    body.append(("for this row", row.total, row.probability))
    columns = [[name for name, _, _ in body]]
    if row.probabilities:
        columns.append(_align([100 * share for _, _, share in body], 1, " %", sign=False))
    if row.is_factor:
        factors = [factor_text(amount) for _, amount, _ in body[1:-1]]
        columns.append([format_value(np.exp(row.start), 4), *factors, row.predicted])
    elif has_points:
        decimals = common_decimals([e.amount for e in row.effects[:n]] or [row.total])
        columns.append(_align([amount for _, amount, _ in body], decimals, row.unit, sign=bool(row.probabilities)))
    widths = [max(map(len, column)) for column in columns]
    columns[0] = [name.ljust(widths[0]) for name in columns[0]]
    return ["  " + "  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def _align(values: list[float], decimals: int, unit: str, *, sign: bool) -> list[str]:
    """Return a column of numbers, those at its ends with a unit; ``sign`` says whether these have a sign too."""
    ends = (0, len(values) - 1)
    texts = [format_fixed(value, decimals, sign=sign or i not in ends) for i, value in enumerate(values)]
    width = max(map(len, texts))
    return [text.rjust(width) + (unit if i in ends else " " * len(unit)) for i, text in enumerate(texts)]
