"""A model as about ten lines, in the units of its columns and in the order of importance."""

from __future__ import annotations

from creases._text import format_change, format_percent, format_value, plural
from creases._typing import Floats
from creases.tables._words.column_text import column_text
from creases.tables._words.points import probability
from creases.tables._words.terms import NEGLIGIBLE, ReadableModel, Terms, term_sizes, training_rows
from creases.tables._words.unit_text import unit_texts

#: Columns and planes that have a line of their own.
LINES = 10


def describe_model(model: ReadableModel, *, X: Floats | None = None, max_lines: int = LINES) -> list[str]:
    """Return a model of curves as lines of text, the most important column first.

    Parameters
    ----------
    model
        A model with curves, such as :func:`creases.fit_table` returns.
    X
        (n, d) encoded rows by which importance is measured; by default those that the model was trained on, and
        without them the ranges of the curves.
    max_lines
        Columns, planes and units that have a line each; the rest is summed up in one.

    Returns
    -------
    list of str
        First what the lines add to, then a line for each column: ``Weight: -1.2 mpg per 100 lb up to 2,750 lb, -0.6
        above``. A column that changes nothing has none. With classes the lines add points; ten points double the odds.
        A unit that grew has a line with its crease and its reason, in the numbers of the rows that it was grown for.
        Last come columns that look like an ID and are used, and those that are left out, with the reason;
        then what became of equal rows in the split, and whether the model was fitted again to all rows.
    """
    terms = Terms.from_model(model)
    X = training_rows(model) if X is None else X
    sizes = term_sizes(model, terms, X)
    lines = [(size, name, text) for size, name, text in zip(sizes, terms.names, _term_texts(terms, X), strict=True)]
    lines = [line for line in lines if line[2] and (line[0] > NEGLIGIBLE * sizes.max(initial=0.0) or not line[0])]
    lines.sort(key=lambda line: -line[0])
    kinds = {term.name: f" ({term.column.kind.kind})" for term in terms.columns if term.column.kind.is_reading}
    texts = [f"{name}{kinds.get(name, '')}: {text}" for _, name, text in lines[:max_lines]]
    rest = lines[max_lines:]
    if rest:
        largest = format_value(max(float(size) for size, _, _ in rest), 2)
        texts.append(f"{plural(len(rest), 'smaller effect')}: at most {largest}{terms.unit} on average")
    return [opening_text(terms), *texts, *unit_texts(terms), *_column_notes(model), *getattr(model, "notes", ())]


def _column_notes(model: ReadableModel) -> list[str]:
    """Return which columns are left out and why, and which of the others may give the target away."""
    encoding = model.encoding
    if encoding is None:
        return []
    cautions = [f"caution: {text}" for text in encoding.doubtful.values()]
    return [*cautions, *([f"left out: {encoding.ignored}"] if encoding.ignored else [])]


def opening_text(terms: Terms) -> str:
    """Return what the lines of a model add to: its prediction for the average row."""
    if terms.classes is None:
        average = ", ".join(format_value(float(value), 3) for value in terms.intercept)
        return f"{terms.target or 'prediction'}: {average}{terms.unit} for the average row, and from each column:"
    chance = probability(terms, terms.intercept[None])[0]
    if terms.is_binary:
        what = f"probability of {terms.labels[1]}: {format_percent(chance[1])} for the average row"
        return f"{what}; each column adds points, and 10 points double the odds:"
    shares = ", ".join(f"{name} {format_percent(p)}" for name, p in zip(terms.labels, chance, strict=True))
    return f"{shares} for the average row; each column adds points to classes, and 10 points double the odds of one:"


def _term_texts(terms: Terms, X: Floats | None) -> list[str]:
    """Return each term in words; "" for what is constant."""
    texts = [column_text(terms, term) for term in terms.columns]
    rest = len(terms.names) - len(texts)
    if not rest:
        return texts
    if X is None:
        return texts + ["beyond what each adds alone"] * rest
    parts = terms.contributions(X)[:, len(texts) :]
    return texts + [_range_text(parts[:, k], terms) for k in range(rest)]


def _range_text(values: Floats, terms: Terms) -> str:
    """Return by how much a term moves the prediction at most, for rows (n, m): ``up to ±0.8``."""
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return ""
    if max(-low, high) <= 1.25 * min(-low, high):
        return f"up to ±{format_value(max(-low, high), 2)}{terms.unit}"
    return f"{format_change(low)} to {format_change(high)}{terms.unit}"
