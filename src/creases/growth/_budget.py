"""The budget of a run, in epochs, seconds or multiply-adds, and the meter that says how much of it is spent."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import torch

from creases.errors import InputError
from creases.growth._cost import PASSES_PER_STEP
from creases.growth.integrations import _ranks as ranks

Unit = Literal["epochs", "seconds", "multiply-adds"]

_SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}
_UNITS: dict[str, tuple[float, Unit]] = {
    "epoch": (1.0, "epochs"),
    "multiply-add": (1.0, "multiply-adds"),
    "mac": (1.0, "multiply-adds"),
    **{name: (factor, "seconds") for name, factor in _SECONDS.items()},
}
_EXPECTED = "be 'auto', a number of epochs, or a text such as '30 epochs', '60 s', '5 min' or '2e12 multiply-adds'"


@dataclass(frozen=True)
class Budget:
    """Total budget of a run: training steps, growth steps, and stages that are undone.

    Examples
    --------
    >>> Budget.parse("5 min")
    Budget(amount=300.0, unit='seconds')
    >>> str(Budget.parse(20))
    '20 epochs'
    """

    amount: float
    unit: Unit = "epochs"

    def __post_init__(self) -> None:
        if not self.amount > 0 or self.amount == float("inf"):
            raise InputError("budget", "be positive and finite", str(self))

    def __str__(self) -> str:
        amount = f"{self.amount:g}"
        return f"{amount} {self.unit[:-1] if amount == '1' else self.unit}"

    @classmethod
    def parse(cls, value: Any) -> Budget:
        """Return a budget as users write it: a number of epochs, or a number with its unit."""
        if isinstance(value, Budget):
            return value
        if isinstance(value, Real) and not isinstance(value, bool):
            return cls(float(value))
        match = (
            re.fullmatch(r"\s*([0-9.]+(?:e[+-]?\d+)?)\s*([a-z-]*)\s*", value.lower())
            if isinstance(value, str)
            else None
        )
        factor, unit = _UNITS.get(_singular(match[2]), (0.0, "epochs")) if match else (0.0, "epochs")
        try:
            amount = float(match[1]) if match else 0.0
        except ValueError:
            amount = 0.0
        if match is None or not factor or not amount > 0:
            raise InputError("budget", _EXPECTED, repr(value))
        return cls(factor * amount, unit)


def check_budget(value: Any) -> None:
    """Refuse what is neither "auto" nor a budget."""
    if not isinstance(value, str) or value != "auto":
        Budget.parse(value)


class Meter:
    """How much of a budget is spent: epochs, seconds and multiply-adds, counted side by side."""

    def __init__(self, budget: Budget, n_samples: int | None) -> None:
        self.budget = budget
        self.n_samples = n_samples  #: in an epoch; None if a loader does not say
        self.epochs = 0.0
        self.multiply_adds = 0
        self.seconds = 0.0  #: at the last :meth:`read_clock`, without those between a stop and a resumption
        self._began = time.monotonic()

    def read_clock(self) -> None:
        """Note the seconds so far: with a budget in seconds those of the first rank, so that all ranks decide alike."""
        seconds = torch.tensor(time.monotonic() - self._began, dtype=torch.float64)
        if self.budget.unit == "seconds":
            ranks.broadcast([seconds])
        self.seconds = float(seconds)

    @property
    def spent(self) -> float:
        """The amount spent so far, in the budget's unit."""
        if self.budget.unit == "seconds":
            return self.seconds
        return self.epochs if self.budget.unit == "epochs" else self.multiply_adds

    @property
    def progress(self) -> float:
        """Share of the budget that is spent, from 0 to 1."""
        return min(self.spent / self.budget.amount * (1 + 1e-9), 1.0)  # ten times a tenth is the whole

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Leave the seconds that pass inside out of the budget."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._began += time.monotonic() - began

    def charge(self, multiply_adds: int) -> None:
        """Add what a growth step took on this rank, and on the others."""
        total = torch.tensor(float(multiply_adds), dtype=torch.float64)
        ranks.sum_over_ranks([total])
        self.multiply_adds += int(total)
        self.read_clock()

    def train(self, samples: int, forward_cost: int) -> None:
        """Add a training step on some samples; ``forward_cost`` is in multiply-adds per sample."""
        self.multiply_adds += PASSES_PER_STEP * forward_cost * samples
        if self.n_samples:
            self.epochs += samples / self.n_samples
        self.read_clock()

    @property
    def numbers(self) -> dict[str, Any]:
        """All that is spent so far, by unit."""
        return {"epochs": self.epochs, "seconds": round(self.seconds, 3), "multiply_adds": self.multiply_adds}

    def resume(self, numbers: Mapping[str, Any]) -> None:
        """Continue from these :attr:`numbers`, which an epoch's entry has too."""
        self.epochs, self.multiply_adds = float(numbers["epochs"]), int(numbers["multiply_adds"])
        self.seconds = float(numbers["seconds"])
        self._began = time.monotonic() - self.seconds


def _singular(unit: str) -> str:
    return "epoch" if not unit else unit if unit == "s" else unit.removesuffix("s")
