"""The progress bar of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from creases.lab._sweeps.eta import TimeLeft, format_time_left

if TYPE_CHECKING:
    from rich.progress import Task
    from rich.text import Text

Show = Callable[[int, int, TimeLeft | None], None]  #: called with the jobs done, those that failed, and the time left


@contextmanager
def progress_bar(total: int, done: int, *, enabled: bool = True) -> Iterator[Show]:
    """Show a bar on stderr, at a terminal only; call the yielded function when chunks are finished."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
    from rich.text import Text

    class TimeLeftColumn(ProgressColumn):
        """The time left, counted down from the last estimate."""

        def render(self, task: Task) -> Text:
            return Text(format_time_left(task.fields["left"], monotonic() - task.fields["at"]), style="dim")

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TextColumn("jobs{task.fields[failed]}"), TimeLeftColumn()
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not (enabled and console.is_terminal)) as bar:
        task = bar.add_task("", total=total, completed=done, failed="", left=None, at=monotonic())

        def show(done: int, failed: int, left: TimeLeft | None) -> None:
            text = f", [red]{failed} failed[/]" if failed else ""
            bar.update(task, completed=done, failed=text, left=left, at=monotonic())

        yield show
