"""Output of all commands, also of those that other packages add: results on stdout, progress and errors on stderr."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from creases._document import Document
from creases.errors import CreasesError, InputError

#: Characters that a terminal obeys: control characters, and those that turn the direction of text.
_OBEYED = re.compile("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")


class _Console(Console):
    """A console that shows what a terminal would obey as Python writes it: names of tables may have any characters."""

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        for part in super().render(*arguments, **options):
            shown = _OBEYED.sub(lambda match: ascii(match[0])[1:-1], part.text)
            yield part if part.control else Segment(shown, part.style)


def _console(*, stderr: bool = False) -> Console:
    """Return a console that prints no escape codes, not even bold ones, where NO_COLOR is set."""
    if os.environ.get("NO_COLOR"):
        return _Console(stderr=stderr, highlight=False, color_system=None)
    return _Console(stderr=stderr, highlight=False)


out = _console()
err = _console(stderr=True)

#: Exit code of a command that was interrupted.
INTERRUPTED = 130

#: The words of the command line after ``creases``.
words: ContextVar[Sequence[str]] = ContextVar("words", default=())


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


#: Parameters of commands, and what functions call the same.
IN_PYTHON = {
    "model": ("net", "network"),
    "property": ("prop",),
    "result": ("path",),
    "out": ("path",),
    "table": ("data",),
    "x": ("inputs",),
}


def _options(command: Any) -> dict[str, Any]:
    """Return the parameters of a command and of its sub-commands, by their names in Python and by their options."""
    options: dict[str, Any] = {}
    for option in getattr(command, "params", ()):
        for name in (option.name.rstrip("_"), *(opt.lstrip("-").replace("-", "_") for opt in option.opts)):
            options.setdefault(name, option)
    for name, others in IN_PYTHON.items():
        options |= {other: options[name] for other in others if name in options and other not in options}
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
    return str(max(option.opts, key=len))


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


def option(metavar: str, help: str, flag: str = "", **more: Any) -> Any:
    """Return an option of a command: what stands for its value, what it is, and its flag if that is not its name."""
    return typer.Option(*filter(None, [flag]), metavar=metavar or None, help=help, **more)


def argument(metavar: str, help: str, **more: Any) -> Any:
    """Return an argument of a command: what stands for it in a line of usage, and what it is."""
    return typer.Argument(metavar=metavar, help=help, **more)


def option_panels(*names: str) -> Iterator[partial[Any]]:
    """Yield for each name an :func:`option` whose help stands in the panel of that name."""
    return (partial(option, rich_help_panel=name) for name in names)


@contextmanager
def show_progress(steps: int) -> Iterator[Callable[..., None]]:
    """Show a bar of so many steps on stderr, at a terminal only.

    Call what it yields with each step's name as the step begins, or hand it to a function as its
    :data:`~creases._typing.Progress`: the same name again, with numbers, updates the step.
    """
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("", total=steps)
        steps_begun: list[str] = []

        def begin(what: str, done: int = 0, total: int | None = None) -> None:
            if what not in steps_begun:
                steps_begun.append(what)
            count = f": {done:,} of {total:,}" if total is not None else f": {done:,}" if done else ""
            bar.update(task, description=what + count, completed=steps_begun.index(what))

        yield begin


@contextmanager
def divert_stdout() -> Iterator[None]:
    """Send what compiled libraries print on stdout to stderr: HiGHS prints a line for some programs."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def note(text: str) -> None:
    """Print a line on stderr."""
    err.print(_plain(text), style="dim", soft_wrap=True)


def load_kernels() -> None:
    """Load the kernels of the plane before work that is timed; say so if they must be compiled."""
    from creases.regions import compile_kernels

    compile_kernels(announce_compiling)


def announce_compiling() -> None:
    """Say that kernels are compiled, which takes seconds, once."""
    note("Compiling kernels (once per machine)…")


def print_next(command: str, why: str = "") -> None:
    """Print what to do next, after an empty line: a command to copy, and what it is for."""
    comment = f"  [dim]# {escape(why)}[/]" if why else ""
    out.print(f"\nNext: [bold]{escape(command)}[/]{comment}", soft_wrap=True)


def command(*parts: object) -> str:
    """Return a command of creases as it can be typed: names with spaces are quoted."""
    return shlex.join(["creases", *map(str, parts)])


def repeat_command(*more: str) -> str:
    """Return the command line that is running, as it can be typed again, with more options."""
    return command(*words.get(), *more)


def print_json(value: dict[str, Any]) -> None:
    """Print a result as JSON on stdout; with ``--json`` nothing else goes there."""
    typer.echo(json.dumps(value, indent=2))


def print_facts(document: Document, more: Sequence[tuple[str, str]] = ()) -> None:
    """Print the first section of a document, names and what is said of each, and more of them."""
    section = document.sections[0]
    print_table(section["title"], [*((name, said) for name, said in section["table"]["rows"]), *more])


def print_table(
    title: str, rows: list[tuple[str, ...]], heads: tuple[str, ...] | None = None, *, left: tuple[int, ...] = (0,)
) -> None:
    """Print a table; without heads, its columns are names and values. ``left`` are the columns of text."""
    out.print(escape(title), style="bold", soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=heads is not None, header_style="dim")
    for i, head in enumerate(heads or ("", "")):
        table.add_column(
            head, justify="right" if heads and i not in left else "left", style="dim" if not (heads or i) else None
        )
    for row in rows:
        table.add_row(*map(escape, row))
    out.print(table)
