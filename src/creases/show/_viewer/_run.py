"""The JSON of a growth run for the viewer: problem, growth steps, epochs, moments (web/PROTOCOL.md, "Run")."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases.problems import Problem
from creases.tables import TableSplit

if TYPE_CHECKING:
    from creases.growth import History, Record
    from creases.tables import RunSettings, Snapshot

Rows = NDArray[np.int64]

#: Entries of each epoch.
COLUMNS = ("epoch", "loss", "score", "validation_loss", "validation_score", "parameters")

#: Units up to which the viewer numbers creases.
MAX_NUMBERED = 24

#: Settings that the viewer shows.
SETTINGS = ("how", "where", "when", "hidden", "seed", "lr", "weight_decay", "batch_size", "budget", "max_parameters")


def to_json(value: Any) -> Any:
    """Convert a value to JSON: arrays to lists, NaN and infinity to null, other types to text."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def score_name(task: str) -> str:
    """Return the name of the score of a task."""
    return "accuracy" if task == "classification" else "R²"


def problem_json(data: Problem | TableSplit, *, rows: Rows | None = None) -> dict[str, Any]:
    """Return the problem: its names, and its samples (all, or some rows of X) with the part of the split of each."""
    problem = data.problem if isinstance(data, TableSplit) else data
    split = np.zeros(len(problem.X), int)
    if isinstance(data, TableSplit):
        split[data.validation], split[data.test] = 1, 2
    selected = np.arange(len(problem.X)) if rows is None else rows
    columns = {}
    if problem.encoding is not None:
        names = ("column", "kind", "use", "missing", "note")
        cells = problem.encoding.describe()[list(names)].itertuples(index=False)
        columns["columns"] = [dict(zip(names, map(to_json, row), strict=True)) for row in cells]
    return {
        "name": problem.name,
        "about": problem.description,
        "task": problem.task,
        "features": list(problem.features),
        "classes": None if problem.classes is None else list(problem.classes),
        "target": problem.target,
        **columns,
        "X": [[_round(value) for value in row] for row in problem.X[selected].tolist()],
        "y": [_round(value) for value in problem.y[selected].tolist()],
        "split": split[selected].tolist(),
        **({"rows": len(problem.X)} if len(selected) < len(problem.X) else {}),
    }


def record_json(record: Record, data: TableSplit, history: History, *, rows: Rows | None = None) -> dict[str, Any]:
    """Return a growth step of a history, with what became of it.

    Samples are given by their positions in the result of :func:`problem_json` for the same ``rows``.
    """
    from creases.growth.methods.folding import fold_entries

    explanation = next(iter(fold_entries(record.explanation)), record.explanation)  # of several folds, the strongest
    why, after = explanation.get("why") or {}, record.explanation.get("after", {})
    cluster = why.get("cluster", {})
    numbers = np.arange(len(data.problem.X)) if data.problem.rows is None else data.problem.rows
    positions = {int(number): place for place, number in enumerate(numbers if rows is None else numbers[rows])}
    marks: dict[str, Any] = {}
    if "instance" in why:
        marks["mistakes"] = _known_positions(positions, cluster.get("alike", []))
        if (instance := positions.get(int(why["instance"]))) is not None:
            marks["instance"] = instance
    if explanation.get("where", {}).get("space") == "input":
        marks["fold_point"] = data.scaling.point(explanation["where"]["fold_point"])
        if len(normal := explanation["crease"]["normal"]) == 2:
            across = np.asarray(normal, np.float64) / data.scaling.spread
            marks["direction"] = [-across[1], across[0]]
    same = ("number", "action", "epoch", "place", "method", "units", "removed", "width", "parameters")
    tag = history.outcome(record).value
    step: dict[str, Any] = to_json(
        {
            **{name: getattr(record, name) for name in (*same, "before", "after", "later", "changed")},
            **({"parameters": record.parameters[1:] * 2} if record.is_linear else {}),  # all of the linear model
            "pays": not record.undone,
            "undone": bool(tag),
            "tag": tag,
            "why": record.why(**data.names),
            "text": record.explain(**data.names),
            "marks": marks,
            "near": {
                "size": cluster.get("size"),
                "wrong": cluster.get("mispredicted"),
                "share": cluster.get("share_of_loss"),
            },
            "outcome": {
                "fixed": _known_positions(positions, after.get("fixed", [])),
                "broken": _known_positions(positions, after.get("broken", [])),
                "moved": after.get("crease_moved"),
                "turned": after.get("crease_turned"),
            },
        }
    )
    return step


def epochs_json(epochs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the epochs of a history as columns of equal length, null for unknown numbers."""
    return {name: [to_json(epoch.get(name)) for epoch in epochs] for name in COLUMNS}


def moment_json(moment: Snapshot, history: History, regions: int | None = None) -> dict[str, Any]:
    """Return a moment; ``regions`` is the number of regions of its first slice, null if not known yet."""
    about = {"id": moment.id, "epoch": moment.epoch, "kind": moment.kind, "record": moment.record}
    last = moment.record
    if last is None:
        until = moment.epoch - (moment.kind == "before")
        last = max((record.number for record in history.records if record.epoch <= until), default=0)
    units = moment.net.n_units
    steps = history.added_by(units, until=last) if units <= MAX_NUMBERED else []
    return {**about, "regions": regions, "steps": steps if any(steps) else []}


def run_json(
    data: TableSplit,
    settings: RunSettings,
    history: History,
    moments: Iterable[Mapping[str, Any]],
    *,
    rows: Rows | None = None,
    sections: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return a run; ``moments`` are results of :func:`moment_json`."""
    return {
        "problem": problem_json(data, rows=rows),
        "setting": to_json({name: getattr(settings.config, name) for name in SETTINGS}),
        "measure": score_name(data.problem.task),
        "epochs": epochs_json(history.epochs),
        "records": [record_json(record, data, history, rows=rows) for record in history.records],
        "moments": list(moments),
        "growth_ended": history.growth_ended,
        "ended": history.ending,
        "kept": history.best_epoch if history.ended else None,
        "sections": to_json(sections),
    }


def _round(value: float) -> float:
    """Round to twelve digits, more than a figure can show."""
    return value if isinstance(value, int) else float(f"{value:.12g}")


def _known_positions(positions: Mapping[int, int], numbers: Iterable[int]) -> list[int]:
    return [positions[int(number)] for number in numbers if int(number) in positions]
