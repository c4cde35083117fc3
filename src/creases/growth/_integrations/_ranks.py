"""Sums and copies over the ranks of torch.distributed; nothing happens with one process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from creases.errors import InputError

T = TypeVar("T")


def world_size() -> int:
    """Return the number of processes."""
    return dist.get_world_size() if _is_distributed() else 1


def rank() -> int:
    """Return this process's number."""
    return dist.get_rank() if _is_distributed() else 0


def sum_over_ranks(tensors: Iterable[Tensor]) -> None:
    """Sum each tensor over the ranks, in place."""
    if world_size() > 1:
        for tensor in tensors:
            copy = _backend_copy(tensor)
            dist.all_reduce(copy)
            tensor.copy_(copy)


def broadcast(tensors: Iterable[Tensor]) -> None:
    """Copy the first rank's values to every rank, in place."""
    if world_size() > 1:
        for tensor in tensors:
            copy = _backend_copy(tensor)
            dist.broadcast(copy, 0)
            tensor.copy_(copy)


def sum_gradients(model: nn.Module) -> None:
    """Sum the gradients over the ranks, each of which has its share of the batch's mean."""
    if world_size() == 1:
        return
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not trained:
        return
    has = torch.tensor([float(parameter.grad is not None) for parameter in trained]).to(trained[0])
    parts = [torch.zeros_like(each) if each.grad is None else each.grad for each in trained]
    flat = torch.cat([has, *(part.flatten() for part in parts)])
    sum_over_ranks([flat])
    has, *sums = torch.split(flat, [len(trained), *(each.numel() for each in trained)])
    for parameter, some, gradient in zip(trained, has, sums, strict=True):
        parameter.grad = gradient.reshape(parameter.shape).to(parameter, copy=True) if some else None


@contextmanager
def fail_together() -> Iterator[None]:
    """Fail on all ranks if the block fails on one, so that no rank waits for sums that another never sends."""
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
        raise InputError("samples", "be valid on every rank", hint="another rank refused its share, see its message")


def from_first(value: T) -> T:
    """Return the first rank's value on every rank."""
    if world_size() == 1:
        return value
    values: list[T | None] = [value if rank() == 0 else None]
    dist.broadcast_object_list(values, 0)
    first = values[0]
    assert first is not None
    return first


def _is_distributed() -> bool:
    return dist.is_available() and dist.is_initialized()


def _backend_copy(tensor: Tensor) -> Tensor:
    """Return a contiguous copy on a device of the backend: nccl needs the GPU."""
    tensor = tensor.detach()
    return (
        tensor.to("cuda", copy=True).contiguous() if dist.get_backend() == "nccl" else tensor.cpu().clone().contiguous()
    )
