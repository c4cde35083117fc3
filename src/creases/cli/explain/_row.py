"""A model of a table in words: its card of points, a row as a sum, and what would change its prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from creases.cli import _arguments as arguments
from creases.cli.console import out, print_json, print_next, repeat_command
from creases.errors import InputError


def print_model(model: Any, *, integer: bool, as_json: bool) -> None:
    """Print the card of points of a model."""
    card = model.card(integer=integer)
    if as_json:
        print_json(card.to_dict())
        return
    _print(card.lines())
    print_next(repeat_command("--row", "0"), "why the first row of the table gets its prediction")


def explain_table_row(
    model: Any,
    folder: str,
    input_: str | None,
    row: int | None,
    to: str | None,
    fixed: Sequence[str],
    count: int,
    budget: float,
    begin: Callable[..., None],
) -> dict[str, Any]:
    """Return a row's explanation and what would change its prediction; the latter is None without a class or bound."""
    from creases.tables import explain_row, find_changes

    begin("reading the row")
    x, name, truth, X = _read_row(model, folder, input_, row)
    explanation = explain_row(model, x, name=name, truth=truth)
    changes = None
    if to is not None or model.classes is not None:
        begin("finding what would change the prediction")
        changes = find_changes(model, x, to=to, fixed=fixed, count=count, budget=budget, X=X)
    return {"explanation": explanation, "changes": changes}


def print_row(answer: dict[str, Any], *, asked: bool, as_json: bool) -> None:
    """Print a row's explanation; if a change was asked for, only its prediction and the change."""
    explanation, changes = answer["explanation"], answer["changes"]
    if as_json:
        print_json(explanation.to_dict() | ({} if changes is None else {"changes": changes.to_dict()}))
        return
    lines = explanation.lines()
    if asked:
        _print([lines[0], *changes.lines()])
        if len(changes.answers) == 1 and "--count" not in repeat_command().split():
            print_next(repeat_command("--count", "3"), "other answers")
        return
    _print(lines)
    if changes is not None:
        _print(["", *changes.lines()])
        print_next(repeat_command("--detail"), "the linear region of this row, with coefficients and units")
    else:
        print_next(repeat_command("--to", f">= {explanation.total:.2g}"), "what would have to change for that value")


def _read_row(model: Any, folder: str, input_: str | None, row: int | None) -> tuple[Any, str, str, Any]:
    """Return an encoded row, what to call it, its true class or value, and the table's rows if they are there.

    A row whose target is missing was not fitted, but can be explained.
    """
    from creases.tables import load_settings

    if input_ is not None:
        return arguments.read_input(input_).reshape(-1), "this row", "", None
    settings = load_settings(Path(folder))
    problem = settings.load_problem()
    numbers = list(range(len(problem.X))) if problem.rows is None else problem.rows.tolist()
    if row in numbers:
        value = problem.y[numbers.index(row)]
        truth = f"{value:,.6g}" if problem.classes is None else problem.classes[int(value)]
        return problem.X[numbers.index(row)], f"row {row}", truth, problem.X
    X = problem.X if problem.rows is None else model.encode(settings.data, header=settings.header).X
    if row is None or not 0 <= row < len(X):
        raise InputError("row", f"be a row of the table, from 0 to {len(X) - 1}", f"{row}")
    return X[row], f"row {row}", "", problem.X


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
