"""The budget of a run, in epochs, seconds or multiply-adds, and what counts how much of it is spent."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod
from numbers import Real
from typing import Any, Literal
from weakref import ref

import torch
from torch import optim
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, shape_wrapper

from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks

#: A backward pass costs twice the forward pass.
PASSES_PER_STEP = 3


class Cost:
    """Multiply-adds counted so far."""

    def __init__(self) -> None:
        self.multiply_adds = 0


_current: ContextVar[Cost | None] = ContextVar("creases_growth_cost", default=None)


@contextmanager
def count_cost() -> Iterator[Cost]:
    """Count the multiply-adds of what runs inside: torch's products and factorisations, and what code charges itself.

    Element-wise operations are not counted, as usual.
    """
    cost = Cost()
    token = _current.set(cost)
    as_written: Any = nullcontext()
    if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
        as_written = torch.compiler.set_stance("force_eager")  # in a mode, torch gives up compiling modules for good
    try:
        with as_written, _Products(cost):
            yield cost
    finally:
        _current.reset(token)


class _Products(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Add the multiply-adds of every product and factorisation to a cost.

    torch's FlopCounterMode counts the same, but it hooks modules in a way in which ``torch.autograd.grad`` with respect
    to a leaf fails.
    """

    def __init__(self, cost: Cost) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.cost = cost

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first use imports the compiler, which takes seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        flops = _FLOPS.get(func._overloadpacket)
        if flops is None and func not in _SIMPLE:
            with self:  # in inference mode a layer arrives as one operation
                outputs = func.decompose(*args, **(kwargs or {}))
            if outputs is not NotImplemented:
                return outputs
            _SIMPLE.add(func)
        outputs = func(*args, **(kwargs or {}))
        if flops is not None:
            self.cost.multiply_adds += int(flops(*args, **(kwargs or {}), out_val=outputs)) // 2
        return outputs


def charge(multiply_adds: float) -> None:
    """Charge multiply-adds that torch does not see, such as numpy's, to the growth step that runs."""
    cost = _current.get()
    if cost is not None:
        cost.multiply_adds += int(multiply_adds)


def _cubic(factor: float) -> Callable[..., int]:
    """Return the formula of a factorisation of (..., m, n): factor * m n min(m, n) multiply-adds, as flops."""

    def flops(shape: Any, *args: Any, **kwargs: Any) -> int:
        *batch, m, n = shape
        return int(2 * factor * prod(batch) * m * n * min(m, n))

    return flops


#: Leading terms of the usual algorithms (Golub and Van Loan, Matrix Computations, sections 4.2, 5.5, 8.3 and 8.6).
_FACTORISATIONS: dict[Any, Callable[..., int]] = {
    torch.ops.aten.linalg_cholesky_ex: _cubic(1 / 6),
    torch.ops.aten._linalg_svd: _cubic(11),
    torch.ops.aten._linalg_eigh: _cubic(9 / 2),
    torch.ops.aten.linalg_solve_triangular: lambda a, b, *_, **__: int(prod(a) * b[-1]),  # half of m m k multiply-adds
}

#: Twice the multiply-adds of an operation, from its arguments: torch's own products, and the factorisations.
_FLOPS: dict[Any, Callable[..., int]] = {
    **flop_registry,
    **{operation: shape_wrapper(flops) for operation, flops in _FACTORISATIONS.items()},  # type: ignore[no-untyped-call]
}

#: Operations that have turned out not to consist of others; most of a growth step's, so that asking again is dear.
_SIMPLE: set[Any] = set()


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
        name = (match[2] if match[2] == "s" else match[2].removesuffix("s") or "epoch") if match else ""
        factor, unit = _UNITS.get(name, (0.0, "epochs"))
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

    def extend(self, budget: Any) -> None:
        """Raise the budget; the time since the run ended does not count."""
        before, self.budget = self.budget, Budget.parse(budget)
        self.resume(self.numbers)
        if self.progress >= 1:
            larger, self.budget = self.budget, before
            raise InputError("budget", "be more than is spent already", str(larger))

    def resume(self, numbers: Mapping[str, Any]) -> None:
        """Continue from these :attr:`numbers`, which an epoch's entry has too."""
        self.epochs, self.multiply_adds = float(numbers["epochs"]), int(numbers["multiply_adds"])
        self.seconds = float(numbers["seconds"])
        self._began = time.monotonic() - self.seconds


class StepCount:
    """Counts the steps of an optimizer from now on, as long as it lives."""

    def __init__(self, optimizer: optim.Optimizer | None) -> None:
        self.steps = 0  #: since the last :meth:`take`
        counter = ref(self)  # the optimizer may outlive what watches it

        def count(*_: Any) -> None:
            if (this := counter()) is not None:
                this.steps += 1

        if optimizer is not None:
            optimizer.register_step_post_hook(count)

    def take(self) -> int:
        """Return the steps since the last call."""
        steps, self.steps = self.steps, 0
        return steps
