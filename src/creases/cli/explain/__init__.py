"""``creases explain``: the piece that decides one input, and the smallest change that would change the decision."""

from __future__ import annotations

from typing import Annotated

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
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Explain a network's decision at one input.

    Shows the linear function that applies there (coefficients, region, most important units) and the nearest input with
    another decision, with a proof. With --change: what would have to change for another decision.

    For example:
      creases explain net.onnx 0.2,0.5
      creases explain out/iris --row 120 --change --fixed "petal width"
    """
    from creases.cli.explain import _change, _text
    from creases.cli.explain._subject import load_subject

    wishes = {"target": target, "fixed": fixed, "rising": rising, "falling": falling}
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
