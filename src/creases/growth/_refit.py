"""Retraining on all samples: from the network at the end of growth, for as long as validation samples say."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from creases.growth._budget import Meter
from creases.growth._race import NetworkState

#: Share of the training after growth that comes before the choice between training on and retraining.
WATCHED_SHARE = 0.5

#: The validation loss is past its best if it was lowest before this share of the watched training.
PAST_BEST = 0.9

#: Epochs after growth, at most, in which a network hardly overfits: it is trained on all samples at once.
FEW_EPOCHS = 15

#: Standard errors by which accuracy must have risen since the lowest loss to train on: retraining anneals the rate and
#: has more samples, so the network at the lowest loss is not yet what it can be.
CLEARLY = 1.5

#: Validation samples from which their accuracy counts beside their loss: it may rise while the loss does.
MIN_SCORED = 100


@dataclass(eq=False)
class Refit:
    """Training after growth, watched on validation samples; if it overfits, retraining on all samples.

    Amounts are in the unit of the budget.
    """

    start: NetworkState  #: the network at the end of growth
    epoch: int  #: the last one of growth
    spent: float  #: until the end of growth
    epochs: float = 0.0  #: until the end of growth, with those of networks that were not kept
    decided: bool = False  #: whether it has been chosen between training on and retraining
    begun: float | None = None  #: spent before retraining; None where there is none
    end: float | None = None  #: spent when retraining ends

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Refit:
        """Return what :meth:`to_dict` wrote."""
        return cls(**{**saved, "start": NetworkState.from_dict(saved["start"])})

    def to_dict(self) -> dict[str, Any]:
        """Return it as dicts, lists, numbers and tensors."""
        rest = {name: getattr(self, name) for name in ("epoch", "spent", "epochs", "decided", "begun", "end")}
        return {"start": self.start.to_dict(), **rest}

    @property
    def retrains(self) -> bool:
        """Whether the network is retrained, or was."""
        return self.begun is not None

    def is_time(self, meter: Meter) -> bool:
        """Return whether it is time to choose between training on and retraining."""
        watched = WATCHED_SHARE * (meter.budget.amount - self.spent)
        return not self.decided and meter.spent * (1 + 1e-9) >= self.spent + watched

    def decide(self, best: float, meter: Meter) -> bool:
        """Choose; return whether to retrain. ``best``: spent when the validation loss was lowest."""
        self.decided = True
        if best - self.spent >= PAST_BEST * (meter.spent - self.spent):
            return False
        self.begun = meter.spent
        self.end = min(self.begun + best - self.spent, meter.budget.amount)
        return True

    def is_over(self, meter: Meter) -> bool:
        """Return whether retraining has ended."""
        return self.end is not None and meter.spent * (1 + 1e-9) >= self.end

    def schedule_progress(self, meter: Meter) -> float:
        """Return where the learning rate's schedule is, from 0 to 1: retraining goes from the end of growth to 1."""
        if self.begun is None or self.end is None:
            return meter.progress
        growth = self.spent / meter.budget.amount
        done = (meter.spent - self.begun) / max(self.end - self.begun, 1e-12)
        return min(growth + (1 - growth) * done, 1.0)


def score_change(before: Mapping[str, Any], now: Mapping[str, Any], n: int | None) -> float:
    """Return by how many standard errors the smoothed accuracy on n validation samples is higher than before.

    It is -inf where an epoch's entry has none, or where the samples are too few to say.
    """
    then, score = before.get("smoothed_score"), now.get("smoothed_score")
    if (n or 0) < MIN_SCORED or then is None or score is None:
        return -math.inf
    assert n is not None
    return float((score - then) / math.sqrt((then * (1 - then) + 1 / n) / n))
