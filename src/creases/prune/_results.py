"""What pruning did, step by step: plain records."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import nn

from creases._files import write_atomically


@dataclass(frozen=True)
class Reduction:
    """Units taken away at one place without changing the function."""

    kind: str  #: "unread", "constant", "duplicate" or "linear"
    where: str  #: name of the place
    units: tuple[int, ...]  #: those taken away, as numbered before
    old_width: int
    new_width: int
    bound: float  #: proved: no output changes by more, but for rounding
    reason: str  #: in words


@dataclass(frozen=True)
class Undecided:
    """Units that look as if they could go, for all that samples tell, but without a proof: they are left alone."""

    where: str
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
        """All but the model, as plain values."""
        return _plain(self)


@dataclass(frozen=True)
class PruningStep:
    """One step of pruning by data."""

    removed: dict[str, list[int]]  #: units by place, as numbered before the step; {} where weights were set to zero
    widths: dict[str, int]  #: units left at each place
    parameters: int  #: of the model
    nonzero: int  #: of these, not zero
    loss_removed: float  #: loss after the removal, before fine-tuning
    loss: float  #: after fine-tuning
    accuracy: float  #: after fine-tuning, on the data to judge by


@dataclass(frozen=True, eq=False)
class PruningResult:
    """The smallest model that kept the accuracy asked for, and all steps, also those beyond it."""

    model: nn.Module
    first: PruningStep  #: the model as it was given
    steps: tuple[PruningStep, ...] = ()
    kept: int = 0  #: how many of the steps the model has gone through
    ended: str = ""  #: why pruning ended: "accuracy", "smallest", "shares" or "interrupted"
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def last(self) -> PruningStep:
        """The record of the model that is kept."""
        return self.steps[self.kept - 1] if self.kept else self.first

    def to_dict(self) -> dict[str, Any]:
        """All but the model, as plain values."""
        return _plain(self)

    def save(self, path: str | Path) -> Path:
        """Write the records as JSON, whole or not at all."""
        with write_atomically(path) as temporary:
            temporary.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")
        return Path(path)


def _plain(record: Any) -> dict[str, Any]:
    found = asdict(replace(record, model=None))  # asdict would copy the model
    del found["model"]
    return found
