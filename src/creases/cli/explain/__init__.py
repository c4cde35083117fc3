"""``creases explain``: why a row gets its prediction, and the smallest change that would change it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from creases._text import plural
from creases.cli._options import HELP, TABLES, AsJson, check_model, complete_files, complete_model
from creases.cli._sections import print_document
from creases.cli.console import (
    argument,
    note,
    option,
    option_panels,
    out,
    print_json,
    print_next,
    repeat_command,
    show_progress,
)
from creases.errors import InputError

(change_option,) = option_panels("Change the decision")

#: Rows of a file that are printed.
PRINTED = 10


def explain_input(
    model_: Annotated[
        str,
        argument(
            "MODEL",
            f"A folder of creases fit or creases grow. Or {HELP[0].lower()}{HELP[1:]}",
            autocompletion=complete_model,
            callback=check_model,
        ),
    ],
    input_: Annotated[str | None, argument("INPUT", "Comma-separated numbers, or an .npy file.")] = None,
    row: Annotated[
        int | None, option("N", "Instead of INPUT: a row of the folder's table, or of --rows, from 0.")
    ] = None,
    rows: Annotated[
        Path | None,
        option("FILE", "New rows: a file with the columns of the table.", autocompletion=complete_files(*TABLES)),
    ] = None,
    to: Annotated[
        str | None,
        change_option("GOAL", 'Class to reach, or a value such as ">= 30"; lists what would have to change.'),
    ] = None,
    fix: Annotated[list[str] | None, change_option("COLUMN", "A column that cannot change; repeatable.")] = None,
    count: Annotated[int | None, change_option("N", "Number of different answers.", show_default="1")] = None,
    budget: Annotated[float, option("SECONDS", "Time limit for each proof.")] = 5.0,
    input_shape: Annotated[str | None, option("C,H,W", "For a network: the shape of one input.")] = None,
    detail: Annotated[
        bool, option("", "Show the linear region of a row, its coefficients and units.", "--detail")
    ] = False,
    integer: Annotated[bool, option("", "For the card of points: round points to whole numbers.", "--integer")] = False,
    as_json: AsJson = False,
) -> None:
    """Explain a row's prediction, or a network's decision.

    For a folder of creases fit: without a row, the whole model as a card of points, with how far its sums can be from
    the model's; --integer rounds the points and says how many decisions that can change. With --row, also of a folder
    of creases grow: what each column adds, and the smallest change that changes the decision. With --to: changes that
    lead to a class or a value. With --rows: the same for new rows, the first ten of them or the one of --row.

    For a network: the linear function that applies at the input (coefficients, region, most important units) and the
    nearest input with another decision, with a proof.

    For example:
      creases explain out/homes
      creases explain out/homes --integer
      creases explain out/homes --row 17 --to high --fix garden --count 3
      creases explain out/homes --rows new.csv
      creases explain net.onnx 0.2,0.5
    """
    changes = {"to": to, "fix": fix, "count": count}
    if integer and (not Path(model_).is_dir() or input_ is not None or row is not None or detail):
        raise InputError("integer", "come with a folder of creases fit alone: it rounds the card of points")
    if not Path(model_).is_dir():
        given = [name for name, value in (*changes.items(), ("detail", detail or None), ("rows", rows)) if value]
        if given:
            raise InputError(given[0], "come with the folder of creases fit or creases grow", model_)
    elif input_shape is not None:
        raise InputError("input_shape", "come with a network", f"the folder {model_}", "its columns are known")
    elif not detail:
        if input_ is None and row is None and rows is None:
            if to is not None or fix:
                raise InputError("row", "be given with --to or --fix")
            return _print_card(model_, integer=integer, as_json=as_json)
        fixed = [name.strip() for words in fix or [] for name in words.split(",")]
        wanted = {"to": to, "fixed": fixed, "count": count or 1, "budget": budget}
        return _explain_rows(model_, input_, row, rows, wanted, as_json=as_json)
    if rows is not None:
        raise InputError("rows", "not come with --detail, which shows one region of the folder's table", str(rows))
    for name, value in changes.items():
        if value:
            raise InputError(name, "not come with --detail, which shows one region", repr(value))
    _explain_region(model_, input_, row, input_shape, budget, as_json=as_json)


def _print_card(folder: str, *, integer: bool, as_json: bool) -> None:
    """Print the card of points of a model, or what each column adds to one that has none."""
    from creases.tables import load

    model = load(folder)
    try:
        card = model.card(integer=integer)
    except InputError as problem:
        if integer or as_json or problem.param != "model":  # another one asks for something else, such as a row
            raise
        _print_lines([str(model)])
        note("this model has no card of points: it adds up maps of two numbers, or units of several columns")
    else:
        if as_json:
            print_json(card.to_dict())
            return
        _print_lines(card.lines())
    print_next(repeat_command("--row", "0"), "why the first row of the table gets its prediction")


def _explain_rows(
    folder: str, input_: str | None, row: int | None, rows: Path | None, wanted: dict[str, Any], *, as_json: bool
) -> None:
    """Explain rows, and find what would change their predictions, unless these are numbers and none is asked for."""
    from creases.cli.explain._region import read_row
    from creases.tables import explain_row, find_changes, load

    model = load(folder)
    if input_ is not None and (row is not None or rows is not None):
        raise InputError("input", f"not be given with --{'row' if rows is None else 'rows'}", input_)
    answers = []
    with show_progress(3) as begin:
        begin("reading the rows")
        if rows is None:
            chosen, X = read_row(model, Path(folder), input_, row)
        else:
            chosen, X = _read_new_rows(model, rows, row), None
        for done, (x, name, truth) in enumerate(chosen if as_json else chosen[:PRINTED]):
            explanation, changes = explain_row(model, x, name=name, truth=truth), None
            if wanted["to"] is not None or (model.classes is not None and len(chosen) == 1):
                begin("finding what would change the prediction", done, len(chosen))
                changes = find_changes(model, x, **wanted, X=X)
            answers.append((explanation, changes))
    if as_json:
        plain = [each.to_dict() | ({} if to is None else {"changes": to.to_dict()}) for each, to in answers]
        print_json(plain[0] if rows is None or row is not None else {"rows": plain})
        return
    if len(chosen) == 1:
        return _print_row(*answers[0], asked=wanted["to"] is not None)
    for explanation, changes in answers:
        lines = explanation.lines()
        _print_lines([*(lines if changes is None else [lines[0], *changes.lines(size_note=False)]), ""])
    if len(chosen) > len(answers):
        _print_lines([f"... and {plural(len(chosen) - len(answers), 'more row')}; --json has all"])
    print_next(repeat_command("--row", "0"), "the first row alone, and what would change its prediction")


def _explain_region(
    model_: str, input_: str | None, row: int | None, input_shape: str | None, budget: float, *, as_json: bool
) -> None:
    from creases.cli.explain import _region

    with show_progress(3) as begin:
        begin("reading the network")
        subject = _region.load_subject(model_, input_, row, input_shape)
        begin("finding the region")
        explanation = _region.explain_subject(subject, budget, begin)
    print_document(_region.describe_region(explanation), as_json=as_json)
    if not as_json:
        print_next(repeat_command("--json"), "the same as JSON")


def _print_row(explanation: Any, changes: Any, *, asked: bool) -> None:
    """Print a row's explanation; if a change was asked for, only its prediction and the change."""
    lines = explanation.lines()
    if asked:
        _print_lines([lines[0], *changes.lines()])
        if len(changes.answers) == 1 and "--count" not in repeat_command().split():
            print_next(repeat_command("--count", "3"), "other answers")
        return
    _print_lines(lines)
    if changes is not None:
        _print_lines(["", *changes.lines()])
        print_next(repeat_command("--detail"), "the linear region of this row, with coefficients and units")
    else:
        print_next(repeat_command("--to", _other_side(explanation)), "what would have to change for that value")


def _other_side(explanation: Any) -> str:
    """Return a goal that a prediction does not reach and that of the average row does, in plain digits."""
    start, total = explanation.start, explanation.total
    if explanation.is_factor:
        start, total = math.exp(start), math.exp(total)
    goal = start if start != total else total + (0.1 * abs(total) or 1.0)
    digits = 1 - math.floor(math.log10(abs(goal - total)))  # two of the difference
    return f"{'>=' if goal > total else '<='} {round(goal, digits):.{max(digits, 0)}f}"


def _read_new_rows(model: Any, rows: Path, row: int | None) -> list[tuple[Any, str, str]]:
    """Return encoded rows of a file, or one of them, with what to call each and no truth."""
    encoded = model.encode(rows)
    for line in encoded.notes:
        note(line)
    n = len(encoded.X)
    if row is not None and not 0 <= row < n:
        raise InputError("row", f"be a row of {rows}, from 0 to {n - 1}", f"{row}")
    return [(encoded.X[k], f"row {k}", "") for k in (range(n) if row is None else [row])]


def _print_lines(lines: Sequence[str]) -> None:
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)
