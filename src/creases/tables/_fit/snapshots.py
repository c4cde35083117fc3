"""Snapshots of a growth run: the networks along the way, from which it can be replayed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from torch import nn

from creases.errors import FileError
from creases.growth import Scaling
from creases.network import read

if TYPE_CHECKING:
    from creases.growth import State
    from creases.network import Network

Kind = Literal["start", "training", "before", "grown", "end"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Epochs between snapshots of training, while there are few.
INTERVAL = 10

#: Maximum number of snapshots, and of the bytes of their networks together.
MAX_SNAPSHOTS = 200
MAX_BYTES = 2**26

#: Number of snapshots that are kept however large the networks are.
MIN_SNAPSHOTS = 16

#: A level above all others: such a snapshot is never dropped.
_ALWAYS = 10**9

#: The name of a snapshot's file: epoch, kind, number of the growth step made then (0 for none), how often it has grown.
_NAME = re.compile(r"(\d{7})-(start|training|before|grown|end)-(\d{5})-(\d{5})\.safetensors")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The network at one snapshot of a growth run, for rows in the data's own units."""

    id: int  #: unique in the run, also after some were dropped
    epoch: int  #: epochs trained so far; for "end" the epoch of the network that was kept
    kind: Kind
    record: int | None  #: the number of the growth step for "grown", else None
    net: Network
    step: int  #: how often the network has grown so far, without the linear start, undone steps and revived units

    @property
    def level(self) -> int:
        """Low levels are dropped first: every second snapshot has level 0, every second of the others 1, ..."""
        if self.kind == "training":
            return _level(self.epoch // INTERVAL)
        return _level(max(0, self.step - 1)) if self.kind in ("before", "grown") else _ALWAYS


class Snapshots:
    """The snapshots of a growth run, in order: takes them, and keeps a limited number.

    One at the start; one every few epochs; one just before and one right after each growth step; one at the end. When
    they become too many, or too large, every second one of training is dropped, and every second growth step's. Which
    are kept depends only on how far the run is, so a run that was killed and resumed has the same.

    :class:`creases.tables.Experiment` calls :meth:`start`, :meth:`before`, :meth:`after` and :meth:`end`.

    The scaling of the run's data is undone. Each snapshot is written to the folder, if there is one, when it is taken;
    snapshots that are already there are continued.

    Examples
    --------
    >>> from creases import problems
    >>> from creases.growth import GrowthConfig
    >>> from creases.tables import Experiment, Snapshots, TableSplit
    >>> config = GrowthConfig(when=8, budget=18)
    >>> data = TableSplit.from_problem(problems.get("moons"), config)
    >>> snapshots = Snapshots(data.scaling)
    >>> _ = Experiment(data, config, snapshots=snapshots).run()
    >>> [(snapshot.kind, snapshot.epoch) for snapshot in snapshots][:5]
    [('start', 0), ('before', 8), ('grown', 8), ('training', 10), ('before', 16)]
    """

    def __init__(
        self,
        scaling: Scaling,
        folder: Path | None = None,
        *,
        max_snapshots: int = MAX_SNAPSHOTS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._scaling, self._folder = scaling, folder
        self._max_snapshots, self._max_bytes = max_snapshots, max_bytes
        self._all: list[Snapshot] = []
        self._next = 0
        self._pending: Network | None = None  #: the network as it was before what may become a growth step
        self._undone: dict[int, int] = {}  #: growth steps that were undone before the end of this epoch
        self._aside: list[Snapshot] = []  #: of the best network so far, while one of another size trains
        if folder is not None and folder.is_dir():
            for path in filter(_half_written, folder.iterdir()):
                path.unlink()
            self._all = load_snapshots(folder)
            self._next = len(self._all)

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, index: int) -> Snapshot:
        return self._all[index]

    @property
    def before_growth(self) -> Network | None:
        """The network before the first growth step but for the linear start and revived units; None without one."""
        return next((snapshot.net for snapshot in self if snapshot.kind == "before" and snapshot.step == 1), None)

    def start(self, model: nn.Module) -> None:
        """Take the snapshot before the first epoch, unless the run is resumed."""
        if not self._all:
            self._take("start", 0, None, self.in_data_units(model), 0)

    def before(self, state: State) -> None:
        """Hold the network that may grow now; called at the end of an epoch, before growth."""
        epoch, stages = len(state.history.epochs), state.history.stages
        further = [snapshot for snapshot in self if snapshot.epoch >= epoch and snapshot.kind != "end"]
        if further and (not stages or stages[-1]["pays"]):
            self._aside = further
        self.keep_only(lambda snapshot: snapshot.epoch < epoch and snapshot.kind != "end")  # it got further once
        self._pending, self._undone = None, _undone(state)
        if state.due:
            self.hold(state.model)

    def hold(self, model: nn.Module) -> None:
        """Hold a network that may grow now, as the one before the growth step that :meth:`after` sees next."""
        self._pending = self.in_data_units(model)

    def after(self, state: State) -> None:
        """Take the snapshots of a growth step, or every few epochs of training; called at the end of an epoch."""
        epoch, record = len(state.history.epochs), state.record
        if new := _undone(state).keys() - self._undone.keys():  # the networks since then are undone too
            first = min(_undone(state)[number] for number in new)
            self.keep_only(lambda snapshot: snapshot.epoch < first)
            for snapshot in self._aside if record is None or record.explanation.get("dead") else ():
                if snapshot.epoch <= epoch:
                    self._take(snapshot.kind, snapshot.epoch, snapshot.record, snapshot.net, snapshot.step)
        step = _count_steps(state)
        if record is not None:
            if self._pending is not None:
                self._take("before", epoch, None, self._pending, step)
            self._take("grown", epoch, record.number, self.in_data_units(state.model), step)
        elif epoch % INTERVAL == 0:
            self._take("training", epoch, None, self.in_data_units(state.model), step)
        self._pending = None
        self._thin(epoch, step)

    def take_now(self, state: State) -> None:
        """Take a snapshot of training now, unless the last one is of this epoch."""
        epoch = len(state.history.epochs)
        if not self._all or self._all[-1].epoch != epoch:
            self._take("training", epoch, None, self.in_data_units(state.model), _count_steps(state))

    def end(self, model: nn.Module, epoch: int) -> None:
        """Take the network that was kept, that of an epoch."""
        self.keep_only(lambda snapshot: snapshot.kind != "end")
        self._take("end", epoch, None, self.in_data_units(model), 0)

    def keep_only(self, keep: Callable[[Snapshot], bool]) -> None:
        """Drop all other snapshots, such as those after a growth step that is undone."""
        removed = [snapshot for snapshot in self._all if not keep(snapshot)]
        if removed:
            self._all = [snapshot for snapshot in self._all if keep(snapshot)]
        for snapshot in removed:
            if self._folder is not None:
                (self._folder / _name(snapshot)).unlink(missing_ok=True)

    def in_data_units(self, model: nn.Module) -> Network:
        """Return the network of a model in training for rows in the data's own units."""
        assert isinstance(model, nn.Sequential)
        return read(self._scaling.fold_into(model))

    def _take(self, kind: Kind, epoch: int, record: int | None, net: Network, step: int) -> None:
        snapshot = Snapshot(self._next, epoch, kind, record, net, step)
        self._next += 1
        self._all.append(snapshot)
        if self._folder is not None:
            self._folder.mkdir(exist_ok=True)
            net.save(self._folder / _name(snapshot))

    def _thin(self, epoch: int, steps: int) -> None:
        """Drop snapshots of low levels: half of the limit is for training, half for growth steps."""
        tensors = [tensor for step in self._all[-1].net.steps for tensor in step.tensors.values()]
        size = max(1, sum(tensor.numel() * tensor.element_size() for tensor in tensors))
        half = max(MIN_SNAPSHOTS, min(self._max_snapshots, self._max_bytes // size)) // 2
        training = _least_level(epoch // INTERVAL, half)
        growth = _least_level(2 * steps, half)
        least = {"training": training, "before": growth, "grown": growth}
        self.keep_only(lambda snapshot: snapshot.level >= least.get(snapshot.kind, 0))


def load_snapshots(folder: Path) -> list[Snapshot]:
    """Return the snapshots in a folder, in order; half-written files are skipped."""
    try:
        matches = [match for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    except OSError as problem:
        raise FileError(f"cannot read {folder}: {problem.strerror}") from None
    matches.sort(key=lambda match: (match[2] == "end", int(match[1]), _kind(match)))
    snapshots = []
    for number, match in enumerate(matches):
        epoch, record, step = (int(match[k]) for k in (1, 3, 4))
        snapshots.append(Snapshot(number, epoch, KINDS[_kind(match)], record or None, read(folder / match[0]), step))
    return snapshots


def clear_snapshots(folder: Path) -> None:
    """Remove the snapshots in a folder, also half-written ones, and the folder if nothing else is in it."""
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) or _half_written(path):
            path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _half_written(path: Path) -> bool:
    """Return whether a file was being written when the run was killed."""
    return path.name.startswith(".") and path.suffix == ".safetensors"


def _kind(match: re.Match[str]) -> int:
    return [str(kind) for kind in KINDS].index(match[2])


def _name(snapshot: Snapshot) -> str:
    return f"{snapshot.epoch:07d}-{snapshot.kind}-{snapshot.record or 0:05d}-{snapshot.step:05d}.safetensors"


def _count_steps(state: State) -> int:
    """Return how often the network has grown; several layers may grow at once."""
    grown = [record for record in state.history.records if record.action != "revive" and not record.is_linear]
    return len({record.epoch for record in grown if not record.undone})


def _undone(state: State) -> dict[int, int]:
    """Return numbers and epochs of the growth steps that were undone, but for those that a better size replaced."""
    return {record.number: record.epoch for record in state.history.records if record.undone and not record.replaced}


def _level(number: int) -> int:
    """Return how often a number can be halved; 0 has the highest level."""
    return (number & -number).bit_length() - 1 if number else _ALWAYS


def _least_level(count: int, limit: int) -> int:
    """Return the lowest level that at most ``limit`` of the numbers up to ``count`` have or exceed."""
    level = 0
    while count >> level > limit:
        level += 1
    return level
