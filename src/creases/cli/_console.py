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

from creases.errors import CreasesError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def print_error(error: CreasesError) -> None:
    """Print an error as one line on stderr."""
    err.print(f"[bold red]error:[/] {_plain(str(error))}", soft_wrap=True)


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
