"""Sections about rows of a model of curves: some predictions explained, and the largest errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from creases._text import format_number, plural, short_names
from creases._typing import Floats
from creases.show.report._formatting import Section
from creases.tables import RowExplanation, TableModel, explain_row

#: Effects of a row that are listed, and rows with the largest errors.
EFFECTS, WORST = 3, 4


def row_sections(model: TableModel) -> list[Section]:
    """Return the explanations of a few test rows: the lowest and the highest prediction."""
    assert model.data is not None
    rows = _choose_rows(model)
    return [_row_section(_explain(model, int(row)), model.classes or ()) for row in rows]


def error_section(model: TableModel) -> Section:
    """Return the test rows with the largest errors, each with what moved it most."""
    assert model.data is not None
    rows, size = model.data.test, _losses(model)
    worst = rows[np.argsort(-size[rows], kind="stable")[:WORST]]
    table = []
    for row in worst:
        answer = _explain(model, int(row))
        moved = ", ".join(f"{each.name} {each.cell}".strip() for each in answer.effects[:2])
        about = f"{answer.name}: true {answer.truth}, predicted {answer.predicted}"
        table.append([_shorten(about, model.classes or ()), moved])
    if not table:
        return {}
    text = "The test rows with the highest loss" + ("." if model.classes is None else "; some may be decided rightly.")
    columns = ["", "moved most by"]
    return {"title": "Largest errors", "text": text, "table": {"columns": columns, "rows": table}}


def _choose_rows(model: TableModel) -> list[int]:
    assert model.data is not None
    rows = model.data.test if len(model.data.test) else model.data.train
    outputs = model.outputs(model.data.problem.X[rows])
    order = rows[np.argsort(outputs[:, -1], kind="stable")]
    return list(dict.fromkeys(int(order[k]) for k in (0, len(order) - 1)))


def _explain(model: TableModel, row: int) -> RowExplanation:
    assert model.data is not None
    problem = model.data.problem
    number = row if problem.rows is None else int(problem.rows[row])
    y = problem.y[row]
    truth = format_number(float(y)) if problem.classes is None else problem.classes[int(y)]
    return explain_row(model, problem.X[row], name=f"row {number}", truth=truth)


def _row_section(answer: RowExplanation, classes: Sequence[str]) -> Section:
    """Return a row's prediction as a sum: that of the average row, and what each column adds."""
    heading, *_ = answer.lines()
    has_amounts = bool(np.isfinite(answer.total))
    shown, rest = answer.effects[:EFFECTS], answer.effects[EFFECTS:]
    unit = answer.unit
    head = f"probability of {answer.explained}" if answer.probabilities else answer.target or "prediction"
    if has_amounts:
        start, total = f"{answer.start:.3g}{unit}", f"{answer.total:.3g}{unit}"
        amounts, left = [each.amount for each in shown], sum(each.amount for each in rest)
        cells = [_signed(amount) for amount in amounts]
        more = _signed(left)
    else:
        start, total = f"{100 * answer.start_probability:.1f} %", f"{100 * answer.probability:.1f} %"
        cells = [f"{100 * each.share:+.1f} %" for each in shown]
        more = f"{100 * sum(each.share for each in rest):+.1f} %"
    table = [["average row", start]]
    table += [[f"{each.name} {each.cell}".strip(), cell] for each, cell in zip(shown, cells, strict=True)]
    table += [[plural(len(rest), "smaller effect"), more]] if rest else []
    table.append(["this row", total])
    name, _, about = heading.partition(": ")
    points = " Ten points double the odds." if has_amounts and answer.probabilities else ""
    text = _shorten(f"{about[0].upper()}{about[1:]}.{points}", classes)
    what = head if not has_amounts or not answer.probabilities else f"{answer.explained}"
    return {"title": name, "text": text, "table": {"columns": ["", what], "rows": table}, "size": "narrow"}


def _shorten(text: str, classes: Sequence[str]) -> str:
    """Return a text with long names of classes without what they have in brackets."""
    for name, short in zip(classes, short_names(classes), strict=True):
        text = text.replace(name, short)
    return text


def _signed(value: float) -> str:
    text = format_number(abs(value))
    return f"{'−' if value < 0 else '+'}{text}"


def _losses(model: TableModel) -> Floats:
    """Return the loss (n,) of each row: cross-entropy, or the absolute error."""
    assert model.data is not None
    problem = model.data.problem
    outputs = model.outputs(problem.X)
    if problem.classes is None:
        return np.asarray(np.abs(outputs[:, 0] - problem.y))
    highest = outputs.max(axis=1, keepdims=True)
    total = np.log(np.exp(outputs - highest).sum(axis=1)) + highest[:, 0]
    return np.asarray(total - outputs[np.arange(len(outputs)), problem.y])
