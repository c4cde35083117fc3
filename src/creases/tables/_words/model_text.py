"""A model as about ten lines, in the units of its columns and in the order of importance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np

from creases._text import format_percent, format_value, plural
from creases._typing import Floats
from creases.tables._model.schema import RowFunction
from creases.tables._stages.basis import Reason
from creases.tables._stages.model import CurveModel, Units
from creases.tables._words.column_text import column_text
from creases.tables._words.rows import TermEffects
from creases.tables._words.terms import NEGLIGIBLE, CurveTerms, Options, Terms, factor_text, probability

# Units that grew, in words: where each bends, and which rows it was grown for.

#: Inputs of a crease that are named, and digits of their numbers.
NAMED, DIGITS = 4, 2

#: Share of the largest part of a crease that the input with the coefficient 1 has at least.
LEADING = 0.5


def unit_entries(terms: CurveTerms) -> list[tuple[str, str]]:
    """Return for each unit that grew what it is called, its crease and the rows that it was grown for.

    ``rises above a + b = 1.4; grown because 212 rows like row 871 (at 1.9) were predicted 0.6 too low``
    """
    units = terms.model.units
    entries = []
    for k, reason in enumerate(() if units is None else units.reasons):
        assert units is not None
        crease, there = _crease_text(terms, units, k)
        entries.append((f"unit {k + 1}", f"{crease}; grown because {_reason_text(terms, reason, there)}"))
    return entries


def _crease_text(terms: CurveTerms, units: Units, k: int) -> tuple[str, str]:
    """Return where a unit bends and what it does there, ``rises above a + 0.5 b = 1.4``, and the sum at its row.

    The unit is ``relu(u @ weights + bias)``, where u are inputs spread over [0, 1] between two knots. Coefficients of
    the sum, in the units of the columns, are rounded and smaller parts left out; its value makes up for that in the
    middle of the range of each number.
    """
    weights, size = units.weights[k], np.abs(units.weights[k])
    spans = np.array([np.ptp(knots) if len(knots) > 1 else 1.0 for knots in units.knots])
    middles = np.array([knots.mean() if len(knots) > 1 else 0.0 for knots in units.knots])
    slopes, starts = weights / spans, np.array([knots[0] for knots in units.knots])
    inputs = np.sort(np.argsort(-size, kind="stable")[: min(NAMED, np.count_nonzero(weights))])
    scale = float(slopes[inputs[size[inputs] >= LEADING * size.max()][0]])
    rounded = np.array([float(f"{slope:.{DIGITS}g}") for slope in slopes[inputs] / scale])
    value = float((slopes @ (starts - middles) - units.biases[k]) / scale + rounded @ middles[inputs])
    effects = terms.to_points(units.outputs)[k]
    output = int(np.abs(effects).argmax())
    what = "rises" if effects[output] > 0 else "falls"
    if terms.classes is not None or len(effects) > 1:
        what += f" for {terms.outputs[output]}"
    parts = [
        f"{'-' if coefficient < 0 else '+'} {_part_text(terms, j, abs(coefficient))}"
        for j, coefficient in zip(inputs.tolist(), rounded.tolist(), strict=True)
    ]
    more = int(np.count_nonzero(weights)) - len(inputs)
    parts += [f"+ {plural(more, 'smaller part')}"] if more else []
    parts[0] = parts[0].removeprefix("+ ") if parts[0][0] == "+" else f"-{parts[0][2:]}"
    values = [value, value + units.reasons[k].side / scale]
    gap, largest = abs(values[0] - values[1]), max(map(abs, values))
    digits = 3 if not gap else int(np.clip(np.ceil(np.log10(largest / gap)) + 1, 3, 9))  # that tell them apart
    at, there = (format_value(each, digits) for each in values)
    return f"{what} {'above' if scale > 0 else 'below'} {' '.join(parts)} = {at}", there


def _part_text(terms: CurveTerms, j: int, coefficient: float) -> str:
    """Return what an input adds to the sum of a crease: ``0.5 age``, ``(12 if town is Ulm)``."""
    size, feature, term = format_value(coefficient, DIGITS), terms.encoding.features[j], terms.term_of[j]
    if feature.is_numeric:
        return terms.variables[j] if size == "1" else f"{size} {terms.variables[j]}"
    if feature.is_gap:
        return f"({size} if {terms.variables[j]})"
    words = [text for text, _ in term.values]
    return f"({size} if {term.name} is {words[term.features.index(feature)]})"


def _reason_text(terms: CurveTerms, reason: Reason, there: str) -> str:
    """Return which rows a unit was grown for: ``212 rows like row 871 (at 1.9) were predicted 0.6 too low``."""
    which, was = plural(reason.count, "row"), "was" if reason.count == 1 else "were"
    if reason.row is not None:
        which = ("" if reason.count == 1 else f"{which} like ") + f"row {reason.row} (at {there})"
    if reason.classes is not None:
        predicted, true = (terms.labels[each] for each in reason.classes)
        return f"{which} {was} classified as {predicted} instead of {true}"
    output = int(np.abs(reason.errors).argmax())
    what = f" in {terms.outputs[output]}" if len(reason.errors) > 1 else ""
    size = format_value(abs(reason.errors[output]), DIGITS)
    if terms.is_factor:
        size = factor_text(abs(reason.errors[output])).removeprefix("+")
    return f"{which} {was} predicted {size}{terms.unit} too {'low' if reason.errors[output] > 0 else 'high'}{what}"


#: Columns and planes that have a line of their own.
LINES = 12


@dataclass(frozen=True)
class ModelWords:
    """A model of a table in words."""

    opening: str  #: what the entries add to
    entries: tuple[tuple[str, str], ...]  #: what columns, planes and units that grew are called, and what each does
    notes: tuple[str, ...]  #: columns that are left out or doubtful, equal rows, the family, the split

    def lines(self) -> list[str]:
        """Return them as lines of text: an entry is ``Weight: -1.2 mpg per 100 lb up to 2,750 lb, -0.6 above``."""
        return [self.opening, *(f"{name}: {text}" for name, text in self.entries), *self.notes]


def describe_model(model: RowFunction, *, X: Floats | None = None) -> list[str]:
    """Return a model of a table as lines of text: see :func:`model_words`."""
    return model_words(model, X=X).lines()


def model_words(model: RowFunction, *, X: Floats | None = None) -> ModelWords:
    """Return a model of a table in words, the most important column first.

    The same words are printed for the model, and stand in its reports, in notebooks and in the studio. A column that
    changes nothing has no entry. With classes entries add points; ten points double the odds. A unit that grew has its
    crease and its reason, in the numbers of the rows that it was grown for.

    Of a grown network each entry says from where to where a column moves predictions. Effects are measured by encoded
    rows X (n, d), by default those that the model was fitted to, which a loaded model remembers.
    """
    terms: Terms = model._terms()
    effects = TermEffects.from_model(model, terms, X)
    sizes, texts = effects.sizes, _term_texts(terms, effects)
    kinds = [f" ({term.column.kind.kind})" if term.codec.is_reading else "" for term in terms.columns]
    names = [name + kind for name, kind in zip_longest(terms.names, kinds, fillvalue="")]
    lines = [(size, name, text) for size, name, text in zip(sizes, names, texts, strict=True)]
    lines = [line for line in lines if line[2] and (line[0] > NEGLIGIBLE * sizes.max(initial=0.0) or not line[0])]
    lines.sort(key=lambda line: -line[0])
    entries = [(name, text) for _, name, text in lines[:LINES]]
    if rest := lines[LINES:]:
        size = max(float(size) for size, _, _ in rest)
        largest = factor_text(size) if terms.is_factor else f"{format_value(size, 2)}{terms.unit}"
        entries.append((plural(len(rest), "smaller effect"), f"at most {largest} on average"))
    entries += unit_entries(terms) if isinstance(terms, CurveTerms) else []
    encoding = model.schema.encoder
    notes = [f"caution: {text}" for text in encoding.doubtful.values()]
    notes += [f"one effect for each of: {encoding.pooled}"] if encoding.pooled else []
    notes += [f"read as missing: {encoding.read_as_missing}"] if encoding.read_as_missing else []
    notes += [f"left out: {encoding.ignored}"] if encoding.ignored else []
    return ModelWords(opening_text(terms), tuple(entries), (*notes, *model._facts.notes))


def opening_text(terms: Terms) -> str:
    """Return what the lines of a model add to: its prediction for the average row."""
    if terms.classes is None:
        average = ", ".join(format_value(float(value), 3) for value in terms.predictions(terms.intercept))
        what = f"{terms.target or 'prediction'}: {average}{terms.target_unit} for the average row"
        return f"{what}; each column multiplies it:" if terms.is_factor else f"{what}, and from each column:"
    chance = probability(terms, terms.intercept[None])[0]
    if terms.is_binary:
        what = f"probability of {terms.labels[1]}: {format_percent(chance[1])} for the average row"
        return f"{what}; each column adds points, and 10 points double the odds:"
    shares = ", ".join(f"{name} {format_percent(p)}" for name, p in zip(terms.labels, chance, strict=True))
    return f"{shares} for the average row; each column adds points to classes, and 10 points double the odds of one:"


def _term_texts(terms: Terms, effects: TermEffects) -> list[str]:
    """Return each term in words, of a network from where to where it moves predictions; "" for what is constant."""
    texts = [column_text(terms, term) for term in terms.columns] if isinstance(terms, CurveTerms) else []
    rest = len(terms.names) - len(texts)
    if effects.ranges is None:
        return texts + ["beyond what each adds alone" if texts else ""] * rest
    for low, high in effects.ranges[len(texts) :].tolist():
        text = f"{terms.amount_text(low)} to {terms.amount_text(high)}{terms.unit}"
        if not terms.is_factor and max(-low, high) <= 1.25 * min(-low, high):
            text = f"up to ±{format_value(max(-low, high), 2)}{terms.unit}"
        texts.append(text if high > low else "")
    return texts


# Stages in a few words.


def describe_stages(function: CurveModel) -> list[str]:
    """Say what each stage brought: ``curves: log loss 0.412, 0.031 ± 0.008 lower (kept, 14 bends)``.

    Only the stage that is kept is made simple, so bends of others say nothing.
    """
    family = "classes" if function.n_classes else function.family
    known = {"classes": "log loss", "normal": "unexplained variance", "lognormal": "unexplained variance of logarithms"}
    loss = known.get(family, "quantile loss" if family.startswith("quantile") else f"{family} deviance")
    lines = []
    for step in function.steps:
        text = f"{step.stage}: {loss} {step.loss:.4f}"
        if step.stage != "linear":
            change = "lower" if step.gain >= 0 else "higher"
            text += f", {abs(step.gain):.4f} ± {step.error:.4f} {change}" if abs(step.gain) >= 0.00005 else ", no lower"
        if step.is_kept:
            parts = [plural(step.planes, "plane")] if step.planes else []
            parts += [plural(round(step.bends), "bend")] if round(step.bends) else []
            text += f" (kept{', ' if parts else ''}{' with '.join(parts)})"
        lines.append(text)
    return lines


# A grown network in the words that curves have: what each column adds, and what it could add at most.


@dataclass(frozen=True, eq=False)
class NetworkTerms(Terms):
    """The terms of a grown network, its columns: each adds its integrated gradients on the way from the mean row."""

    most_rows: ClassVar[int] = 200  # each takes longer

    model: Any  #: a grown network

    @cached_property
    def start(self) -> Floats:
        """(m,) The scores of the mean row."""
        return np.asarray(self.model._outputs(self.model.schema.center[None])[0] @ self.model.schema.score_weights.T)

    def score_parts(self, X: Floats) -> Floats:
        """Return what each column adds to the scores of encoded rows X (n, d): (n, t, m)."""
        parts = self.model._attributions(X)
        return np.stack([parts[:, term.inputs].sum(axis=1) for term in self.columns], axis=1)

    def scores(self, X: Floats) -> Floats:
        """Return the predictions (n, m) in the units of the terms."""
        return self.to_points(self.model._outputs(X) @ self.model.schema.score_weights.T)

    def knots(self, j: int) -> Floats:
        """Return the range of input j."""
        return np.asarray(self.model.schema.ranges[j])

    def gains(self, x: Floats, D: Floats, options: Options, columns: Sequence[Options]) -> Floats:
        """Return by how much each option (n,) of a column brings each part of a goal (n, k) nearer at most.

        A ReLU changes by no more than its input, and in its direction only; so what several columns change in a unit is
        between the sums of what each could take away and could add, and so on from layer to layer.
        """
        *hidden, (last, _) = self._layers
        least = most = options.values - options.values[:1]
        inputs = options.term.inputs
        for k, (weights, _) in enumerate(hidden):
            weights = weights[:, inputs] if not k else weights
            rises, falls = np.maximum(weights, 0).T, np.minimum(weights, 0).T
            least, most = (
                np.minimum(least @ rises + most @ falls, 0.0) if k else np.minimum(least @ weights.T, 0.0),
                np.maximum(most @ rises + least @ falls, 0.0) if k else np.maximum(most @ weights.T, 0.0),
            )
        effect = (
            D @ self.to_points(self.model.schema.score_weights.T).T @ (last if hidden else last[:, inputs])
        )  # (k, h)
        if not hidden:
            return np.asarray(most @ effect.T)
        return np.asarray(most @ np.maximum(effect, 0).T + least @ np.minimum(effect, 0).T)

    @cached_property
    def _layers(self) -> list[tuple[Floats, Floats]]:
        layers: list[tuple[Floats, Floats]] = self.model._layers()
        return layers
