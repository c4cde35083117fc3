"""The command line: one file per verb."""

from __future__ import annotations

from typing import Annotated

import typer

from creases.cli.animate import animate_run
from creases.cli.compare import compare_networks
from creases.cli.console import Door
from creases.cli.demo import run_demo
from creases.cli.explain import explain_input
from creases.cli.grow import grow_table
from creases.cli.map import map_plane
from creases.cli.prune import prune_model
from creases.cli.report import write_report
from creases.cli.reproduce import reproduce_claims
from creases.cli.spline import fit_spline
from creases.cli.studio import open_studio
from creases.cli.sweep import app as sweep_app
from creases.versions import version

__all__ = ["app"]

app = typer.Typer(cls=Door, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("grow")(grow_table)
app.command("map")(map_plane)
# An input may begin with a minus sign: "-0.2,0.5" is no option.
app.command("explain", context_settings={"ignore_unknown_options": True})(explain_input)
app.command("compare")(compare_networks)
app.command("spline")(fit_spline)
app.add_typer(sweep_app, name="sweep")
app.command("prune")(prune_model)
app.command("reproduce")(reproduce_claims)
app.command("report")(write_report)
app.command("animate")(animate_run)
app.command("studio")(open_studio)
app.command("demo")(run_demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"creases {version('creases')}")
        raise typer.Exit


@app.callback()
def creases(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """ReLU networks as the exact piecewise-linear functions they are.

    Exit codes: 0 done, 2 bad input (one line says what), 130 interrupted, 1 anything else.
    """
