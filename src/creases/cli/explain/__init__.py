"""``creases explain``: why a row gets its prediction, and the smallest change that would change it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from creases.cli import _model as model
from creases.cli._completion import complete_model, complete_words
from creases.cli.console import option_panels, print_json, print_next, repeat_command, show_progress
from creases.errors import InputError

(change_option,) = option_panels("Change the decision")


def explain_input(
    model_: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help=f"The folder of a growth run (creases grow). Or {model.HELP[0].lower()}{model.HELP[1:]}",
            show_default=False,
            autocompletion=complete_model,
        ),
    ],
    input_: Annotated[
        str | None,
        typer.Argument(metavar="INPUT", help="Comma-separated numbers, or an .npy file.", show_default=False),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Instead of INPUT: a row of the growth run's table, from 0.", show_default=False
        ),
    ] = None,
    to: Annotated[
        str | None,
        change_option(
            metavar="GOAL",
            help='Of a table: class to reach, or a value such as ">= 30"; lists what would have to change.',
            show_default=False,
        ),
    ] = None,
    fix: Annotated[
        list[str] | None,
        change_option(
            metavar="COLUMN", help="Of a table: a column that cannot change; repeatable.", show_default=False
        ),
    ] = None,
    change: Annotated[
        bool, change_option("--change", help="Find the smallest change that changes the decision.")
    ] = False,
    target: Annotated[str | None, change_option(metavar="CLASS", help="Class to reach.", show_default=False)] = None,
    fixed: Annotated[
        str | None, change_option(metavar="A,B", help="Columns that must not change.", show_default=False)
    ] = None,
    rising: Annotated[
        str | None, change_option(metavar="A,B", help="Columns that may only increase.", show_default=False)
    ] = None,
    falling: Annotated[
        str | None, change_option(metavar="A,B", help="Columns that may only decrease.", show_default=False)
    ] = None,
    norm: Annotated[
        str,
        change_option(
            metavar="NORM",
            help="Size of a change: l1 (sum of all changes), l2 (Euclidean length) or linf (largest change).",
            autocompletion=complete_words("l1", "l2", "linf"),
        ),
    ] = "l1",
    count: Annotated[int, change_option(metavar="N", help="Number of different answers.")] = 1,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit for each proof.")] = 5.0,
    input_shape: Annotated[str | None, typer.Option(metavar="C,H,W", help="Shape of one input.")] = None,
    detail: Annotated[
        bool, typer.Option("--detail", help="Of a table: show the linear region, its coefficients and units.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Explain a row's prediction, or a network's decision at one input.

    Of a model of a table: without a row, the whole model as a card of points; with --row, what each column adds, and
    the smallest change that changes the decision, with a proof. With --to: changes that lead to a class or a value.

    Of a network: the linear function that applies at the input (coefficients, region, most important units) and the
    nearest input with another decision. With --change: what would have to change for another decision.

    For example:
      creases explain out/homes
      creases explain out/homes --row 17 --to high --fix garden --count 3
      creases explain net.onnx 0.2,0.5
      creases explain out/iris --row 120 --change --fixed "petal width"
    """
    from creases.cli.explain._curves import load_curves

    table = None if detail or change else load_curves(model_)
    if table is not None:
        _explain_table(table, model_, input_, row, to, fix or [], count, budget, as_json=as_json)
        return
    for name, value in (("to", to), ("fix", fix)):
        if value:
            raise InputError(name, "come with the folder of a model of curves", model_, "use {0}", [("change", True)])
    _explain_network(
        model_, input_, row, input_shape, {"target": target, "fixed": fixed, "rising": rising, "falling": falling},
        change=change, norm=norm, count=count, budget=budget, as_json=as_json,
    )  # fmt: skip


def _explain_table(
    table: Any,
    folder: str,
    input_: str | None,
    row: int | None,
    to: str | None,
    fix: list[str],
    count: int,
    budget: float,
    *,
    as_json: bool,
) -> None:
    from creases.cli.explain import _curves

    if input_ is None and row is None:
        if to is not None or fix:
            raise InputError("row", "be given with --to or --fix")
        _curves.print_model(table, as_json=as_json)
        return
    columns = [name.strip() for words in fix for name in words.split(",")]
    with show_progress(3) as begin:
        answer = _curves.explain_table_row(table, folder, input_, row, to, columns, count, budget, begin)
    _curves.print_row(answer, asked=to is not None, as_json=as_json)


def _explain_network(
    model_: str,
    input_: str | None,
    row: int | None,
    input_shape: str | None,
    wishes: dict[str, str | None],
    *,
    change: bool,
    norm: str,
    count: int,
    budget: float,
    as_json: bool,
) -> None:
    from creases.cli.explain import _change, _text
    from creases.cli.explain._subject import load_subject

    if not change:
        for name, value in wishes.items():
            if value is not None:
                raise InputError(name, "be used with --change", repr(value), "add {0}", [("change", True)])
    with show_progress(3) as begin:
        begin("reading the network")
        subject = load_subject(model_, input_, row, input_shape)
        if change:
            begin("finding the smallest change")
            answer = _change.find_change(subject, wishes, norm, count, budget)
        else:
            begin("finding the region")
            explanation = _text.explain_subject(subject, budget, begin)
    if as_json:
        print_json(_change.as_json_data(subject, answer) if change else explanation)
    elif change:
        _change.print_change(subject, answer)
        more = ("--json",) if count > 1 else ("--count", "3")
        print_next(repeat_command(*more), "the same as JSON" if count > 1 else "three different answers")
    else:
        _text.print_explanation(explanation)
        if not subject.regression:
            print_next(repeat_command("--change"), "the smallest change that changes the decision")
        else:
            print_next(repeat_command("--json"), "the same as JSON")
