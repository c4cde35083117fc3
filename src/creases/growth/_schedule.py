"""The learning rate over a run: annealed by the share of the budget that is spent, or as the user's scheduler says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import optim
from torch.optim.lr_scheduler import LRScheduler

from creases.errors import InputError

#: What makes a scheduler of an optimizer.
MakeScheduler = Callable[[optim.Optimizer], LRScheduler]

_NAMES = ("cosine", "constant")


def check_schedule(schedule: Any) -> None:
    """Check that a schedule is valid."""
    known = schedule in _NAMES if isinstance(schedule, str) else isinstance(schedule, LRScheduler) or callable(schedule)
    if not known:
        expected = "be 'cosine', 'constant', a torch scheduler of your optimizer, or a function that makes one"
        raise InputError("schedule", expected, repr(schedule))


def schedule_name(schedule: Any) -> str:
    """Return a schedule's name, or that of its class."""
    return schedule if isinstance(schedule, str) else type(schedule).__name__


class LearningRate:
    """The learning rate of an optimizer's groups during a run."""

    def __init__(self, optimizer: optim.Optimizer, schedule: Any) -> None:
        self.optimizer, self.anneals = optimizer, schedule == "cosine"
        self.scheduler: LRScheduler | None = None
        if not isinstance(schedule, str):
            self.scheduler = schedule if isinstance(schedule, LRScheduler) else schedule(optimizer)
            if getattr(self.scheduler, "optimizer", None) is not optimizer:
                raise InputError("schedule", "be a scheduler of the optimizer that trains the model", repr(schedule))
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])

    def set_rate(self, rate: float) -> None:
        """Set the learning rate at the start of the schedule for all groups; that of a user's scheduler stays."""
        if self.scheduler is None:
            for group in self.optimizer.param_groups:
                group["initial_lr"] = rate
                group["lr"] = group["lr"] if self.anneals else rate

    def before_step(self, progress: float) -> None:
        """Set the learning rate for a step after this share of the budget."""
        if self.anneals:
            for group in self.optimizer.param_groups:
                group["lr"] = group["initial_lr"] * 0.5 * (1 + math.cos(math.pi * progress))

    def after_step(self) -> None:
        """Step the user's scheduler."""
        if self.scheduler is not None:
            self.scheduler.step()

    def state(self) -> dict[str, Any] | None:
        """Return the state of the user's scheduler for a checkpoint."""
        return None if self.scheduler is None else self.scheduler.state_dict()

    def restore(self, state: dict[str, Any] | None) -> None:
        """Take the state of a checkpoint."""
        if self.scheduler is not None and state is not None:
            self.scheduler.load_state_dict(state)
