"""Several processes as one: sums over the ranks of torch.distributed, nothing where there is one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from creases.errors import InputError

T = TypeVar("T")


def world_size() -> int:
    """Number of processes."""
    return dist.get_world_size() if _many() else 1


def rank() -> int:
    """This process's number."""
    return dist.get_rank() if _many() else 0


def sum_over_ranks(tensors: Iterable[Tensor]) -> None:
    """Sum each tensor over the ranks, in place."""
    if world_size() > 1:
        for tensor in tensors:
            moved = _moved(tensor)
            dist.all_reduce(moved)
            tensor.copy_(moved)


def broadcast(tensors: Iterable[Tensor]) -> None:
    """Give every rank the first one's values, in place."""
    if world_size() > 1:
        for tensor in tensors:
            moved = _moved(tensor)
            dist.broadcast(moved, 0)
            tensor.copy_(moved)


@contextmanager
def fail_together() -> Iterator[None]:
    """What fails on one rank fails on all: no rank waits for sums that another will never send."""
    problem: Exception | None = None
    try:
        yield
    except Exception as raised:
        if world_size() == 1:
            raise
        problem = raised
    failed = torch.tensor(float(problem is not None))
    sum_over_ranks([failed])
    if problem is not None:
        raise problem
    if failed:
        raise InputError("ranks: another rank refused its share of the samples; its own message says why")


def from_first(value: T) -> T:
    """The first rank's value, on every rank."""
    if world_size() == 1:
        return value
    held: list[T | None] = [value if rank() == 0 else None]
    dist.broadcast_object_list(held, 0)
    found = held[0]
    assert found is not None
    return found


def _many() -> bool:
    return dist.is_available() and dist.is_initialized()


def _moved(tensor: Tensor) -> Tensor:
    """A contiguous copy where the backend works: nccl only sees the GPU."""
    tensor = tensor.detach()
    return (
        tensor.to("cuda", copy=True).contiguous() if dist.get_backend() == "nccl" else tensor.cpu().clone().contiguous()
    )
