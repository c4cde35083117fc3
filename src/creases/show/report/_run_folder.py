"""Reports of the folders that ``creases grow`` writes: a folder in, one HTML file out."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from creases._typing import Progress
from creases.show.report._page import ReportSummary
from creases.tables import RunFile


def write_growth_report(
    folder: str | Path,
    path: str | Path,
    *,
    columns: Sequence[str] = (),
    through: Sequence[str] = (),
    progress: Progress | None = None,
) -> ReportSummary:
    """Write the report of the growth run in a folder to an HTML file.

    Parameters
    ----------
    folder
        A folder that ``creases grow`` wrote; the run may have been interrupted.
    columns, through
        Slices of a problem of more than two inputs: pairs of columns (``"length,width"``), planes through three rows
        (``"3,17,40"``). By default pairs of the columns that matter most, and a plane through typical rows.
    progress
        Called as each step begins.

    Returns
    -------
    ReportSummary
        Size and content of the report.
    """
    if progress is not None:
        progress("reading the run", 0, None)
    from creases.show.report._growth import write_run_report  # imports the growth methods
    from creases.tables import load_run

    run, name = load_run(Path(folder)), Path(folder).resolve().name
    arguments = [word for text in columns for word in ("--columns", text)]
    arguments += [word for text in through for word in ("--through", text)]
    again = (
        f"{run.settings.command(name)}\n{shlex.join(['creases', 'report', name, '--out', 'report.html', *arguments])}"
    )
    options: dict[str, Any] = {"columns": columns, "through": through, "progress": progress}
    return write_run_report(run, path, model=f"{name}/{RunFile.MODEL}", again=again, **options)
