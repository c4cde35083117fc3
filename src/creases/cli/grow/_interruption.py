"""What is said after Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from creases.cli.console import INTERRUPTED, note


def interruptible(home: Path, work: Callable[[], Any]) -> Any:
    """Do the work; say how to resume it after Ctrl-C."""
    try:
        return work()
    except KeyboardInterrupt:
        from creases.tables import RunFile

        if (home / RunFile.SETTINGS).exists():
            note(f"Interrupted. Resume with: creases grow --resume {home}")
        raise typer.Exit(INTERRUPTED) from None
