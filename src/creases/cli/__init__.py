"""The command line: one module or package for each command, imported when the command is called."""

from __future__ import annotations

import os
import traceback
import warnings
from importlib import import_module
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from creases._files import DISK_ERRORS
from creases.errors import CreasesError, FileError

__all__ = ["app"]

BAD_INPUT = 2

#: The exit code of a fault in creases, which is that of no answer of a command.
FAULT = 70

#: Where each command is defined, and the line that ``creases --help`` shows for it.
COMMANDS = {
    "fit": ("creases.cli.fit:fit_file", "Fit a model of a table that a person can read completely."),
    "grow": ("creases.cli.grow:grow_network", "Grow a network on data, each unit with its reason."),
    "predict": ("creases.cli.predict:predict_rows", "Predict new rows with the model of a table."),
    "export": ("creases.cli.export:export_file", "Write the model of a table as SQL, Python, Excel or ONNX."),
    "map": ("creases.cli.map:map_plane", "Map and draw every linear region of a network on a plane."),
    "describe": ("creases.cli.describe:describe_model", "Say what a network or the model of a table is."),
    "explain": ("creases.cli.explain:explain_input", "Explain a row's prediction, or a network's decision."),
    "verify": ("creases.cli.verify:verify_property", "Prove a property of a network, or find a counterexample."),
    "lipschitz": ("creases.cli.verify:bound_lipschitz", "Find the exact Lipschitz constant of a network in a box."),
    "check": ("creases.cli.check:check_proof_file", "Check a stored proof, by code that has nothing of the search."),
    "compare": ("creases.cli.compare:compare_networks", "Compare the decisions and coefficients of networks."),
    "spline": ("creases.cli.spline:fit_spline", "Fit a curve by the best piecewise-linear function."),
    "prune": ("creases.cli.prune:prune_model", "Shrink a network and keep its function or its accuracy."),
    "report": ("creases.cli.report:write_report", "Write what a command found as a single HTML page."),
    "animate": ("creases.cli.animate:animate_run", "Turn a run of creases grow into a GIF or MP4."),
    "studio": ("creases.cli.studio:open_studio", "Change the model of a table, or steer growth, in the browser."),
    "problems": ("creases.cli.problems:list_problems", "List the built-in data sets."),
    "demo": ("creases.cli.demo:run_demo", "Grow a small network, map its regions and draw them."),
}

# An input may begin with a minus sign: "-0.2,0.5" is not an option.
_SETTINGS: dict[str, dict[str, Any]] = {"explain": {"ignore_unknown_options": True}}


#: Commands for one table with options of their own.
TWINS = {"fit": "grow", "grow": "fit"}

#: Marks a context in which commands are only listed.
_OVERVIEW = object()


class LazyGroup(TyperGroup):
    """The group of all commands: imports a command when it is called, and prints a creases error as one line.

    Other packages add commands by entry points of the group ``creases.commands``.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*COMMANDS, *sorted(_plugins())]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options; flags that are not given are False, for which typer need not import pydantic."""
        options = super().get_params(ctx)
        for option in options:
            if getattr(option, "is_flag", False) and option.default is None:
                option.default = False
        return options

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; for the overview only its name and its summary are needed."""
        plugins = {} if cmd_name in COMMANDS else _plugins()
        if cmd_name not in COMMANDS and cmd_name not in plugins:
            return None
        if ctx.obj is _OVERVIEW:
            text = COMMANDS[cmd_name][1] if cmd_name in COMMANDS else ""
            if cmd_name in plugins and plugins[cmd_name].dist is not None:
                text = str(plugins[cmd_name].dist.metadata["Summary"])
            return TyperCommand(cmd_name, help=text)
        if cmd_name in plugins:
            return _to_command(cmd_name, plugins[cmd_name].load())
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return _to_command(cmd_name, getattr(import_module(module), name))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the overview."""
        ctx.obj = _OVERVIEW
        super().format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words of the command line, which commands repeat when they say what to do next."""
        from creases.cli.console import words

        words.set(tuple(args))
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete names of commands without importing the commands."""
        ctx.obj = _OVERVIEW
        return super().shell_complete(ctx, incomplete)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what creases refuses ends in one line, not in a traceback, and a warning is one line."""
        from creases.cli.console import note, print_error

        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: note(f"Warning: {message}")
                return super().invoke(ctx)
        except CreasesError as error:
            command = None if ctx.invoked_subcommand is None else self.get_command(ctx, ctx.invoked_subcommand)
            print_error(error, command)
            raise typer.Exit(BAD_INPUT) from None
        except Exception as error:
            twin, option = TWINS.get(str(ctx.invoked_subcommand)), getattr(error, "option_name", None)
            if twin and option and any(option in each.opts for each in self.get_command(ctx, twin).params):
                error.message += f"; it is one of creases {twin}"  # type: ignore[attr-defined]
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort | BrokenPipeError):
                raise
            if isinstance(error, OSError) and error.errno in DISK_ERRORS and error.filename is None:  # standard output
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # which Python writes to once more at the end
                print_error(FileError(f"the output cannot be written: {error.strerror}"), None)
                raise typer.Exit(BAD_INPUT) from None
            traceback.print_exc()
            raise typer.Exit(FAULT) from None


def _plugins() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group="creases.commands")}


def _to_command(name: str, function: Any) -> Any:
    if isinstance(function, typer.Typer):
        command = typer.main.get_command(function)
        command.name = name
    else:
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name, context_settings=_SETTINGS.get(name))(function)
        command = typer.main.get_command(single)
    for each in (command, *getattr(command, "commands", {}).values()):
        paragraphs = cleandoc(each.help or "").split("\n\n")  # that fill the width; indented lines stay
        each.help = "\n\n".join(part if "\n  " in part else " ".join(part.splitlines()) for part in paragraphs)
    return command


app = typer.Typer(cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        from creases._versions import version

        typer.echo(f"creases {version('creases')}")
        raise typer.Exit


@app.callback()
def creases(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Read ReLU networks exactly: see, grow, prune, compare and certify them.

    New here? Try: creases demo

    Exit codes: 0 success, 2 invalid input (one line says what is wrong), 130 interrupted, 70 a bug in
    creases; 1 any other failure, or the answer that a command names.
    """
