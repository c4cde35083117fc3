"""``creases check``: whether a proof shows what it states about a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from creases.cli import _model as model
from creases.cli._arguments import parse_shape
from creases.cli._options import AsJson, InputShape, Model, complete_files, complete_model
from creases.cli._sections import print_document
from creases.cli.console import INTERRUPTED, argument, err, option, show_progress

#: The exit code of a proof that is refused.
REFUSED = 1

#: Of the line that says whether a proof is verified.
STYLES = {True: "bold green", False: "bold red"}


def check_proof_file(
    proof: Annotated[
        Path, argument("PROOF", "A proof (.json or .json.gz).", autocompletion=complete_files(".json", ".gz"))
    ],
    model_: Model,
    other: Annotated[
        str | None, argument("OTHER", "The second network of a proof about two.", autocompletion=complete_model)
    ] = None,
    property_: Annotated[
        Path | None,
        option(
            "FILE",
            "Refuse a proof that is not about the property of this VNN-LIB file.",
            "--property",
            autocompletion=complete_files(".vnnlib"),
        ),
    ] = None,
    statement: Annotated[
        Path | None,
        option(
            "FILE",
            "Refuse a proof that does not state what this JSON file does: the statement of a proof file.",
            autocompletion=complete_files(".json"),
        ),
    ] = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
) -> None:
    """Check a stored proof, by code that has nothing of the search.

    Everything is checked in arithmetic that rounding cannot break: points in fractions, bounds in float64 with a limit
    of every rounding, and in fractions where that does not decide. The network means its function of real numbers, with
    the float64 values of its weights; the tolerance is zero. The text names what is verified: read it, or give what it
    must be by --property or --statement. A statement that says nothing, since no input is allowed, is called vacuous.

    Exit codes: 0 verified, 1 refused, 2 invalid input, 130 interrupted.
    """
    done = (0, 0)
    with show_progress(3) as begin:

        def report(what: str, count: int, total: int | None) -> None:
            nonlocal done
            done = count, total or 0
            if count % 64 == 0 or count == total:
                begin(what, count, total)

        begin("reading the proof")
        from creases.certify.proofs import CheckResult, check_proof, load_proof

        loaded = load_proof(proof)
        prop = None
        if property_ is not None:
            from creases.certify.properties import read_vnnlib

            prop = read_vnnlib(property_)
            if not prop.is_statement_of(loaded):
                refused = CheckResult(False, f"the proof is not about the property of {property_}", 0, 0.0)
                print_document(refused.describe(), as_json=as_json, style=STYLES[False])
                raise typer.Exit(REFUSED)
        begin("reading the network")
        shape = parse_shape(input_shape)
        net: Any = model.load_model(model_, shape)
        second = None if other is None else model.load_model(other, shape)
        if prop is not None:
            from creases.certify.properties import match_networks

            net, second = match_networks(net, second, prop), None
        try:
            result = check_proof(loaded, net, second, statement=statement, progress=report)
        except KeyboardInterrupt:
            err.print(f"interrupted: {done[0]:,} of {done[1]:,} nodes checked, none refused", soft_wrap=True)
            raise typer.Exit(INTERRUPTED) from None
    print_document(result.describe(), as_json=as_json, style=STYLES[result.verified])
    raise typer.Exit(0 if result else REFUSED)
