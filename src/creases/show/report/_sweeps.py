"""The report of a sweep: the folder of ``creases sweep`` in, one HTML file out."""

from __future__ import annotations

import shlex
from itertools import combinations, islice, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from creases.errors import FileError
from creases.lab import ERROR, KEY, SEED, Status, Sweep, format_duration
from creases.show.figures._sweeps import format_value, heatmap_cells, heatmap_size, plot_heatmap
from creases.show.report._pictures import both
from creases.show.report._still import check_name, write_sections
from creases.show.report._subject import Section
from creases.show.report._words import counted, number, whole

if TYPE_CHECKING:
    import pandas as pd

#: Heat maps, results that have tables, rows of a table of best and worst, and kinds of failures, at most.
MAPS, RESULTS, ROWS, FAILURES = 12, 4, 8, 10

#: Values of a parameter that have a column or a row each in a heat map, or a line in a table of means.
LEVELS = 40


def write_sweep_report(folder: Path, out: Path) -> Path:
    """Write the report of a sweep to an HTML file; the sweep may be at work, or have been stopped.

    Parameters
    ----------
    folder
        That ``creases sweep`` or :meth:`creases.lab.Sweep.run` wrote.
    """
    check_name(out)
    if not folder.is_dir():
        raise FileError(f"folder: there is no folder {folder}")
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
        _again(sweep, status),
    ]
    lead = f"{sweep.definition['function']}: {whole(status.done)} of {counted(status.jobs, 'job')} done"
    lead += f", {whole(status.failed)} failed." if status.failed else "."
    return write_sections(out, f"Sweep {folder.resolve().name}", lead, sections)


def _overview(sweep: Sweep, status: Status, table: pd.DataFrame) -> Section:
    """What was swept: how far it is, what it took, and the values of every parameter."""
    rows = [["done", f"{whole(status.done)} of {counted(status.jobs, 'job')}"]]
    rows += [["failed", whole(status.failed)]] if status.failed else []
    rows += [["left", whole(status.waiting)]] if status.waiting else []
    rows += [["at work on it", status.running]] if status.running else []
    seconds = sweep.job_seconds()
    if len(seconds):
        told = [_time(float(value)) for value in (seconds.sum(), np.median(seconds), seconds.max())]
        rows.append(["time of all jobs, of one (median), of the longest", ", ".join(told)])
    rows += [["rows of results", whole(len(table))], ["seed", str(sweep.seed)]]
    values: dict[str, dict[str, None]] = {}
    for job in sweep.jobs:
        for name, value in job.items():
            values.setdefault(name, {})[format_value(value)] = None
    rows += [[f"parameter {name}", _listed(list(own))] for name, own in values.items()]
    return {"title": "Overview", "table": {"columns": ["what", "value"], "rows": rows}}


def _time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 1 else format_duration(seconds)


def _listed(values: list[str], most: int = 12) -> str:
    """Values after one another; of many the first, and how many there are."""
    told = ", ".join(value or "none" for value in values[:most])
    return told if len(values) <= most else f"{told}, … ({len(values):,} values)"


def _heat_maps(table: pd.DataFrame, varied: list[str], results: list[str]) -> list[Section]:
    """Each result over pairs of parameters, as far as there is room."""
    wanted = product(results, combinations(varied, 2))
    sections: list[Section] = []
    for result, (first, second) in islice(wanted, MAPS):
        if not np.isfinite(table[result].to_numpy(np.float64)).any():
            continue
        x, y = sorted((first, second), key=lambda name: -table[name].map(format_value).nunique())

        def draw(x: str = x, y: str = y, result: str = result) -> Figure:
            from creases.show.style import new_figure

            figure, (ax,) = new_figure(*heatmap_size(heatmap_cells(table, x, y, result)))
            plot_heatmap(table, x, y, result, ax=ax)
            return figure

        sections.append({"title": f"{result} over {x} and {y}", "picture": both(draw)})
    left = len(results) * len(list(combinations(varied, 2))) - MAPS
    if left > 0 and sections:
        sections[-1]["text"] = f"{counted(left, 'more heat map')} can be drawn with creases sweep heat."
    return sections


def _means(table: pd.DataFrame, varied: list[str], results: list[str]) -> list[Section]:
    """For each parameter that varies, the mean of the results for each of its values."""
    sections: list[Section] = []
    shown = results[:RESULTS]
    for name in varied if shown else []:
        groups = table.groupby(table[name].map(format_value), sort=False)
        rows = [
            [str(value), whole(len(own)), *(number(float(own[result].mean())) for result in shown)]
            for value, own in groups
        ]
        columns = [name, "rows", *shown]
        sections.append({"title": f"Means by {name}", "table": {"columns": columns, "rows": rows}})
    return sections


def _extremes(table: pd.DataFrame, parameters: list[str], results: list[str]) -> list[Section]:
    """The rows with the highest and the lowest value of the first result; which is best, the report cannot know."""
    if not results:
        return []
    first, shown = results[0], results[:RESULTS]
    ordered = table[np.isfinite(table[first].to_numpy(np.float64))].sort_values(first, ascending=False, kind="stable")
    sections: list[Section] = []
    for title, own in ((f"Highest {first}", ordered), (f"Lowest {first}", ordered[::-1])):
        rows = [
            [format_value(row[name]) or "–" for name in (*parameters, *shown)] for _, row in own.head(ROWS).iterrows()
        ]
        sections.append({"title": title, "table": {"columns": [*parameters, *shown], "rows": rows}})
    return sections if len(ordered) else []


def _failures(sweep: Sweep, failures: pd.DataFrame) -> list[Section]:
    """Each kind of error with how often it occurred and the first job it stopped; of the first, the traceback."""
    if failures.empty:
        return []
    jobs = dict(zip(sweep.keys, sweep.jobs, strict=True))
    rows = []
    lines = failures[ERROR].map(lambda text: text.splitlines()[-1])
    for line, own in islice(failures.groupby(lines, sort=False), FAILURES):
        job = ", ".join(f"{name} {format_value(value)}" for name, value in jobs[own[KEY].iloc[0]].items())
        rows.append([str(line), whole(len(own)), job])
    text = f"{counted(len(failures), 'job')} failed; they are done again when the sweep is run again."
    table = {"columns": ["error", "jobs", "the first"], "rows": rows}
    return [{"title": "Failures", "text": text, "table": table, "code": str(failures[ERROR].iloc[0])}]


def _again(sweep: Sweep, status: Status) -> Section:
    """How to go on with it, and to take its results along."""
    python = f"from creases.lab import Sweep\nsweep = Sweep.open({str(sweep.folder)!r})"
    if status.done < status.jobs:
        text = "The sweep has not ended. Give the command that began it again, or go on with it in Python; then:"
        python += "\nsweep.run()"
    else:
        text = "All jobs are done. Their results, in Python or as a file:"
    command = shlex.join(["creases", "sweep", "table", str(sweep.folder), "--out", "table.csv"])
    return {"title": "Its results", "text": text, "code": f"{python}\nsweep.table()\n\n{command}"}
