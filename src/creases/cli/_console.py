"""What the verbs share at the terminal: results on stdout, progress and errors on stderr, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from creases.errors import CreasesError, InputError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_error(error: CreasesError, command: Any = None) -> None:
    """Print an error as one line on stderr, in the words of the command that raised it.

    An :class:`~creases.errors.InputError` names parameters of Python; here they become the command's options.
    """
    text = str(error)
    if isinstance(error, InputError):
        options = _options(command)
        text = error.render(
            lambda param: _option_name(options, param), lambda param, value: _option_setting(options, param, value)
        )
    err.print(f"[bold red]error:[/] {_plain(text)}", soft_wrap=True)


def _options(command: Any) -> dict[str, Any]:
    """Return the parameters of a command and of its sub-commands by their names in Python."""
    options = {option.name.rstrip("_"): option for option in getattr(command, "params", ())}
    for sub_command in getattr(command, "commands", {}).values():
        options = _options(sub_command) | options
    return options


def _option_name(options: dict[str, Any], param: str) -> str:
    """Return how the command line writes a parameter: ``--target``, ``MODEL``; the name itself if it has no option."""
    option = options.get(param)
    if option is None:
        return param
    if option.param_type_name == "argument":
        return str(option.metavar or option.name.upper()).rstrip(".")
    return max(option.opts, key=len)


def _option_setting(options: dict[str, Any], param: str, value: object) -> str:
    """Return how the command line gives a parameter a value: ``--missing drop``, ``--no-header``."""
    option = options.get(param)
    if option is None:
        return f"{param}={value!r}"
    if isinstance(value, bool):
        return str((option.opts if value or not option.secondary_opts else option.secondary_opts)[0])
    return f"{_option_name(options, param)} {value}"


def _plain(text: str) -> str:
    return escape(" ".join(text.split()))


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str], None]]:
    """A bar of so many steps on stderr, at a terminal only; call the function with each step's name as it begins.

    A name that begins with the one before goes on with the same step: "finding regions", "finding regions: 120 so far".
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("", total=steps)
        begun: list[str] = []

        def begin(name: str) -> None:
            if not begun or not name.startswith(begun[-1]):
                begun.append(name)
            bar.update(task, description=name, completed=len(begun) - 1)

        yield begin


def note(text: str) -> None:
    """A line on stderr."""
    err.print(_plain(text), style="dim", soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """A result for machines on stdout: nothing else goes there with ``--json``."""
    typer.echo(json.dumps(value, indent=2))


def print_table(title: str, rows: list[tuple[str, ...]], heads: tuple[str, ...] | None = None) -> None:
    """A table for people; without heads, names and values."""
    out.print(escape(title), style="bold", soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=heads is not None, header_style="dim")
    for i, head in enumerate(heads or ("", "")):
        table.add_column(head, justify="right" if heads and i else "left", style="dim" if not (heads or i) else None)
    for row in rows:
        table.add_row(*map(escape, row))
    out.print(table)
