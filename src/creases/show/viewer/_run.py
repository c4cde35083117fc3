"""A growth run as the JSON that the viewer reads: problem, growth steps, epochs, moments (web/PROTOCOL.md, "Run")."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases.growth.experiment import TableSplit
from creases.problems import Problem

if TYPE_CHECKING:
    from creases.growth import History, Record
    from creases.growth.experiment import Settings, Snapshot

Rows = NDArray[np.int64]

#: What is sent of every epoch.
COLUMNS = ("epoch", "loss", "score", "validation_loss", "validation_score", "parameters")

#: Settings that the viewer shows.
SHOWN = ("how", "where", "when", "hidden", "seed", "lr", "batch", "epochs", "parameters", "recycle")


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, NaN and infinity as null, what else JSON has not as text."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def measure(task: str) -> str:
    """What the scores of a task are."""
    return "accuracy" if task == "classification" else "R²"


def problem_json(given: Problem | TableSplit, *, rows: Rows | None = None) -> dict[str, Any]:
    """The problem: its words, and its samples (all, or only these rows of X) with the part of the data each is in."""
    problem = given.problem if isinstance(given, TableSplit) else given
    split = np.zeros(len(problem.X), int)
    if isinstance(given, TableSplit):
        split[given.validation], split[given.test] = 1, 2
    shown = np.arange(len(problem.X)) if rows is None else rows
    return {
        "name": problem.name,
        "about": problem.description,
        "task": problem.task,
        "features": list(problem.features),
        "classes": None if problem.classes is None else list(problem.classes),
        "target": problem.target,
        "X": [[_short(value) for value in row] for row in problem.X[shown].tolist()],
        "y": [_short(value) for value in problem.y[shown].tolist()],
        "split": split[shown].tolist(),
    }


def record_json(
    record: Record, data: TableSplit, kept_epoch: int | None, *, rows: Rows | None = None
) -> dict[str, Any]:
    """One growth step; it is undone if the network kept is that of an epoch before it (None: not known yet).

    Samples that it names are given by their place in what :func:`problem_json` gave for the same ``rows``.
    """
    found, why = record.explanation, record.explanation.get("why") or {}
    cluster, after = why.get("cluster", {}), found.get("after", {})
    places = _places(data, rows)
    marks: dict[str, Any] = {}
    if "instance" in why:
        marks["mistakes"] = _found(places, cluster.get("mistakes", []))
        if (instance := places.get(int(why["instance"]))) is not None:
            marks["instance"] = instance
    if found.get("where", {}).get("space") == "input":
        marks["fold_point"] = data.scaling.point(found["where"]["fold_point"])
    same = ("number", "action", "epoch", "place", "method", "units", "removed", "width", "parameters")
    step: dict[str, Any] = plain(
        {
            **{name: getattr(record, name) for name in (*same, "before", "after", "later", "changed")},
            "undone": kept_epoch is not None and record.epoch >= kept_epoch,
            "why": record.why(**data.names),
            "text": record.explain(**data.names),
            "marks": marks,
            "near": {
                "size": cluster.get("size"),
                "wrong": cluster.get("mispredicted"),
                "share": cluster.get("share_of_loss"),
            },
            "outcome": {
                "fixed": _found(places, after.get("fixed", [])),
                "broken": _found(places, after.get("broken", [])),
                "moved": after.get("crease_moved"),
                "turned": after.get("crease_turned"),
            },
        }
    )
    return step


def epochs_json(epochs: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Epochs of a history as columns of equal length, null where a number is not known."""
    return {name: [plain(epoch.get(name)) for epoch in epochs] for name in COLUMNS}


def moment_json(moment: Snapshot, regions: int | None = None) -> dict[str, Any]:
    """One moment; ``regions``: how many its first slice has, null where that is not known yet."""
    about = {"id": moment.id, "epoch": moment.epoch, "kind": moment.kind, "record": moment.record}
    return {**about, "regions": regions}


def run_json(
    data: TableSplit,
    settings: Settings,
    history: History,
    moments: Iterable[Mapping[str, Any]],
    *,
    rows: Rows | None = None,
    sections: Sequence[Mapping[str, Any]] = (),
    slices: Sequence[str] = (),
) -> dict[str, Any]:
    """A whole run; ``moments`` as :func:`moment_json` gives them, ``slices`` the names where frames come in several."""
    kept = history.best["epoch"] if history.ended else None
    return {
        "problem": problem_json(data, rows=rows),
        "setting": plain({name: getattr(settings, name) for name in SHOWN}),
        "measure": measure(data.problem.task),
        "epochs": epochs_json(history.epochs),
        "records": [record_json(record, data, kept, rows=rows) for record in history.records],
        "moments": list(moments),
        "ended": history.ended,
        "kept": kept,
        "sections": plain(sections),
        **({"slices": list(slices)} if len(slices) > 1 else {}),
    }


def _short(value: float) -> float:
    """Twelve digits: more than a picture can ever tell apart."""
    return value if isinstance(value, int) else float(f"{value:.12g}")


def _places(data: TableSplit, rows: Rows | None) -> dict[int, int]:
    """From a sample's number in its table, as growth records have it, to its place among those shown."""
    numbers = data.problem.rows
    numbers = np.arange(len(data.problem.X)) if numbers is None else numbers
    return {int(number): place for place, number in enumerate(numbers if rows is None else numbers[rows])}


def _found(places: Mapping[int, int], numbers: Iterable[int]) -> list[int]:
    return [places[int(number)] for number in numbers if int(number) in places]
