"""Reading a growth run back from its folder, finished or not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from creases._text import plural
from creases.errors import FileError
from creases.tables._folder.folder import SNAPSHOTS_FOLDER, RunFile
from creases.tables._folder.model_loading import load
from creases.tables._folder.settings import RunSettings
from creases.tables._model.grown_model import SavedRun
from creases.tables._split.split import TableSplit

if TYPE_CHECKING:
    from creases.growth import History


def load_run(folder: Path) -> SavedRun:
    """Read the run in a folder; of one that was stopped or killed, what it had saved."""
    from creases.network import read
    from creases.tables._fit.snapshots import Snapshot, load_snapshots

    settings = RunSettings.load(folder)
    data = settings.load_split()
    history = _load_history(folder)
    _check_history(history, data, folder)
    path = folder / SNAPSHOTS_FOLDER
    ahead = len(history.epochs)  # snapshots after the last checkpoint will be taken again
    snapshots = [
        snapshot
        for snapshot in (load_snapshots(path) if path.is_dir() else [])
        if snapshot.epoch <= ahead and (history.ended or snapshot.kind != "end")
    ]
    resume = f"creases grow --resume {folder}"
    if history.ended and (not snapshots or snapshots[-1].kind != "end"):
        if not (folder / RunFile.MODEL).exists():
            raise FileError(f"{folder} lacks the final network; recreate it with: {resume}")
        net = read(folder / RunFile.MODEL)
        snapshots.append(Snapshot(len(snapshots), history.best_epoch, "end", None, net, 0))
    if not snapshots:
        raise FileError(f"{folder} holds no network yet; resume the run: {resume}")
    expected = (data.problem.X.shape[1], data.n_outputs)
    for snapshot in snapshots:
        if (sizes := (snapshot.net.n_in, snapshot.net.n_out)) != expected:
            got, need = (f"{plural(n, 'input')} and {plural(m, 'output')}" for n, m in (sizes, expected))
            raise FileError(
                f"the network of epoch {snapshot.epoch} in {folder} does not belong to its data: it has {got}, "
                f"the data in {RunFile.SETTINGS} need {need}; start another run"
            )
    if history.ended and os.path.lexists(folder / RunFile.DESCRIPTION):
        X = data.problem.X[:100]
        if not np.allclose(load(folder)._outputs(X), snapshots[-1].net(X), rtol=1e-6, atol=1e-9):
            what = f"{folder / RunFile.MODEL} is not the network that the run ended with"
            raise FileError(f"{what}; write it again: {resume}")
    return SavedRun(settings, data, history, tuple(snapshots), settings.digest())


def _check_history(history: History, data: TableSplit, folder: Path) -> None:
    """Refuse a history of other columns or classes than the data's, or that explains what they do not have."""
    from creases.growth import check_explanations

    problem = data.problem
    classes = None if problem.classes is None else list(problem.classes)
    try:
        for name, expected in (("features", list(problem.features)), ("classes", classes)):
            if history.setting.get(name, expected) != expected:  # a checkpoint does not name them
                raise ValueError(f"it has other {name}")
        check_explanations(history, **data.names)
    except ValueError as reason:
        what = f"the history of the run in {folder} does not belong to its data: {reason}"
        raise FileError(f"{what}; start another run") from None


def _load_history(folder: Path) -> History:
    """Return the history at the end; of a run in progress or interrupted, that of the last checkpoint."""
    from creases.growth import History, load_checkpoint

    path, checkpoint = folder / RunFile.HISTORY, folder / RunFile.CHECKPOINT
    histories = [History.load(path)] if os.path.lexists(path) else []
    if os.path.lexists(checkpoint):
        try:
            histories.append(History.from_json(load_checkpoint(checkpoint)["history"]))
        except KeyError:
            raise FileError(f"{checkpoint} is damaged: it holds no history") from None
    if not histories:
        raise FileError(
            f"the run in {folder} ({RunFile.SETTINGS}) has not reached its first checkpoint; resume it: "
            f"creases grow --resume {folder}"
        )
    return max(histories, key=lambda history: len(history.epochs))  # of equals the first: it says which was kept
