"""Results of pruning."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from torch import nn

from creases._display import Described
from creases._document import Document, facts
from creases._text import OneLine, plural
from creases.certify.proofs import Proof
from creases.network.surgery import IS_OUTPUT, FixedChannels


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


class Record(Described, OneLine):
    """A result with a model, printed as what is said of it."""

    def to_dict(self: Any) -> dict[str, Any]:
        """Return everything but the model and its proof as plain values."""
        left_out = [name for name in ("model", "proof") if hasattr(self, name)]  # asdict would copy the model
        fields = asdict(replace(self, **dict.fromkeys(left_out)))
        return {name: value for name, value in fields.items() if name not in left_out}

    def __str__(self: Any) -> str:
        return "\n".join(f"{name}: {said}" for name, said in self.describe().sections[0]["table"]["rows"])


@dataclass(frozen=True, eq=False, repr=False)
class ExactResult(Record):
    """A smaller model of the same function, and why it is the same."""

    model: nn.Module
    reductions: tuple[Reduction, ...]
    undecided: tuple[Undecided, ...]
    parameters_before: int
    parameters_after: int
    change: float  #: measured: the largest difference of any output on inputs drawn from the box
    bound: float  #: proved: the largest difference of any output in the box, but for rounding
    scale: float  #: the largest output found, for comparison
    proof: Proof | None = None  #: which units of the model never change side in the box, for ``creases check``

    def describe(self) -> Document:
        """Return what was removed and why, and by how much outputs can change."""
        rows = [
            (f"{each.place}: {each.kind}", f"{plural(len(each.units), 'unit')} of {each.old_width}: {each.reason}")
            for each in self.reductions
        ] or [("exact", "no unit is provably redundant")]
        rows.append(("change", f"at most {self.bound:.2g} up to rounding (proved), {self.change:.2g} measured"))
        for each in self.undecided:
            units = plural(len(each.dead) + len(each.linear), "remaining unit")
            rows.append((f"{each.place}: undecided", f"{units} redundant on samples, kept because there is no proof"))
        return Document("Pruned", "", [facts("Pruned", rows)], self.to_dict())


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
class PruningResult(Record):
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

    def describe(self) -> Document:
        """Return the accuracy and the widths before and after, and what cannot be removed."""
        first, last = self.first, self.last
        rows = [
            ("accuracy", f"{first.accuracy:.4g} -> {last.accuracy:.4g} on validation data"),
            ("steps", f"{self.kept} of {len(self.steps)} kept; stopped: {self.ended}"),
            ("widths", ", ".join(f"{name}: {first.widths[name]} -> {width}" for name, width in last.widths.items())),
        ]
        for part in [each for each in self.fixed if each.reason != IS_OUTPUT]:
            text = f"{len(part.channels)} of {plural(part.width, 'channel')} cannot be removed: {part.reason}"
            rows.append((f"{part.layer}: fixed", text))
        if self.settings.get("method") == "magnitude":
            rows.append(("nonzero weights", f"{last.nonzero:,} of {first.parameters:,}"))
        return Document("Pruned", "", [facts("Pruned", rows)], self.to_dict())
