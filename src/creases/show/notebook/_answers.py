"""Problems and nearest changes of decision in a notebook."""

from __future__ import annotations

import numpy as np

from creases._text import plural
from creases.certify import Change
from creases.problems import Problem
from creases.show.notebook import _card as card

#: Rows and columns of a problem, and inputs of a change, that are shown.
ROWS, COLUMNS, INPUTS = 5, 8, 12


def problem_html(problem: Problem) -> str:
    """Return what a problem is about, and its first rows."""
    n, d = problem.X.shape
    kind = "regression" if problem.classes is None else f"{len(problem.classes)} classes"
    about = [("rows", card.number(n)), ("inputs", card.number(d)), ("kind", kind)]
    if problem.target:
        about.append(("target", problem.target))
    rest = ["…"] if d > COLUMNS else []
    heads = [*problem.features[:COLUMNS], *rest, problem.target or "target"]
    targets = problem.y[:ROWS]
    names = targets if problem.classes is None else [problem.classes[int(k)] for k in targets]
    rows = [
        [*map(card.number, x[:COLUMNS]), *rest, card.number(y) if problem.classes is None else y]
        for x, y in zip(problem.X[:ROWS], names, strict=True)
    ]
    note = card.paragraph(problem.description) if problem.description else ""
    return card.card(problem.name, note, card.facts(about), card.table(heads, rows))


def change_html(change: Change) -> str:
    """Return how far the decision is from changing, and the inputs that change most."""
    state = "proved" if change.proved else f"not proved: between {change.lower_bound:.4g} and {change.distance:.4g}"
    if change.point is None or change.change is None:
        reach = "exists" if np.isinf(change.lower_bound) else f"is within {change.lower_bound:.4g}"
        return card.card("Nearest change", card.paragraph(f"No other decision {reach} ({state})."))
    about = [
        ("decision", f"{change.predicted} to {change.reached}"),
        (f"{change.norm} distance", card.number(change.distance)),
        ("proof", state),
    ]
    moved = np.argsort(-np.abs(change.change), kind="stable")
    moved = moved[change.change[moved] != 0]
    rows = [(int(k), *map(card.number, (change.x[k], change.point[k], change.change[k]))) for k in moved[:INPUTS]]
    more = len(moved) - len(rows)
    note = card.paragraph(f"and {plural(more, 'smaller change')}", faint=True) if more > 0 else ""
    return card.card("Nearest change", card.facts(about), card.table(("input", "from", "to", "change"), rows), note)
