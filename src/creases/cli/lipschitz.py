"""``creases lipschitz``: by how much the outputs of a network can change in a box."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from creases.cli import _model as model
from creases.cli._arguments import parse_box, parse_shape
from creases.cli._options import AsJson, InputShape, Model
from creases.cli._sections import print_document
from creases.cli.console import command, divert_stdout, err, out, show_progress
from creases.errors import InputError


class Norm(StrEnum):
    """Norms of inputs and outputs."""

    L1, L2, LINF = "l1", "l2", "linf"


def bound_lipschitz(
    model_: Model,
    box: Annotated[
        str, typer.Option(metavar="LO,HI[,...]", help="An interval for all inputs, or one for each: -1,1,0,2.")
    ] = "-1,1",
    norm: Annotated[Norm, typer.Option(metavar="NAME", help="l1, l2 or linf, of inputs and outputs.")] = Norm.L2,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit in seconds.")] = 60.0,
    proof: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a proof of both ends (.json or .json.gz).")
    ] = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
) -> None:
    """Find the exact Lipschitz constant of a network in a box.

    It is the largest operator norm of the Jacobian of any region in the box, printed with an input of such a region; or
    both ends, proved, when the time is over.
    """
    with show_progress(2) as begin:
        begin("reading the network")
        from creases.certify import lipschitz
        from creases.certify.proofs import save_proof

        net = model.load_model(model_, parse_shape(input_shape))
        begin("bounding the Jacobian")
        ends = parse_box(box)
        with divert_stdout():
            constant = lipschitz(net, ends[0] if len(ends) == 1 else ends, norm.value, budget=budget, progress=begin)
        if proof is not None:
            if constant.proof is None:
                raise InputError("budget", "leave time for a finite bound, of which a proof is", f"{budget:g}")
            save_proof(constant.proof, proof)
            err.print(f"proof written to {proof}; check it with: {command('check', proof, model_)}", soft_wrap=True)
    print_document(constant.describe(), as_json=as_json, style="bold")
    if not as_json:
        out.print(f"[dim]{constant.seconds:.2f} s[/]")
