"""Reports of sweeps: a folder in, one HTML file out."""

from __future__ import annotations

import shlex
from itertools import combinations, islice, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from creases.errors import FileError
from creases.lab import ERROR, KEY, SEED, Status, Sweep, format_duration
from creases.show._figures._sweeps import format_value, heatmap_cells, heatmap_size, plot_heatmap
from creases.show.report._formatting import Section, format_float, format_integer, pluralize
from creases.show.report._rendering import render_themes
from creases.show.report._static_pages import check_html_name, write_sections

if TYPE_CHECKING:
    import pandas as pd

#: Largest numbers of heat maps, results in tables, rows of extreme results, and kinds of failures.
MAPS, RESULTS, ROWS, FAILURES = 12, 4, 8, 10

#: Largest number of values of a parameter in a heat map or a table of means.
LEVELS = 40


def write_sweep_report(folder: Path, out: Path) -> Path:
    """Write the report of a sweep to an HTML file; the sweep may be running or interrupted.

    Parameters
    ----------
    folder
        A folder that ``creases sweep`` or :meth:`creases.lab.Sweep.run` wrote.
    out
        The HTML file to write.
    """
    check_html_name(out)
    if not folder.is_dir():
        raise FileError(f"cannot read {folder}: there is no such folder")
    sweep = Sweep.open(folder)
    status, table, failures = sweep.status(), sweep.table(), sweep.failures()
    parameters = [name for name in dict.fromkeys(name for job in sweep.jobs for name in job) if name in table.columns]
    varied = [name for name in parameters if 2 <= table[name].map(format_value).nunique() <= LEVELS]
    others = [name for name in table.columns if name not in (*parameters, KEY, SEED)]
    results = [name for name in others if table[name].dtype.kind in "iufb"]
    sections = [
        _overview(sweep, status, table),
        *_heat_maps(table, varied, results),
        *_means(table, varied, results),
        *_extremes(table, [name for name in parameters if table[name].map(format_value).nunique() > 1], results),
        *_failures(sweep, failures),
        _next_steps(sweep, status),
    ]
    lead = f"{sweep.definition['function']}: {format_integer(status.done)} of {pluralize(status.jobs, 'job')} done"
    lead += f", {format_integer(status.failed)} failed." if status.failed else "."
    return write_sections(out, f"Sweep {folder.resolve().name}", lead, sections)


def _overview(sweep: Sweep, status: Status, table: pd.DataFrame) -> Section:
    """Return the overview: progress, time, and the values of every parameter."""
    rows = [["done", f"{format_integer(status.done)} of {pluralize(status.jobs, 'job')}"]]
    rows += [["failed", format_integer(status.failed)]] if status.failed else []
    rows += [["left", format_integer(status.waiting)]] if status.waiting else []
    rows += [["running on", status.running]] if status.running else []
    seconds = sweep.job_seconds()
    if len(seconds):
        times = [_format_time(float(value)) for value in (seconds.sum(), np.median(seconds), seconds.max())]
        rows.append(["time: total, median job, longest job", ", ".join(times)])
    rows += [["result rows", format_integer(len(table))], ["seed", str(sweep.seed)]]
    values: dict[str, dict[str, None]] = {}
    for job in sweep.jobs:
        for name, value in job.items():
            values.setdefault(name, {})[format_value(value)] = None
    rows += [[f"parameter {name}", _format_list(list(listed))] for name, listed in values.items()]
    return {"title": "Overview", "table": {"columns": ["", ""], "rows": rows}}


def _format_time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 1 else format_duration(seconds)


def _format_list(values: list[str], max_values: int = 12) -> str:
    """Return the values separated by commas; of many the first ones and their number."""
    text = ", ".join(value or "none" for value in values[:max_values])
    return text if len(values) <= max_values else f"{text}, … ({len(values):,} values)"


def _heat_maps(table: pd.DataFrame, varied: list[str], results: list[str]) -> list[Section]:
    """Return heat maps of the results over pairs of parameters."""
    pairs = product(results, combinations(varied, 2))
    sections: list[Section] = []
    for result, (first, second) in islice(pairs, MAPS):
        if not np.isfinite(table[result].to_numpy(np.float64)).any():
            continue
        x, y = sorted((first, second), key=lambda name: -table[name].map(format_value).nunique())

        def draw(x: str = x, y: str = y, result: str = result) -> Figure:
            from creases.show._style import new_figure

            figure, (ax,) = new_figure(*heatmap_size(heatmap_cells(table, x, y, result)))
            plot_heatmap(table, x, y, result, ax=ax)
            return figure

        sections.append({"title": f"{result} over {x} and {y}", "picture": render_themes(draw)})
    left = len(results) * len(list(combinations(varied, 2))) - MAPS
    if left > 0 and sections:
        sections[-1]["text"] = f"{pluralize(left, 'more heat map')} can be drawn with: creases sweep heat"
    return sections


def _means(table: pd.DataFrame, varied: list[str], results: list[str]) -> list[Section]:
    """Return the mean results for each value of each varied parameter."""
    sections: list[Section] = []
    selected = results[:RESULTS]
    for name in varied if selected else []:
        groups = table.groupby(table[name].map(format_value), sort=False)
        rows = [
            [
                str(value),
                format_integer(len(group)),
                *(format_float(float(group[result].mean())) for result in selected),
            ]
            for value, group in groups
        ]
        columns = [name, "rows", *selected]
        sections.append({"title": f"Means by {name}", "table": {"columns": columns, "rows": rows}})
    return sections


def _extremes(table: pd.DataFrame, parameters: list[str], results: list[str]) -> list[Section]:
    """Return the rows with the highest and the lowest values of the first result; either may be best."""
    if not results:
        return []
    first, selected = results[0], results[:RESULTS]
    ordered = table[np.isfinite(table[first].to_numpy(np.float64))].sort_values(first, ascending=False, kind="stable")
    sections: list[Section] = []
    for title, group in ((f"Highest {first}", ordered), (f"Lowest {first}", ordered[::-1])):
        rows = [
            [format_value(row[name]) or "–" for name in (*parameters, *selected)]
            for _, row in group.head(ROWS).iterrows()
        ]
        sections.append({"title": title, "table": {"columns": [*parameters, *selected], "rows": rows}})
    return sections if len(ordered) else []


def _failures(sweep: Sweep, failures: pd.DataFrame) -> list[Section]:
    """Return the kinds of errors with their counts and first jobs, and the first traceback."""
    if failures.empty:
        return []
    jobs = dict(zip(sweep.keys, sweep.jobs, strict=True))
    rows = []
    lines = failures[ERROR].map(lambda text: text.splitlines()[-1])
    for line, group in islice(failures.groupby(lines, sort=False), FAILURES):
        job = ", ".join(f"{name} {format_value(value)}" for name, value in jobs[group[KEY].iloc[0]].items())
        rows.append([str(line), format_integer(len(group)), job])
    text = f"{pluralize(len(failures), 'job')} failed. Run the sweep again to retry them."
    table = {"columns": ["error", "jobs", "first job"], "rows": rows}
    return [{"title": "Failures", "text": text, "table": table, "code": str(failures[ERROR].iloc[0])}]


def _next_steps(sweep: Sweep, status: Status) -> Section:
    """Return how to continue the sweep and how to get its results."""
    python = f"from creases.lab import Sweep\nsweep = Sweep.open({str(sweep.folder)!r})"
    if status.done < status.jobs:
        text = "The sweep is not finished. Rerun the command that started it, or continue it in Python:"
        python += "\nsweep.run()"
    else:
        text = "All jobs are done. Load the results in Python, or write them to a file:"
    command = shlex.join(["creases", "sweep", "table", str(sweep.folder), "--out", "table.csv"])
    return {"title": "Results", "text": text, "code": f"{python}\nsweep.table()\n\n{command}"}
