"""The report of a growth run: its folder in, one HTML file out."""

from __future__ import annotations

import shlex
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases.errors import InputError
from creases.growth.experiment import MODEL_FILE, SavedRun, Snapshot, TableSplit, data_box, load_run
from creases.show.report._growth_sections import growth_sections
from creases.show.report._hardest import hardest_rows
from creases.show.report._page import write_page
from creases.show.report._slices import Slice, choose_slices, slice_frame
from creases.show.viewer._run import moment_json, run_json

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition

#: What the frames may take together, compressed, in bytes: a third more in the file.
BUDGET = 3_000_000

#: Moments that there should be room for; else fewer slices are shown.
TIMES = 20

#: Frames that are made at most: a moment has one for each slice.
FRAMES = 240

#: Rows of the data that are shown: on the inputs themselves, and on slices, where every frame holds them.
ROWS, ROWS_ON_SLICES = 2000, 500

#: Numbers that the rows may have together.
NUMBERS = 60_000


@dataclass(frozen=True)
class Written:
    """What was written."""

    path: Path
    bytes: int
    moments: tuple[int, int]  #: in the report, and in the run's folder
    rows: tuple[int, int]  #: in the report, and in the data
    slices: tuple[str, ...]
    ended: bool  #: whether the run had ended


def write_growth_report(
    folder: str | Path,
    path: str | Path,
    *,
    columns: Sequence[str] = (),
    through: Sequence[str] = (),
    progress: Callable[[str], None] = lambda step: None,
) -> Written:
    """Write the report of the growth run in a folder to an HTML file.

    Parameters
    ----------
    folder
        Made by ``creases grow``; the run may have been stopped on its way.
    columns, through
        Slices of a problem of more than two inputs: pairs of columns (``"length,width"``), planes through three rows
        (``"3,17,40"``). By default pairs of the columns that matter most, and a plane through typical rows.
    progress
        Called with the name of each step as it begins.
    """
    progress("reading the run")
    run, name = load_run(Path(folder)), Path(folder).resolve().name
    asked = [word for text in columns for word in ("--columns", text)]
    asked += [word for text in through for word in ("--through", text)]
    again = f"{run.settings.command(name)}\n{shlex.join(['creases', 'report', name, '--out', 'report.html', *asked])}"
    given: dict[str, Any] = {"columns": columns, "through": through, "progress": progress}
    return write_run_report(run, path, model=f"{name}/{MODEL_FILE}", again=again, **given)


def write_run_report(
    run: SavedRun,
    path: str | Path,
    *,
    model: str,
    again: str,
    columns: Sequence[str] = (),
    through: Sequence[str] = (),
    progress: Callable[[str], None] = lambda step: None,
) -> Written:
    """Write the report of a growth run at hand.

    Parameters
    ----------
    model
        The file that the network is in, for whoever loads it.
    again
        Commands or code that make the run again.
    columns, through, progress
        As for :func:`write_growth_report`.
    """
    if not run.history.epochs:
        raise InputError("run: has not been trained for an epoch yet; there is nothing to report")
    planes = choose_slices(run.net, run.data, columns, through)
    rows = _shown_rows(run)
    progress("mapping the network")
    if not columns and not through:
        planes = _affordable(run, planes, rows)
    frames, moments, last = _replay(run, planes, rows, progress)
    progress("looking at the network")
    sections = growth_sections(run, last, model, again)
    counts = {"moments": (len(moments), len(run.moments)), "rows": (len(rows), len(run.data.problem.X))}
    sections.append(_about(counts, planes))
    told = run_json(
        run.data, run.settings, run.history, moments, rows=rows, sections=sections, slices=[one.name for one in planes]
    )
    told["kept"] = run.epoch  # of an unfinished run, too, there is a network that the report is about
    progress("writing the page")
    write_page(path, told, frames, f"{run.data.problem.name}: a growth run")
    names = tuple(one.name for one in planes if one.name)
    return Written(
        Path(path), Path(path).stat().st_size, counts["moments"], counts["rows"], names, bool(run.history.ended)
    )


def _affordable(run: SavedRun, planes: list[Slice], rows: NDArray[np.int64]) -> list[Slice]:
    """Slices, fewer where the networks are so large that hardly a moment would fit in: the first and the last stay."""
    last = run.moments[-1]
    while len(planes) > 2:
        partitions = _partitions(last.net, planes, run.data)
        frames = [slice_frame(one, run.data, moment=last.id, number=k, rows=rows) for k, one in enumerate(partitions)]
        if min(TIMES, len(run.moments)) * sum(len(zlib.compress(frame)) for frame in frames) <= BUDGET:
            break
        planes = [*planes[:-2], planes[-1]]
    return planes


def _replay(
    run: SavedRun, planes: Sequence[Slice], rows: NDArray[np.int64], progress: Callable[[str], None]
) -> tuple[dict[str, bytes], list[dict[str, Any]], LinePartition | PlanePartition]:
    """Frames by name, as many moments as there is room for, and the first partition of the last network."""
    frames: dict[str, bytes] = {}
    told: dict[int, dict[str, Any]] = {}
    used, last = 0, None
    order = sorted(run.moments, key=lambda moment: _priority(moment, run.moments[-1]))
    for number, moment in enumerate(order[: max(1, FRAMES // max(1, len(planes)))], 1):
        progress(f"mapping the network: moment {number}")
        partitions = _partitions(moment.net, planes, run.data)
        own = {
            f"{moment.id}/{k}" if k else f"{moment.id}": slice_frame(
                partition, run.data, moment=moment.id, number=k, rows=rows
            )
            for k, partition in enumerate(partitions)
        }
        used += sum(len(zlib.compress(frame)) for frame in own.values())
        if used > BUDGET and told:
            break
        frames |= own
        told[moment.id] = moment_json(moment, partitions[0].count)
        last = partitions[0] if last is None else last
    assert last is not None
    return frames, [told[moment.id] for moment in run.moments if moment.id in told], last


def _priority(moment: Snapshot, last: Snapshot) -> tuple[int, int]:
    """What goes into a report first: the end, the start, what growth steps gave, then what was between them."""
    if moment is last or moment.kind == "start":
        return (0 if moment is last else 1), 0
    return 2 if moment.kind == "grown" else 3, -moment.level


def _partitions(net: Network, planes: Sequence[Slice], data: TableSplit) -> list[LinePartition | PlanePartition]:
    import creases

    if not planes:
        ((low, high),) = data_box(data.problem.X)
        return [creases.line(net, [low], [high])]
    return [creases.plane(net, one.box, one.origin, one.basis) for one in planes]


def _shown_rows(run: SavedRun) -> NDArray[np.int64]:
    """Rows of X that the report shows: all, or those that are spoken of and others drawn at random."""
    problem = run.data.problem
    n, d = problem.X.shape
    most = min(ROWS if d <= 2 else ROWS_ON_SLICES, max(100, NUMBERS // d))
    if n <= most:
        return np.arange(n)
    numbers = np.arange(n) if problem.rows is None else problem.rows
    spoken = [one.explanation["why"]["instance"] for one in run.history.records if one.explanation.get("why")]
    wanted = {int(row) for rows in hardest_rows(run.net, run.data).values() for row in rows}
    wanted |= set(np.flatnonzero(np.isin(numbers, spoken)).tolist())
    others = [row for row in np.random.default_rng(0).permutation(n).tolist() if row not in wanted]
    return np.sort([*wanted, *others][: max(most, len(wanted))])


def _about(counts: dict[str, tuple[int, int]], planes: Sequence[Slice]) -> dict[str, Any]:
    """What the report holds, and what it leaves out to stay small."""
    kept, all_ = counts["moments"]
    rows, n = counts["rows"]
    of_all = f"of the {all_} networks that the run wrote down: so the file stays small"
    said = [f"The timeline has {kept} {of_all if kept < all_ else 'networks on the way of the run'}."]
    if rows < n:
        said.append(f"Pictures show {rows} of the {n} rows: those spoken of, and others drawn at random.")
    if planes and planes[0].name:
        said.append(
            "Slices are planes through the inputs: along two columns all others are at their medians; a plane through "
            "three rows is measured in standard deviations. Regions are exact on the slice. Each row is shown at the "
            "point of the slice nearest to it."
        )
    said.append("The page is whole: it needs no server and no network access.")
    return {"title": "About this report", "text": " ".join(said)}
