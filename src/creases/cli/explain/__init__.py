"""``creases explain``: the piece that decides one input, and the smallest change that would change the decision."""

from __future__ import annotations

from typing import Annotated

import typer

from creases.cli import _model as model
from creases.cli.console import print_json, show_progress
from creases.errors import InputError


def explain_input(
    model_: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help=f"The folder of a growth run (creases grow). Or {model.HELP[0].lower()}{model.HELP[1:]}",
            show_default=False,
        ),
    ],
    input_: Annotated[
        str | None,
        typer.Argument(metavar="INPUT", help="Comma-separated numbers, or an .npy file.", show_default=False),
    ] = None,
    row: Annotated[
        int | None, typer.Option(help="Instead of INPUT: a row of the growth run's table, from 0.", show_default=False)
    ] = None,
    change: Annotated[
        bool, typer.Option("--change", help="Find the smallest change that changes the decision.")
    ] = False,
    target: Annotated[
        str | None, typer.Option(metavar="CLASS", help="With --change: the class to reach.", show_default=False)
    ] = None,
    fixed: Annotated[
        str | None, typer.Option(metavar="A,B", help="With --change: columns that must stay.", show_default=False)
    ] = None,
    rising: Annotated[
        str | None, typer.Option(metavar="A,B", help="With --change: columns that may only rise.", show_default=False)
    ] = None,
    falling: Annotated[
        str | None, typer.Option(metavar="A,B", help="With --change: columns that may only fall.", show_default=False)
    ] = None,
    norm: Annotated[
        str,
        typer.Option(
            help="With --change: what is smallest, the sum of all changes (l1), their length (l2) or the "
            "largest (linf)."
        ),
    ] = "l1",
    count: Annotated[int, typer.Option(help="With --change: how many different answers.")] = 1,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="Time for each proof.")] = 5.0,
    input_shape: Annotated[str | None, typer.Option(metavar="C,H,W", help="Shape of one input.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Explain what a network does at one input.

    Shows the piece that holds there: coefficients, region, units that matter; and the nearest change of decision, with
    its proof. With --change: what would have to change for another decision.
    """
    from creases.cli.explain import _change, _text
    from creases.cli.explain._subject import load_subject

    wishes = {"target": target, "fixed": fixed, "rising": rising, "falling": falling}
    if not change:
        for name, value in wishes.items():
            if value is not None:
                raise InputError(name, "come with a search for a change", repr(value), "add {0}", [("change", True)])
    with show_progress(3) as begin:
        begin("reading the network")
        subject = load_subject(model_, input_, row, input_shape)
        if change:
            begin("finding the smallest change")
            answer = _change.find_change(subject, wishes, norm, count, budget)
        else:
            begin("finding the region")
            explanation = _text.explain_subject(subject, budget, begin)
    if change:
        print_json(_change.as_json_data(subject, answer)) if as_json else _change.print_change(subject, answer)
    elif as_json:
        print_json(explanation)
    else:
        _text.print_explanation(explanation)
