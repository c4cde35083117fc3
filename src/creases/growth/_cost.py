"""The compute of a run in multiply-adds: training steps by formula, growth steps counted as they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, shape_wrapper

from creases.growth.integrations._compile import run_uncompiled

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
    try:
        with run_uncompiled(), _Products(cost):
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


def _solve(a: Any, b: Any, *args: Any, **kwargs: Any) -> int:
    return int(prod(a) * b[-1])  # a triangle: half of m m k multiply-adds


#: Leading terms of the usual algorithms (Golub and Van Loan, Matrix Computations, sections 4.2, 5.5, 8.3 and 8.6).
_FACTORISATIONS: dict[Any, Callable[..., int]] = {
    torch.ops.aten.linalg_cholesky_ex: _cubic(1 / 6),
    torch.ops.aten._linalg_svd: _cubic(11),
    torch.ops.aten._linalg_eigh: _cubic(9 / 2),
    torch.ops.aten.linalg_solve_triangular: _solve,
}

#: Twice the multiply-adds of an operation, from its arguments: torch's own products, and the factorisations.
_FLOPS: dict[Any, Callable[..., int]] = {
    **flop_registry,
    **{operation: shape_wrapper(flops) for operation, flops in _FACTORISATIONS.items()},  # type: ignore[no-untyped-call]
}

#: Operations that have turned out not to consist of others; most of a growth step's, so that asking again is dear.
_SIMPLE: set[Any] = set()
