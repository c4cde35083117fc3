"""The samples of a growth run: in memory or from a loader, for one process or each rank's share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from creases.errors import InputError
from creases.grow import ranks

Pair = tuple[Tensor, Any]  #: inputs, and their target: y, or (y, weights)

_PART = 1000  # samples run at a time where no gradient is kept


class Samples(Protocol):
    """What a growth run asks of its data."""

    @property
    def weighted(self) -> bool:
        """Whether targets come with weights."""

    def epoch(self, size: int, seed: int) -> Iterator[tuple[Tensor, Any, int]]:
        """Batches of a new order: this rank's inputs and targets, and the samples of the batch over all ranks."""

    def parts(self) -> Iterator[Pair]:
        """This rank's share of all samples, once, in their own order."""

    def drawn(self, n: int, seed: int) -> tuple[list[Pair], list[Pair] | None]:
        """This rank's share of n samples at random, and of as many others (None where hardly any are left)."""

    def whole(self, limit: int) -> Whole:
        """The samples as arrays, at most so many of them, the same at every call."""

    def example(self) -> Tensor:
        """Two inputs or so."""


@dataclass(frozen=True, eq=False)
class Whole:
    """Samples as arrays."""

    X: Tensor
    y: Tensor
    weight: Tensor | None
    rows: Tensor | None  #: their numbers in the user's data, rising; None if they are all


@dataclass(eq=False)
class Memory:
    """Samples in memory, on the model's device, the same on every rank."""

    X: Tensor  #: (n, *shape)
    y: Tensor  #: (n, ...)
    weight: Tensor | None = None  #: (n,), 1 in the mean
    rows: Tensor | None = None  #: their numbers in the data that they are a part of, rising; None if they are all

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    def __len__(self) -> int:
        return len(self.X)

    def epoch(self, size: int, seed: int) -> Iterator[tuple[Tensor, Any, int]]:
        order = _order(len(self), seed)
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            yield *self.at(batch[ranks.rank() :: ranks.world()]), len(batch)

    def parts(self) -> Iterator[Pair]:
        mine = torch.arange(len(self))[ranks.rank() :: ranks.world()]
        return (self.at(rows) for rows in torch.split(mine, _PART))

    def drawn(self, n: int, seed: int) -> tuple[list[Pair], list[Pair] | None]:
        order = _order(len(self), seed)
        used = min(n, len(order) - len(order) // 5)
        first, rest = order[:used], order[used : used + n]
        return self._share(first), self._share(rest) if len(rest) else None

    def whole(self, limit: int) -> Whole:
        if len(self) <= limit:
            return Whole(self.X, self.y, self.weight, self.rows)
        some = _order(len(self), 0)[:limit].sort().values
        weight = None if self.weight is None else self.weight[some]
        return Whole(self.X[some], self.y[some], weight, some if self.rows is None else self.rows[some])

    def example(self) -> Tensor:
        return self.X[:2]

    def at(self, rows: Tensor) -> Pair:
        """Inputs and targets at some rows."""
        y = self.y[rows]
        return self.X[rows], y if self.weight is None else (y, self.weight[rows])

    def _share(self, rows: Tensor) -> list[Pair]:
        mine = rows[ranks.rank() :: ranks.world()]
        return [self.at(part) for part in torch.split(mine, _PART)] if len(mine) else []


@dataclass(eq=False)
class Stream:
    """Samples from a loader; under several ranks it is each rank's own, with as many batches on each."""

    loader: DataLoader[Any]
    model: nn.Module

    @property
    def weighted(self) -> bool:
        return False

    def epoch(self, size: int, seed: int) -> Iterator[tuple[Tensor, Any, int]]:
        del size  # the loader's own
        _reseed(self.loader, seed)
        for x, y in self.loader:
            total = torch.tensor(float(len(x)), dtype=torch.float64)
            ranks.total([total])
            yield *self._placed(x, y), int(total)

    def parts(self) -> Iterator[Pair]:
        _reseed(self.loader, 0)
        return (self._placed(x, y) for x, y in self.loader)

    def drawn(self, n: int, seed: int) -> tuple[list[Pair], list[Pair] | None]:
        _reseed(self.loader, seed)
        share = -(-n // ranks.world())
        found = self._first(2 * share)
        used = min(share, len(found.X) - len(found.X) // 5)
        memory = Memory(found.X, found.y)
        rows = torch.arange(len(found.X))
        first, rest = ([memory.at(part) for part in torch.split(half, _PART)] for half in (rows[:used], rows[used:]))
        return first, rest or None

    def whole(self, limit: int) -> Whole:
        _reseed(self.loader, 0)
        return self._first(limit)

    def example(self) -> Tensor:
        _reseed(self.loader, 0)
        return self._first(2).X

    def _first(self, n: int) -> Whole:
        xs, ys, count = [], [], 0
        for x, y in self.loader:
            x, y = self._placed(x, y)
            xs.append(x)
            ys.append(y)
            count += len(x)
            if count >= n:
                break
        if not count:
            raise InputError("data: the loader has no samples")
        return Whole(torch.cat(xs)[:n], torch.cat(ys)[:n], None, None)

    def _placed(self, x: Any, y: Any) -> tuple[Tensor, Tensor]:
        if not isinstance(x, Tensor) or not isinstance(y, Tensor):
            raise InputError(f"data: expected tensors x and y from the loader, got {type(x).__name__} and {type(y)}")
        device, dtype = _kind(self.model)
        return placed(x, device, dtype), placed(y, device, dtype)


def samples(data: Any, model: nn.Module, name: str = "data") -> Samples:
    """The samples of data: ``(X, y)`` or ``(X, y, weights)`` arrays, a problem, a Dataset or a DataLoader of pairs."""
    if isinstance(data, Memory | Stream):
        return data
    if isinstance(data, DataLoader):
        return Stream(data, model)
    if isinstance(data, Dataset):
        return Stream(DataLoader(data, batch_size=100, shuffle=True, generator=torch.Generator()), model)
    try:
        parts = tuple(data)
    except TypeError:
        parts = ()
    if len(parts) not in (2, 3):
        raise InputError(f"{name}: expected (X, y), (X, y, weights), a problem, a Dataset or a DataLoader of pairs")
    device, dtype = _kind(model)
    X, y = (placed(_tensor(part, f"{name}, {which}"), device, dtype) for part, which in zip(parts, "Xy", strict=False))
    if not X.ndim or len(X) != (len(y) if y.ndim else -1) or not len(X):
        raise InputError(f"{name}: expected as many targets as inputs, got X {tuple(X.shape)} and y {tuple(y.shape)}")
    if X.is_floating_point() and not bool(torch.isfinite(X).all()):
        raise InputError(f"{name}: X has NaN or infinite entries; remove or fill them in")
    if y.is_floating_point() and not bool(torch.isfinite(y).all()):
        raise InputError(f"{name}: y has NaN or infinite entries; remove or fill them in")
    return Memory(X, y, _weights(parts[2], X, name) if len(parts) == 3 else None)


def placed(values: Tensor, device: torch.device, dtype: torch.dtype) -> Tensor:
    """On the model's device, numbers with a point in its dtype."""
    return values.to(device, dtype if values.is_floating_point() else values.dtype)


def _weights(given: Any, X: Tensor, name: str) -> Tensor:
    weight = _tensor(given, f"{name}, weights").to(X.device, X.dtype)
    good = weight.shape == X.shape[:1] and bool(torch.isfinite(weight).all()) and bool((weight >= 0).all())
    if not good or not bool(weight.sum() > 0):
        raise InputError(f"{name}: expected a finite weight of at least 0 for each of the {len(X)} samples, some above")
    return weight / weight.double().mean().to(weight)


def _tensor(values: Any, name: str) -> Tensor:
    if isinstance(values, Tensor):
        return values.detach()
    try:
        array = np.asarray(values)
        if array.dtype == np.uint16 or array.dtype == bool:
            array = array.astype(np.int64)
        return torch.from_numpy(np.ascontiguousarray(array))
    except (TypeError, ValueError) as problem:
        raise InputError(f"{name}: expected an array of numbers ({problem})") from None


def _kind(model: nn.Module) -> tuple[torch.device, torch.dtype]:
    like = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    return like.device, like.dtype


def _order(n: int, seed: int) -> Tensor:
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


def _reseed(loader: DataLoader[Any], seed: int) -> None:
    """The same order for the same seed: for random samplers with and without a generator, and distributed ones."""
    torch.default_generator.manual_seed(seed)
    for holder in (loader, loader.sampler):
        generator = getattr(holder, "generator", None)
        if isinstance(generator, torch.Generator):
            generator.manual_seed(seed)
    set_epoch = getattr(loader.sampler, "set_epoch", None)
    if callable(set_epoch):
        set_epoch(seed % 2**31)
