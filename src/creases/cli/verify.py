"""``creases verify`` and ``creases lipschitz``: whether a property of a VNN-LIB file holds; how steep a network is."""

from __future__ import annotations

import shlex
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from creases.cli import _model as model
from creases.cli._arguments import parse_box, parse_shape
from creases.cli._options import (
    Address,
    AsJson,
    Engine,
    InputShape,
    Model,
    check_file,
    check_model,
    complete_files,
    complete_model,
)
from creases.cli._sections import print_document
from creases.cli.console import (
    argument,
    command,
    divert_stdout,
    err,
    option,
    out,
    print_next,
    repeat_command,
    show_progress,
)
from creases.errors import InputError

#: Inputs up to which a counterexample is repeated in a command.
SHORT = 10

#: Share of the time limit that the search has at least, however long files took to read.
LEAST_TIME = 0.1

#: The exit code of each answer.
EXIT_CODES = {"holds": 0, "violated": 1, "unknown": 3}  # 2 is invalid input, as for every command

#: Norms of inputs and outputs.
Norm = StrEnum("Norm", ["l1", "l2", "linf"])

Budget = Annotated[float, option("SECONDS", "Time limit in seconds.")]
ProofFile = Annotated[Path | None, option("FILE", "Write a proof of the answer (.json or .json.gz).", "--proof")]


def verify_property(
    model_: Model,
    property_: Annotated[
        Path,
        argument(
            "PROPERTY", "A VNN-LIB file (.vnnlib).", autocompletion=complete_files(".vnnlib"), callback=check_file
        ),
    ],
    other: Annotated[
        str | None,
        option(
            "MODEL",
            "The second network of a property about two; default: the first one again.",
            autocompletion=complete_model,
            callback=check_model,
        ),
    ] = None,
    budget: Budget = 60.0,
    proof: ProofFile = None,
    n_jobs: Annotated[
        int | None, option("N", "Processes that share the search; default: this one alone.", "--jobs")
    ] = None,
    engine: Annotated[
        Engine | None,
        option("NAME", "Where the search runs: serial (this process), local processes or ray; with --jobs local."),
    ] = None,
    address: Address = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
) -> None:
    """Prove a property of a network, or find a counterexample.

    A VNN-LIB file states what must not happen (the negation of the property). The property holds if no input satisfies
    the file ("unsat" in the VNN competition) and is violated by an input that does ("sat"); that input is printed with
    the network's outputs.

    Exit codes: 0 holds, 1 violated, 3 unknown (out of time). Invalid input is 2, with one line on stderr and nothing
    on stdout.
    """
    if not budget > 0:
        raise InputError("budget", "be a positive number of seconds", f"{budget:g}")
    start = time.monotonic()
    with show_progress(3) as begin:
        begin("reading the property")
        from creases.certify.properties import read_vnnlib, verify

        prop = read_vnnlib(property_)
        begin("reading the network")
        net: Any = model.load_model(model_, parse_shape(input_shape))
        if prop.networks:
            net = (net, net if other is None else model.load_model(other, parse_shape(input_shape)))
        elif other is not None:
            raise InputError("other", "be left out: the property is about one network", repr(other))
        begin("checking cases")
        with divert_stdout():
            where: dict[str, Any] = {"engine": engine and engine.value, "n_jobs": n_jobs, "address": address}
            left = max(budget - (time.monotonic() - start), LEAST_TIME * budget)
            verdict = verify(net, prop, budget=left, proof=proof is not None, progress=begin, **where)
        if proof is not None:
            _write_proof(verdict, proof, model_)
    print_document(verdict.describe(), as_json=as_json, style="bold", cases=len(prop.cases))
    if not as_json:
        out.print(f"[dim]{verdict.seconds:.2f} s[/]")
        _print_next(model_, property_, budget, verdict)
    raise typer.Exit(EXIT_CODES[verdict.status])


def bound_lipschitz(
    model_: Model,
    box: Annotated[str, option("LO,HI[,...]", "For all inputs, or a pair for each.")] = "-1,1",
    norm: Annotated[Norm, option("NAME", "l1, l2 or linf, of inputs and outputs.")] = Norm.l2,
    budget: Budget = 60.0,
    proof: ProofFile = None,
    input_shape: InputShape = None,
    as_json: AsJson = False,
) -> None:
    """Find the exact Lipschitz constant of a network in a box.

    It is the largest operator norm of the Jacobian of any region in the box, printed with an input of such a region; or
    both ends, proved, when the time is over.
    """
    ends = parse_box(box)
    with show_progress(2) as begin:
        begin("reading the network")
        from creases.certify import lipschitz

        net = model.load_model(model_, parse_shape(input_shape))
        begin("bounding the Jacobian")
        with divert_stdout():
            options: dict[str, Any] = {"norm": norm.value, "budget": budget, "progress": begin}
            constant = lipschitz(net, ends[0] if len(ends) == 1 else ends, **options)
        if proof is not None:
            _write_proof(constant, proof, model_)
    print_document(constant.describe(), as_json=as_json, style="bold")


def _write_proof(verdict: Any, path: Path, model_: str) -> None:
    from creases.certify.proofs import save_proof

    if verdict.proof is not None:
        save_proof(verdict.proof, path)
        err.print(f"proof written to {path}; check it with: {command('check', path, model_)}", soft_wrap=True)
    else:
        err.print(f"no proof is written: {verdict.proof_note}", soft_wrap=True)


def _print_next(model_: str, property_: Path, budget: float, verdict: Any) -> None:
    """Print what to do with the answer."""
    if verdict.status == "unknown":
        print_next(command("verify", model_, property_, "--budget", f"{10 * budget:g}"), "allow ten times as long")
    elif verdict.counterexample is not None and len(verdict.counterexample) <= SHORT:
        point = ",".join(f"{value:.6g}" for value in verdict.counterexample.tolist())
        print_next(shlex.join(["creases", "explain", model_, point]), "the region of the counterexample")
    elif verdict.status == "holds":
        print_next(command("prune", model_, "--out", "small.safetensors"), "a smaller network with the same function")
    else:
        print_next(repeat_command("--json"), "the counterexample as JSON")
