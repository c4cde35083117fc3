"""Results of pruning."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import nn

from creases._files import write_atomically
from creases._text import OneLine, plural
from creases.network.surgery import FixedChannels


@dataclass(frozen=True)
class Reduction:
    """Units removed at one place without changing the function."""

    kind: str  #: "unread", "constant", "duplicate" or "linear"
    place: str  #: name of the place
    units: tuple[int, ...]  #: the removed units, as numbered before
    old_width: int
    new_width: int
    bound: float  #: proved: no output changes by more, but for rounding
    reason: str  #: in words

    def __str__(self) -> str:
        removed = plural(len(self.units), "unit")
        return f"{self.place}: {removed} of {self.old_width} removed ({self.kind}): {self.reason}"


@dataclass(frozen=True)
class Undecided:
    """Units that look redundant on samples, but without a proof: they are not removed."""

    place: str
    dead: tuple[int, ...]  #: zero at all samples
    linear: tuple[int, ...]  #: on one side at all samples


@dataclass(frozen=True, eq=False)
class ExactResult:
    """A smaller model of the same function, and why it is the same."""

    model: nn.Module
    reductions: tuple[Reduction, ...]
    undecided: tuple[Undecided, ...]
    parameters_before: int
    parameters_after: int
    change: float  #: measured: the largest difference of any output on inputs drawn from the box
    bound: float  #: proved: the largest difference of any output in the box, but for rounding
    scale: float  #: the largest output found, for comparison

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the model as plain values."""
        return _plain(self)


@dataclass(frozen=True)
class PruningStep:
    """A step of pruning by data."""

    removed: dict[str, list[int]]  #: channels by layer, as numbered before the step; {} where weights were set to zero
    widths: dict[str, int]  #: channels left of each layer that can lose some
    parameters: int  #: of the model
    nonzero: int  #: of these, not zero
    loss_removed: float  #: loss after the removal, before fine-tuning
    loss: float  #: after fine-tuning
    accuracy: float  #: after fine-tuning, on the validation data


@dataclass(frozen=True, eq=False, repr=False)
class PruningResult(OneLine):
    """The smallest model that keeps the accuracy or has the size asked for, and all steps, including those after it."""

    model: nn.Module
    first: PruningStep  #: the original model
    steps: tuple[PruningStep, ...] = ()
    kept: int = 0  #: number of steps that lead to the model
    ended: str = ""  #: why pruning ended: "accuracy", "size", "smallest", "sparsities" or "interrupted"
    settings: dict[str, Any] = field(default_factory=dict)
    fixed: tuple[FixedChannels, ...] = ()  #: channels of the model that cannot be removed, with the reason

    @property
    def last(self) -> PruningStep:
        """The record of the model."""
        return self.steps[self.kept - 1] if self.kept else self.first

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the model as plain values."""
        return _plain(self)

    def save(self, path: str | Path) -> Path:
        """Write the records as JSON; an incomplete file is never left."""
        with write_atomically(path) as temporary:
            temporary.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")
        return Path(path)


def _plain(record: Any) -> dict[str, Any]:
    fields = asdict(replace(record, model=None))  # asdict would copy the model
    del fields["model"]
    return fields
