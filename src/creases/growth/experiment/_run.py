"""A growth run in its folder: trains and grows, leaves a checkpoint, ends with the network in the data's own units."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from creases.errors import InputError
from creases.growth import History, grow
from creases.growth.experiment import _folder as names
from creases.growth.experiment._settings import Settings
from creases.growth.experiment._snapshots import Snapshots
from creases.growth.experiment._split import TableSplit
from creases.growth.policies import Budget, NoImprovement

if TYPE_CHECKING:
    from creases.growth.policies._stop import Stop
    from creases.network import Network

#: Growth steps in a row that may fail to better the validation loss before a run ends.
PATIENCE = 3

#: Entries of the inputs below which one thread is quickest.
SMALL = 2_000_000

#: Seconds between checkpoints, beside those after growth steps.
CHECKPOINT_SECONDS = 10.0


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a growth run came to."""

    net: Network  #: takes the data's own units
    history: History
    moments: Snapshots  #: the networks on the way
    widths: tuple[int, ...]  #: of the hidden layers
    kept: int  #: the epoch whose network it is

    @property
    def first(self) -> Network | None:
        """The network before its first growth step; None if there was none."""
        return next((one.net for one in self.moments if one.kind == "before" and one.step == 1), None)


def run(settings: Settings, data: TableSplit, folder: Path) -> Outcome:
    """Run to the end, from the checkpoint in the folder if there is one."""
    model = start(settings, data)
    moments = Snapshots(data, folder / names.SNAPSHOTS_FOLDER)
    moments.start(model)
    with _threads(data, settings.device):
        _, history = grow(
            model,
            **options(settings, data, first=[moments.before]),
            checkpoint=folder / names.CHECKPOINT_FILE,
            checkpoint_seconds=CHECKPOINT_SECONDS,
            callbacks=[moments.after],
        )
    kept = history.best["epoch"]
    moments.end(model, kept)
    widths = tuple(layer.out_features for layer in model if isinstance(layer, nn.Linear))[:-1]
    return Outcome(moments[-1].net, history, moments, widths, kept)


def options(settings: Settings, data: TableSplit, *, first: Sequence[Stop] = ()) -> dict[str, Any]:
    """What the settings of a run are to :func:`creases.grow` besides the model; ``first`` are asked before its stops.

    Examples
    --------
    >>> import creases
    >>> from creases.growth.experiment._split import load_split
    >>> from creases.growth.experiment._settings import Settings
    >>> settings = Settings("moons", epochs=3)
    >>> data = load_split(settings)
    >>> model, history = creases.grow(start(settings, data), **options(settings, data))
    >>> len(history.epochs)
    3
    """
    stop = [*first, NoImprovement(patience=PATIENCE)]
    if settings.parameters is not None:
        stop.append(Budget(parameters=settings.parameters))
    return {
        "data": data.scaled(data.train, settings.device),
        "loss": data.problem.task,
        "how": settings.how,
        "where": settings.where.replace("-", " "),
        "when": int(settings.when) if settings.when.isdecimal() else settings.when,
        "stop": stop,
        "max_epochs": settings.epochs,
        "validation": data.scaled(data.validation, settings.device),
        "recycle": settings.recycle,
        "lr": settings.lr,
        "batch_size": settings.batch,
        "seed": settings.seed,
    }


@contextmanager
def _threads(data: TableSplit, device: str) -> Iterator[None]:
    """One thread where the batches are small: more only wait for each other."""
    before = torch.get_num_threads()
    if device == "cpu" and data.problem.X.size < SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def start(settings: Settings, data: TableSplit) -> nn.Sequential:
    """The network that a run begins with: layers hidden1, hidden2, ..., output with relus between, by the seed."""
    sizes = (len(data.problem.features), *settings.hidden, data.outputs)
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        for k, (size, width) in enumerate(pairwise(sizes[:-1]), 1):
            layers[f"hidden{k}"], layers[f"bend{k}"] = nn.Linear(size, width), nn.ReLU()
        layers["output"] = nn.Linear(sizes[-2], sizes[-1])
    model = nn.Sequential(layers)
    if settings.parameters is not None and settings.parameters < (least := sum(p.numel() for p in model.parameters())):
        raise InputError(f"--parameters: the network begins with {least}, got a budget of {settings.parameters}")
    try:
        return model.to(settings.device)
    except (RuntimeError, AssertionError) as problem:  # torch raises either for a device that is not there
        raise InputError(f"--device: {settings.device!r} cannot be used: {str(problem).splitlines()[0]}") from None
