"""What a growth run's report tells below the picture, section by section."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats
from creases._versions import version
from creases.growth import format_number
from creases.growth.experiment import Baseline, SavedRun, baselines, compare_with_linear, data_box, describe_step
from creases.show.report._hardest import hardest_section
from creases.show.report._sections import network_sections
from creases.show.report._slices import relevance
from creases.show.report._subject import Section
from creases.show.viewer._run import measure

if TYPE_CHECKING:
    from creases.regions import LinePartition, PlanePartition


#: Rows on which the change of the function is looked at.
LOOK = 5000


def growth_sections(run: SavedRun, partition: LinePartition | PlanePartition, model: str, again: str) -> list[Section]:
    """All sections; ``partition`` is what is shown of the network kept, ``model`` its file, ``again`` what makes it."""
    problem, found = run.data.problem, baselines(run.net, run.data)
    order = np.argsort(-relevance(run.net, run.data), kind="stable").tolist()
    own = network_sections(
        run.net,
        box=data_box(problem.X),
        X=problem.X,
        y=problem.y,
        features=problem.features,
        classes=problem.classes,
        partition=partition,
    )
    return [
        _overview(run, found),
        *([_ledger(run)] if run.history.records else []),
        _scores(run, found),
        hardest_section(run.net, run.data, order),
        *own,
        _loading(run, model),
        _again(run, again),
    ]


def _overview(run: SavedRun, found: Sequence[Baseline]) -> Section:
    data, history = run.data, run.history
    records = [record for record in history.records if record.epoch < run.epoch or not history.ended]
    last = max(1, min(run.epoch, len(history.epochs)))
    first, kept = history.epochs[0], history.epochs[last - 1]
    before, after = ("-".join(map(str, one["widths"].values())) for one in (first, kept))
    rows = [
        ["rows: training, validation, test", f"{len(data.train)}, {len(data.validation)}, {len(data.test)}"],
        ["inputs", str(data.problem.X.shape[1])],
        ["hidden units", f"{before} at the start, {after} at the end"],
        ["parameters", f"{first['parameters']} at the start, {kept['parameters']} at the end"],
        ["growth steps", f"{len(records)} in the network, {len(history.records) - len(records)} undone"],
        ["epochs", f"{len(history.epochs)}; the network is that of epoch {run.epoch}"],
        ["time to train", f"{history.last['seconds']:.3g} s"],
        [f"test {measure(data.problem.task)}", f"{_score(found[0].test)} ({found[1].name}: {_score(found[1].test)})"],
    ]
    ended = f"It ended: {history.ended}." if history.ended else "The run has not ended: this is what it has come to."
    return {"title": "Overview", "text": ended, "table": {"columns": ["what", "value"], "rows": rows}}


def _ledger(run: SavedRun) -> Section:
    """A row for each growth step: what, where, why, and what it did to the loss and to the function."""
    rows = []
    changes = _changes(run)
    for record in run.history.records:
        kept = not run.history.ended or record.epoch < run.epoch
        later = record.later.get("loss")
        rows.append(
            [
                str(record.number),
                str(record.epoch),
                describe_step(record) + ("" if kept else " (undone)"),
                record.place,
                _loss(record.before.get("loss")),
                _loss(record.after.get("loss")),
                _loss(later),
                "–" if record.changed is None else str(record.changed),
                changes.get(record.number, "–"),
                record.why(**run.data.names),
            ]
        )
    loss = "squared error, 1 for predicting the mean" if run.data.problem.classes is None else "cross-entropy"
    text = (
        f"Every growth step with its reason. Losses ({loss}) are on the training rows: just before it, at once after "
        "it, and when the network had trained on, just before the next. Changed decisions are counted on the training "
        f"rows, the largest change of an output is that on {len(_looked_at(run)):,} rows; both are the step's own, "
        "before any training."
    )
    heads = ["step", "epoch", "what", "where", "loss before", "at once", "later", "decisions changed", "largest change"]
    return {"title": "Growth ledger", "text": text, "table": {"columns": [*heads, "why"], "rows": rows}}


def _loss(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _changes(run: SavedRun) -> dict[int, str]:
    """By growth step how much an output changed at most at once on the rows; where its two networks were kept."""
    X = _looked_at(run)
    before = {moment.epoch: moment.net for moment in run.moments if moment.kind == "before"}
    found = {}
    for moment in run.moments:
        if moment.record is not None and moment.epoch in before:
            difference = np.asarray(moment.net(X)) - np.asarray(before[moment.epoch](X))
            found[moment.record] = format_number(float(np.abs(difference).max()))
    return found


def _looked_at(run: SavedRun) -> Floats:
    """All inputs (n, d), or of very many every second, third, ..."""
    X = run.data.problem.X
    return X[:: -(-len(X) // LOOK)]


def _scores(run: SavedRun, found: Sequence[Baseline]) -> Section:
    regression = run.data.problem.classes is None
    rows = [
        [one.name, *map(_score, (one.train, one.validation, one.test))]
        + ([] if one.error is None else [format_number(one.error)])
        for one in found
    ]
    heads = [measure(run.data.problem.task), "training", "validation", "test", *(["test RMSE"] if regression else [])]
    text = "The others are scikit-learn's, fitted to the rows that the network was trained on and stopped by."
    said = compare_with_linear(found, run.data)
    return {"title": "Scores", "text": f"{said} {text}".strip(), "table": {"columns": heads, "rows": rows}}


def _score(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}"  # no minus before a zero


def _loading(run: SavedRun, model: str) -> Section:
    names = run.data.problem.features
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    title = "Load it in three lines"
    if not run.history.ended:
        return {"title": title, "text": f"When the run has ended, its network is in {model}."}
    gives = "one output for each class; the largest decides" if run.data.problem.classes else "the target"
    code = f"import creases\nnet = creases.read({json.dumps(model, ensure_ascii=False)})\nnet(X)"
    text = f"X is (n, {len(names)}), in the data's own units: {shown}. The answer: {gives}."
    return {"title": title, "text": text, "code": code}


def _again(run: SavedRun, again: str) -> Section:
    """The commands, the settings, the data's digest and the versions."""
    settings = [[field.name, _text(getattr(run.settings, field.name))] for field in fields(run.settings)]
    settings[0][1] = Path(run.settings.data).name
    packages = ("creases", "torch", "numpy", "scikit-learn")
    versions = [[name, version(name)] for name in packages]
    about = [["data, sha256", run.digest]] if run.digest else []
    rows = [*settings, *about, ["python", platform.python_version()], *versions]
    return {
        "title": "Make it again",
        "text": "The same seed gives the same network, on one kind of machine bit for bit."
        + (" Run it where the data's file is." if run.settings.is_file else ""),
        "code": again,
        "table": {"columns": ["setting", "value"], "rows": rows},
    }


def _text(value: object) -> str:
    return "–" if value is None else ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
