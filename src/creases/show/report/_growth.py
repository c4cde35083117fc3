"""Reports of networks that grew on a table: a run or its folder in, one HTML file out."""

from __future__ import annotations

import shlex
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Progress
from creases.errors import InputError
from creases.growth.methods.folding import fold_entries
from creases.regions import plane
from creases.show._viewer._run import moment_json, run_json
from creases.show.report._growth_sections import DETAILS, growth_sections
from creases.show.report._page import ReportSummary, write_page
from creases.show.report._quality import hardest_rows, headline
from creases.show.report._slices import Slice, choose_slices, multiply_slices, slice_frame, slices_json, table_rows
from creases.show.report._subject import map_box
from creases.tables import RunFile, SavedRun, Snapshot, baselines, data_box, load_run

if TYPE_CHECKING:
    from creases.regions import LinePartition, PlanePartition


#: Largest size of all frames together, compressed, in bytes; base64 adds a third in the file.
BUDGET = 3_000_000

#: Number of moments that must fit; otherwise fewer slices are shown.
TIMES = 20

#: Largest number of frames: a moment has one for each slice.
FRAMES = 240

#: Largest number of samples shown: on the input space, and on slices, where every frame has them.
ROWS, ROWS_ON_SLICES = 2000, 500

#: Largest number of values of all samples shown.
NUMBERS = 60_000


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
    (progress or _ignore)("reading the run", 0, None)
    run, name = load_run(Path(folder)), Path(folder).resolve().name
    arguments = [word for text in columns for word in ("--columns", text)]
    arguments += [word for text in through for word in ("--through", text)]
    again = (
        f"{run.settings.command(name)}\n{shlex.join(['creases', 'report', name, '--out', 'report.html', *arguments])}"
    )
    options: dict[str, Any] = {"columns": columns, "through": through, "progress": progress}
    return write_run_report(run, path, model=f"{name}/{RunFile.MODEL}", again=again, **options)


def write_run_report(
    run: SavedRun,
    path: str | Path,
    *,
    model: str,
    again: str,
    columns: Sequence[str] = (),
    through: Sequence[str] = (),
    progress: Progress | None = None,
) -> ReportSummary:
    """Write the report of a growth run in memory, with options as in :func:`write_growth_report`.

    ``model`` is the file of the network, ``again`` are commands or code that repeat the run.
    """
    report, problem = progress or _ignore, run.data.problem
    if not run.history.epochs:
        raise InputError("run", "have at least one epoch", "none")
    planes = choose_slices(run.net, run.data, columns, through)
    category, multiples = multiply_slices(run.net, run.data, planes[0]) if planes else ("", [])
    models = baselines(run.net, run.data, threshold=run.threshold)
    rows = _choose_rows(run, models[0].predictions)
    report("mapping the network", 0, None)
    if not columns and not through:
        planes = _drop_slices(run, planes, rows)
    planes = [*planes, *multiples]
    frames, moments, last = _replay(run, planes, rows, report)
    report("analyzing the network", 0, None)
    sections = growth_sections(run, models, last, model, again)
    counts = {"moments": (len(moments), len(run.snapshots)), "rows": (len(rows), len(run.data.problem.X))}
    sections.append({**_about(counts, planes), "group": DETAILS})
    content = run_json(
        run.data,
        run.settings,
        run.history,
        moments,
        rows=rows,
        sections=sections,
    )
    content |= slices_json(planes, category)
    content["lead"] = headline(problem.target, problem.X.shape[1], problem.task, models)
    content["kept"] = run.epoch  # an unfinished run has a network to report, too
    report("writing the page", 0, None)
    write_page(path, content, frames, f"{run.data.problem.name}: a growth run")
    names = tuple(plane.name for plane in planes if plane.name)
    return ReportSummary(
        Path(path), Path(path).stat().st_size, counts["moments"], counts["rows"], names, bool(run.history.ended)
    )


def _ignore(what: str, done: int, total: int | None) -> None:
    """Do nothing: the default progress."""


def _drop_slices(run: SavedRun, planes: list[Slice], rows: NDArray[np.int64]) -> list[Slice]:
    """Drop slices, except the first and the last, until enough moments of a large network fit."""
    while len(planes) > 2:
        frames, _ = _encode(run, run.snapshots[-1], planes, rows)
        if min(TIMES, len(run.snapshots)) * _packed_size(frames) <= BUDGET:
            break
        planes = [*planes[:-2], planes[-1]]
    return planes


def _packed_size(frames: Mapping[str, bytes]) -> int:
    return sum(len(zlib.compress(frame)) for frame in frames.values())


def _replay(
    run: SavedRun, planes: Sequence[Slice], rows: NDArray[np.int64], progress: Progress
) -> tuple[dict[str, bytes], list[dict[str, Any]], LinePartition | PlanePartition]:
    """Return frames by name, the moments that fit, and the first partition of the last network."""
    frames: dict[str, bytes] = {}
    moments: dict[int, dict[str, Any]] = {}
    used, last = 0, None
    kinds = {"start": 1, "grown": 2}  # the end, the start, growth steps, then training
    order = sorted(run.snapshots[:-1], key=lambda moment: (kinds.get(moment.kind, 3), -moment.level))
    order.insert(0, run.snapshots[-1])
    selected = order[: max(1, FRAMES // max(1, len(planes)))]
    for number, moment in enumerate(selected, 1):
        progress("mapping the network", number, len(selected))
        of_moment, partition = _encode(run, moment, planes, rows)
        used += _packed_size(of_moment)
        if used > BUDGET and moments:
            break
        frames |= of_moment
        moments[moment.id] = moment_json(moment, run.history, partition.count)
        last = partition if last is None else last
    assert last is not None
    return frames, [moments[moment.id] for moment in run.snapshots if moment.id in moments], last


def _encode(
    run: SavedRun, moment: Snapshot, planes: Sequence[Slice], rows: NDArray[np.int64]
) -> tuple[dict[str, bytes], LinePartition | PlanePartition]:
    """Return the frames of a moment by name, and its partition on the first slice, or of its one input."""
    partitions: list[LinePartition | PlanePartition] = [
        plane(moment.net, cut.box, cut.origin, cut.basis) for cut in planes
    ]
    partitions = partitions or [map_box(moment.net, np.array(data_box(run.data.problem.X)))]
    frames = {}
    for k, partition in enumerate(partitions):
        cut, about = planes[k] if planes else None, {"moment": moment.id, "number": k}
        frames[f"{moment.id}/{k}" if k else f"{moment.id}"] = slice_frame(partition, run.data, cut, rows=rows, **about)
    return frames, partitions[0]


def _choose_rows(run: SavedRun, predictions: Any) -> NDArray[np.int64]:
    """Return the rows of X to show: all, or those mentioned and a random sample of the others."""
    problem = run.data.problem
    n, d = problem.X.shape
    max_rows = min(ROWS if d <= 2 else ROWS_ON_SLICES, max(100, NUMBERS // d))
    if n <= max_rows:
        return np.arange(n)
    numbers = table_rows(run.data)
    folds = [entry for step in run.history.records for entry in fold_entries(step.explanation)]
    mentioned = [entry["why"]["instance"] for entry in folds]
    required = {int(row) for rows in hardest_rows(run.model, predictions).values() for row in rows}
    required |= set(np.flatnonzero(np.isin(numbers, mentioned)).tolist())
    others = [row for row in np.random.default_rng(0).permutation(n).tolist() if row not in required]
    return np.sort([*required, *others][: max(max_rows, len(required))])


def _about(counts: dict[str, tuple[int, int]], planes: Sequence[Slice]) -> dict[str, Any]:
    """Return the section about the content of the report, and what it omits to stay small."""
    moments, all_ = counts["moments"]
    rows, n = counts["rows"]
    of_all = f"of the {all_} networks saved during the run, to keep the file small"
    sentences = [f"The timeline has {moments} {of_all if moments < all_ else 'networks of the run'}."]
    if rows < n:
        sentences.append(
            f"Plots show {rows:,} of the {n:,} rows: those mentioned in the report and a random sample of the others."
        )
    if planes and planes[0].name:
        sentences.append(
            "Slices are planes through the input space: along two columns, with all others at their medians and most "
            "frequent categories; along the two directions in which the network varies most; or through three rows. "
            "Regions are exact on the slice. Each row is shown at its nearest point of the slice, paler the farther it "
            "is from it, in standard deviations. The first slice is along the two numeric columns with the largest "
            "mean size of the coefficient times the standard deviation."
        )
    sentences.append("The page is self-contained: it needs no server and no network access.")
    return {"title": "About this report", "text": " ".join(sentences)}
