"""A growth run as its folder keeps it: read back, finished or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from creases.errors import FileError
from creases.growth import History
from creases.growth import _checkpoint as checkpoint
from creases.growth.experiment import _folder as names
from creases.growth.experiment import _snapshots as moments
from creases.growth.experiment._settings import SETTINGS_FILE, Settings
from creases.growth.experiment._snapshots import Snapshot
from creases.growth.experiment._split import TableSplit, load_split
from creases.network import read

if TYPE_CHECKING:
    from creases.network import Network


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A growth run, as far as it has come."""

    settings: Settings
    data: TableSplit
    history: History
    moments: tuple[Snapshot, ...]  #: in order; the last is of the network kept, or of the last one written down
    digest: str  #: of the data's file; "" for a built-in problem

    @property
    def net(self) -> Network:
        """The network that was kept; of an unfinished run the last one written down."""
        return self.moments[-1].net

    @property
    def epoch(self) -> int:
        """Whose network that is."""
        return self.moments[-1].epoch


def load_run(folder: Path) -> SavedRun:
    """Read the run in a folder; of one that was stopped or killed, what it had written down."""
    settings = Settings.load(folder, name="folder")
    history = _history(folder)
    data = load_split(settings)
    there = (
        moments.load_snapshots(folder / names.SNAPSHOTS_FOLDER) if (folder / names.SNAPSHOTS_FOLDER).is_dir() else []
    )
    ahead = len(history.epochs)  # what was written down after the last checkpoint will be made again
    there = [one for one in there if one.epoch <= ahead and (history.ended or one.kind != "end")]
    if history.ended and (not there or there[-1].kind != "end"):
        if not (folder / names.MODEL_FILE).exists():
            raise FileError(
                f"{folder}: the network of its end is missing; make it anew: creases grow --resume {folder}"
            )
        net, number = read(folder / names.MODEL_FILE), len(there)
        there.append(Snapshot(number, history.best["epoch"], "end", None, net, 0))
    if not there:
        raise FileError(f"{folder}: no network was written down yet; go on with it: creases grow --resume {folder}")
    return SavedRun(settings, data, history, tuple(there), settings.digest())


def _history(folder: Path) -> History:
    """The history of the end; where a run goes on, or was killed, that of the last checkpoint."""
    told, point = folder / names.HISTORY_FILE, folder / names.CHECKPOINT_FILE
    found = [History.load(told)] if told.exists() else []
    if point.exists():
        try:
            found.append(History.from_json(checkpoint.load_checkpoint(point)["history"]))
        except KeyError:
            raise FileError(f"{point}: is damaged: it holds no history") from None
    if not found:
        raise FileError(
            f"{folder}: its run ({SETTINGS_FILE}) has not come to its first checkpoint; go on with it: "
            f"creases grow --resume {folder}"
        )
    return max(found, key=lambda history: len(history.epochs))  # of equals the first: it knows which network was kept
