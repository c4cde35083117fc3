"""Moments of a growth run: the networks on its way, from which it can be replayed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from torch import nn

import creases
from creases.errors import FileError
from creases.growth.experiment._split import TableSplit

if TYPE_CHECKING:
    from creases.growth._state import State
    from creases.network import Network

Kind = Literal["start", "training", "before", "grown", "end"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Epochs between moments of training, while there are few.
EVERY = 10

#: Moments that are kept at most, and what their networks may take together, in bytes.
MOST = 200
BYTES = 2**26

#: Moments that are kept however large the networks are.
LEAST = 16

#: A level above all: such a moment is never dropped.
_ALWAYS = 10**9

#: The name of a moment's file: epoch, kind, number of the growth step made then (0 for none), growth steps so far.
_NAME = re.compile(r"(\d{7})-(start|training|before|grown|end)-(\d{5})-(\d{5})\.safetensors")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A network on the way of a growth run, for the data's own units."""

    id: int  #: no other moment of the run has it, also after some were dropped
    epoch: int  #: after so many epochs of training; that of the network kept for "end"
    kind: Kind
    record: int | None  #: the number of the growth step for "grown", else None
    net: Network
    step: int  #: growth steps so far, this one included and those that only drew dead units anew left out

    @property
    def level(self) -> int:
        """Moments of low levels are dropped first: every second one has level 0, of the others every second 1, ..."""
        if self.kind == "training":
            return _level(self.epoch // EVERY)
        return _level(max(0, self.step - 1)) if self.kind in ("before", "grown") else _ALWAYS


class Snapshots:
    """The moments of one growth run, in order: collects them, and keeps no more than ``most``.

    One at the start; one every few epochs; one just before and one right after each growth step; one at the end. When
    they become too many, or too large, every second one of the training goes, and every second growth step's: what is
    there depends on nothing but how far the run is, so that a run that was killed and resumed has the same.

    Give :meth:`before` as the first of ``stop`` and :meth:`after` as a callback to :func:`creases.growth.grow`, and call
    :meth:`start` and :meth:`end` around it.

    Parameters
    ----------
    data
        What the run is of; its scaling is undone.
    folder
        Where each moment is written as it is taken, if anywhere; those that are there already are gone on with.

    Examples
    --------
    >>> from creases.growth import grow
    >>> from creases.growth.experiment._split import load_split
    >>> from creases.growth.experiment._run import start
    >>> from creases.growth.experiment._settings import Settings
    >>> settings = Settings(data="moons")
    >>> data = load_split(settings)
    >>> model, moments = start(settings, data), Snapshots(data)
    >>> moments.start(model)
    >>> _, history = grow(model, data.scaled(data.train, "cpu"), "classification", how="fold", when=8, max_epochs=18,
    ...                   stop=[moments.before], callbacks=[moments.after])
    >>> moments.end(model, 18)
    >>> [(moment.kind, moment.epoch) for moment in moments]
    [('start', 0), ('before', 8), ('grown', 8), ('training', 10), ('before', 16), ('grown', 16), ('end', 18)]
    """

    def __init__(self, data: TableSplit, folder: Path | None = None, *, most: int = MOST, memory: int = BYTES) -> None:
        self._data, self._folder = data, folder
        self._most, self._memory = most, memory
        self._all: list[Snapshot] = []
        self._next = 0
        self._pending: Network | None = None  #: the network as it was before what may become a growth step
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

    def start(self, model: nn.Module) -> None:
        """Take the moment before the first epoch; where a run is gone on with, it is there."""
        if not self._all:
            self._take("start", 0, None, self.own_units(model), 0)

    def before(self, state: State) -> str:
        """Not a reason to end: asked before every growth step, it holds the network that may grow now."""
        epoch = len(state.history.epochs)
        self.keep(lambda moment: moment.epoch < epoch and moment.kind != "end")  # of a run that got further once
        self._pending = None
        if state.due:
            self.hold(state.model)
        return ""

    def hold(self, model: nn.Module) -> None:
        """Hold a network that may grow now: a growth step that :meth:`after` hears of next was made on it."""
        self._pending = self.own_units(model)

    def after(self, state: State) -> None:
        """The end of an epoch, as a callback: take the moments of a growth step, or now and then of training."""
        epoch, record = len(state.history.epochs), state.record
        made = sum(one.action != "revive" for one in state.history.records)
        if record is not None:
            if self._pending is not None:
                self._take("before", epoch, None, self._pending, made)
            self._take("grown", epoch, record.number, self.own_units(state.model), made)
        elif epoch % EVERY == 0:
            self._take("training", epoch, None, self.own_units(state.model), made)
        self._pending = None
        self._thin(epoch, len(state.history.records))

    def look(self, state: State) -> None:
        """Take a moment of training now, unless the last one is of this epoch."""
        epoch = len(state.history.epochs)
        if not self._all or self._all[-1].epoch != epoch:
            made = sum(one.action != "revive" for one in state.history.records)
            self._take("training", epoch, None, self.own_units(state.model), made)

    def end(self, model: nn.Module, kept: int) -> None:
        """Take the network that was kept, that of epoch ``kept``."""
        self.keep(lambda moment: moment.kind != "end")
        self._take("end", kept, None, self.own_units(model), 0)

    def keep(self, wanted: Callable[[Snapshot], bool]) -> None:
        """Drop all other moments, such as those after a growth step that is undone."""
        gone = [moment for moment in self._all if not wanted(moment)]
        if gone:
            self._all = [moment for moment in self._all if wanted(moment)]
        for moment in gone:
            if self._folder is not None:
                (self._folder / _name(moment)).unlink(missing_ok=True)

    def own_units(self, model: nn.Module) -> Network:
        """The network of a model in training, for the data's own units."""
        assert isinstance(model, nn.Sequential)
        return creases.read(self._data.scaling.fold_into(model))

    def _take(self, kind: Kind, epoch: int, record: int | None, net: Network, step: int) -> None:
        moment = Snapshot(self._next, epoch, kind, record, net, step)
        self._next += 1
        self._all.append(moment)
        if self._folder is not None:
            self._folder.mkdir(exist_ok=True)
            net.save(self._folder / _name(moment))

    def _thin(self, epoch: int, records: int) -> None:
        """Drop moments of low levels: half of what there may be is for training, half for growth steps."""
        half = max(LEAST, min(self._most, self._memory // _bytes(self._all[-1].net))) // 2
        training = _least_level(epoch // EVERY, half)
        growth = _least_level(2 * records, half)
        least = {"training": training, "before": growth, "grown": growth}
        self.keep(lambda moment: moment.level >= least.get(moment.kind, 0))


def load_snapshots(folder: Path) -> list[Snapshot]:
    """The moments that were written into a folder, in order; what was left there half-written is passed over."""
    try:
        found = [match for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    except OSError as problem:
        raise FileError(f"{folder}: cannot be read: {problem.strerror}") from None
    found.sort(key=lambda match: (match[2] == "end", int(match[1]), _kind(match)))
    return [_read(folder, match, number) for number, match in enumerate(found)]


def clear_snapshots(folder: Path) -> None:
    """Remove the moments in a folder, also half-written ones, and the folder if nothing else is in it."""
    for path in folder.iterdir():
        if _NAME.fullmatch(path.name) or _half_written(path):
            path.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _half_written(path: Path) -> bool:
    """Whether a file is what a kill left of one that was being written."""
    return path.name.startswith(".") and path.suffix == ".safetensors"


def _kind(match: re.Match[str]) -> int:
    return [str(kind) for kind in KINDS].index(match[2])


def _read(folder: Path, match: re.Match[str], number: int) -> Snapshot:
    from creases.network import read

    epoch, record, step = (int(match[k]) for k in (1, 3, 4))
    return Snapshot(number, epoch, KINDS[_kind(match)], record or None, read(folder / match[0]), step)


def _name(moment: Snapshot) -> str:
    return f"{moment.epoch:07d}-{moment.kind}-{moment.record or 0:05d}-{moment.step:05d}.safetensors"


def _level(number: int) -> int:
    """How often a number can be halved; without end for 0."""
    return (number & -number).bit_length() - 1 if number else _ALWAYS


def _least_level(count: int, most: int) -> int:
    """The level from which on no more than ``most`` of the numbers up to ``count`` are."""
    level = 0
    while count >> level > most:
        level += 1
    return level


def _bytes(net: Network) -> int:
    return max(1, sum(tensor.numel() * tensor.element_size() for step in net.steps for tensor in step.tensors.values()))
