"""The samples of a growth run: in memory, in a Dataset or from a loader, split over ranks; some may be held out."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, default_collate

from creases._text import OneLine
from creases._typing import Floats
from creases._validation import check_finite, check_numbers, check_vector
from creases.errors import InputError
from creases.growth._integrations import _ranks as ranks
from creases.network.surgery import without_side_effects

Pair = tuple[Tensor, Any]  #: inputs, and their target: y, or (y, weights)
Batch = tuple[Tensor, Any, int]  #: the same, and the samples of the batch over all ranks

_PART = 1000  # samples run at a time where no gradient is kept


class Samples(Protocol):
    """The data of a growth run."""

    @property
    def weighted(self) -> bool:
        """Whether targets come with weights."""

    @property
    def size(self) -> int | None:
        """The number of samples in an epoch, over all ranks; None where a loader does not say."""

    @property
    def batch_size(self) -> int | None:
        """Samples in a batch, over all ranks, where a loader decides; 0 where it does not say."""

    def epoch(self, size: int, seed: int) -> Generator[Batch]:
        """Yield batches in a new order, equally many on every rank: this rank's samples, possibly none."""

    def parts(self) -> Generator[Pair]:
        """Yield this rank's share of all samples, once, in the same order at every call."""

    def draw(self, n: int, seed: int) -> tuple[list[Pair], list[Pair] | None]:
        """Return this rank's share of n random samples, and of as many others (None if hardly any are left)."""

    def arrays(self, max_samples: int) -> SampleArrays:
        """Return at most ``max_samples`` samples as arrays, the same at every call."""

    def example(self) -> Tensor:
        """Return about two inputs."""


@dataclass(frozen=True, eq=False)
class SampleArrays:
    """Samples as arrays."""

    X: Tensor
    y: Tensor
    weight: Tensor | None
    rows: Tensor | None  #: their numbers in the user's data; None if they are all


class _IndexedSamples:
    """Samples accessed by number, the same on every rank: each takes its share of every batch."""

    weight: Tensor | None = None  #: (n,), 1 in the mean
    rows: Tensor | None = None  #: their numbers in the data that they are a part of; None if they are all

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def weighted(self) -> bool:
        return self.weight is not None

    @property
    def size(self) -> int | None:
        return len(self)

    @property
    def batch_size(self) -> int | None:
        return None

    def at(self, rows: Tensor) -> Pair:
        """Return inputs and targets of some rows."""
        raise NotImplementedError

    def epoch(self, size: int, seed: int) -> Generator[Batch]:
        order = _permutation(len(self), seed)
        for batch in torch.tensor_split(order, -(-len(order) // size)):  # even: no single sample for a batch-norm
            yield *self.at(_rank_share(batch)), len(batch)

    def parts(self) -> Generator[Pair]:
        for rows in torch.split(_rank_share(torch.arange(len(self))), _PART):
            yield self.at(rows)

    def draw(self, n: int, seed: int) -> tuple[list[Pair], list[Pair] | None]:
        order = _permutation(len(self), seed)
        used = min(n, len(order) - len(order) // 5)
        first, rest = order[:used], order[used : used + n]
        with without_side_effects():
            return self._share(first), self._share(rest) if len(rest) else None

    def arrays(self, max_samples: int) -> SampleArrays:
        n = len(self)
        some = None if n <= max_samples else _permutation(n, 0)[:max_samples].sort().values
        with without_side_effects():
            X, target = self.at(torch.arange(n) if some is None else some)
        y, weight = target if self.weighted else (target, None)
        return SampleArrays(X, y, weight, some if self.rows is None else self.rows if some is None else self.rows[some])

    def _share(self, rows: Tensor) -> list[Pair]:
        mine = _rank_share(rows)
        return [self.at(part) for part in torch.split(mine, _PART)] if len(mine) else []


@dataclass(eq=False, repr=False)
class InMemorySamples(_IndexedSamples, OneLine):
    """Samples in memory, on the model's device."""

    X: Tensor  #: (n, *shape)
    y: Tensor  #: (n, ...)
    weight: Tensor | None = None
    rows: Tensor | None = None

    def __len__(self) -> int:
        return len(self.X)

    def at(self, rows: Tensor) -> Pair:
        y = self.y[rows]
        return self.X[rows], y if self.weight is None else (y, self.weight[rows])

    def example(self) -> Tensor:
        return self.X[:2]

    def part(self, rows: Tensor, name: str) -> InMemorySamples:
        """Return some of them, by their rising numbers, with weights of mean 1 again."""
        weight = None if self.weight is None else _normalise(self.weight[rows], name)
        return InMemorySamples(self.X[rows], self.y[rows], weight, rows if self.rows is None else self.rows[rows])


@dataclass(eq=False)
class DatasetSamples(_IndexedSamples):
    """Samples of a Dataset of pairs, fetched when needed."""

    dataset: Dataset[Any]
    model: nn.Module

    def __len__(self) -> int:
        return len(self.dataset)  # type: ignore[arg-type]

    def at(self, rows: Tensor) -> Pair:
        if not len(rows):
            x, y = self.at(torch.zeros(1, dtype=torch.int64))
            return x[:0], y[:0]
        return _match_pair(default_collate([self.dataset[row] for row in rows.tolist()]), self.model)

    def example(self) -> Tensor:
        with without_side_effects():
            return self.at(torch.arange(min(2, len(self))))[0]


@dataclass(eq=False)
class LoaderSamples:
    """Samples from a loader; with several ranks each has its own."""

    loader: DataLoader[Any]
    model: nn.Module
    _example: Tensor | None = None

    @property
    def weighted(self) -> bool:
        return False

    @property
    def size(self) -> int | None:
        sampler: Any = self.loader.sampler
        batch = self.loader.batch_size
        n = float(len(sampler)) if hasattr(sampler, "__len__") and batch is not None else float("nan")
        total = torch.tensor(n - n % batch if batch and self.loader.drop_last else n, dtype=torch.float64)
        ranks.sum_over_ranks([total])
        return None if torch.isnan(total) else int(total)

    @property
    def batch_size(self) -> int | None:
        return (self.loader.batch_size or 0) * ranks.world_size()

    def epoch(self, size: int, seed: int) -> Generator[Batch]:
        del size  # the loader's own
        with _seed_samplers(self.loader, seed):
            batches = self._batches()
            pair = next(batches, None)
            if pair is None:
                raise InputError("data", "have samples", "an empty loader")
            while True:  # a rank that has no more batches waits for the others with empty ones
                total = torch.tensor(float(len(pair[0])), dtype=torch.float64)
                ranks.sum_over_ranks([total])
                if not total:
                    return
                yield *pair, int(total)
                pair = next(batches, (pair[0][:0], pair[1][:0]))

    def parts(self) -> Generator[Pair]:
        with _seed_samplers(self.loader, 0):
            yield from self._batches()

    def draw(self, n: int, seed: int) -> tuple[list[Pair], list[Pair] | None]:
        share = -(-n // ranks.world_size())
        sample = self._first(2 * share, seed)
        used = min(share, len(sample.X) - len(sample.X) // 5)
        memory = InMemorySamples(sample.X, sample.y)
        rows = torch.arange(len(sample.X))
        first, rest = ([memory.at(part) for part in torch.split(half, _PART)] for half in (rows[:used], rows[used:]))
        held = torch.tensor(float(len(sample.X) - used))
        ranks.sum_over_ranks([held])
        return first, rest if held else None

    def arrays(self, max_samples: int) -> SampleArrays:
        return self._first(max_samples, 0)

    def example(self) -> Tensor:
        if self._example is None:
            self._example = self._first(2, 0).X
        return self._example

    def _batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        return (_match_pair(batch, self.model) for batch in self.loader)

    def _first(self, n: int, seed: int) -> SampleArrays:
        xs, ys, count = [], [], 0
        with without_side_effects(), _seed_samplers(self.loader, seed):
            torch.default_generator.manual_seed(seed)
            for x, y in self._batches():
                xs.append(x)
                ys.append(y)
                count += len(x)
                if count >= n:
                    break
        if not count:
            raise InputError("data", "have samples", "an empty loader")
        return SampleArrays(torch.cat(xs)[:n], torch.cat(ys)[:n], None, None)


def as_samples(data: Any, model: nn.Module, name: str = "data") -> Samples:
    """Return samples of ``(X, y)`` or ``(X, y, weights)`` arrays, a problem, a Dataset or a DataLoader of pairs."""
    if isinstance(data, InMemorySamples | DatasetSamples | LoaderSamples):
        return data
    if isinstance(data, DataLoader):
        return LoaderSamples(data, model)
    if isinstance(data, TensorDataset):
        data = data.tensors
    elif isinstance(data, Dataset):
        if isinstance(data, IterableDataset) or not hasattr(data, "__len__"):
            raise InputError(name, "be in a DataLoader if it is a Dataset that only iterates", type(data).__name__)
        if not len(data):
            raise InputError(name, "have samples", "an empty Dataset")
        return DatasetSamples(data, model)
    return _in_memory(data, model, name)


def _in_memory(data: Any, model: nn.Module, name: str) -> InMemorySamples:
    try:
        parts = () if isinstance(data, Tensor | np.ndarray | dict | str) else tuple(data)
    except TypeError:
        parts = ()
    if len(parts) not in (2, 3):
        expected = "be (X, y), (X, y, weights), a problem, a Dataset or a DataLoader of pairs"
        raise InputError(name, expected, f"{len(parts)} parts" if parts else type(data).__name__)
    X, y = match_model(_tensor(parts[0], f"{name}.X"), _tensor(parts[1], f"{name}.y"), model)
    if X.ndim and not len(X):
        raise InputError(name, "have samples", f"X of shape {tuple(X.shape)}")
    if not X.ndim or len(X) != (len(y) if y.ndim else -1):
        raise InputError(name, "have as many targets as inputs", f"X {tuple(X.shape)} and y {tuple(y.shape)}")
    for values, which in ((X, "X"), (y, "y")):
        if values.is_floating_point() and not bool(torch.isfinite(values).all()):
            got = f"NaN or infinite entries in {which} ({values.dtype})"
            raise InputError(name, "be finite", got, "remove them or fill them in")
    return InMemorySamples(X, y, _weights(parts[2], X, name) if len(parts) == 3 else None)


def match_model(x: Tensor, y: Tensor, model: nn.Module) -> tuple[Tensor, Tensor]:
    """Return samples on the model's device and in its dtype; integers stay for classes and inputs of embeddings."""
    like = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(0))
    looked_up = any(isinstance(module, nn.Embedding | nn.EmbeddingBag) for module in model.modules())
    keep = looked_up and not x.is_floating_point()
    return x.to(like.device, x.dtype if keep else like.dtype), y.to(
        like.device, like.dtype if y.is_floating_point() else torch.int64
    )


def _match_pair(batch: Any, model: nn.Module) -> tuple[Tensor, Tensor]:
    if not isinstance(batch, tuple | list) or len(batch) != 2 or not all(isinstance(part, Tensor) for part in batch):
        got = f"{len(batch)} parts" if isinstance(batch, tuple | list) else type(batch).__name__
        raise InputError("data", "give pairs of tensors x, y", got)
    return match_model(batch[0], batch[1], model)


def _weights(values: Any, X: Tensor, name: str) -> Tensor:
    weight = _tensor(values, f"{name}.weights").to(X.device, X.dtype if X.is_floating_point() else torch.float32)
    if weight.shape != X.shape[:1] or not bool(torch.isfinite(weight).all()) or not bool((weight >= 0).all()):
        expected = f"have a finite, non-negative weight for each of the {len(X)} samples"
        raise InputError(
            name, expected, f"weights of shape {tuple(weight.shape)}" if weight.shape != X.shape[:1] else ""
        )
    return _normalise(weight, name)


def _normalise(weight: Tensor, name: str) -> Tensor:
    """Return weights scaled to mean 1."""
    if not bool(weight.any()):
        raise InputError(name, "have at least one positive weight", f"{len(weight)} samples of weight 0")
    return weight / weight.double().mean().to(weight)


def _tensor(values: Any, name: str) -> Tensor:
    if not isinstance(values, Tensor):
        try:
            array = np.asarray(values)
            if array.dtype.kind in "bu" and array.dtype != np.uint8:
                array = array.astype(np.int64)
            values = torch.from_numpy(np.require(array, requirements=["C", "W"]))
        except (TypeError, ValueError) as problem:
            raise InputError(name, "be an array of numbers", f"{problem}") from None
    assert isinstance(values, Tensor)
    if values.is_complex():
        raise InputError(name, "be real", "complex numbers")
    return values.detach()


def combine_seeds(*numbers: int) -> int:
    """Return a seed from several numbers, a different one for each combination."""
    mixed = torch.tensor(0, dtype=torch.int64)
    for number in numbers:  # the splitmix step: neighbouring numbers give unrelated seeds
        mixed = (mixed ^ number) * 6364136223846793005 + 1442695040888963407
        mixed = mixed ^ (mixed >> 31)
    return int(mixed) & (2**31 - 1)


def _permutation(n: int, seed: int) -> Tensor:
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))


def _rank_share(rows: Tensor) -> Tensor:
    """Return this rank's share of rows."""
    return rows[ranks.rank() :: ranks.world_size()]


@contextmanager
def _seed_samplers(loader: DataLoader[Any], seed: int) -> Iterator[None]:
    """Give random and distributed samplers the same order for the same seed; restore their state afterwards.

    Samplers without a generator use torch's global random numbers: the caller seeds those.
    """
    holders = [getattr(holder, "generator", None) for holder in (loader, loader.sampler)]
    generators = [generator for generator in holders if isinstance(generator, torch.Generator)]
    states = [generator.get_state() for generator in generators]
    set_epoch = getattr(loader.sampler, "set_epoch", None)
    epoch = getattr(loader.sampler, "epoch", None)
    for generator in generators:
        generator.manual_seed(seed)
    if callable(set_epoch):
        set_epoch(seed % 2**31)
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        if callable(set_epoch) and epoch is not None:
            set_epoch(epoch)


#: Samples in memory from which a fraction of them is held out where nothing is said about validation: 30 of them.
MIN_SAMPLES = 200


def resolve_validation(samples: Samples, validation: Any, fraction: float) -> Any:
    """Return validation samples or a fraction as they are given; "auto" is a fraction of enough samples in memory."""
    if not isinstance(validation, str) or validation != "auto":
        return validation
    can_divide = isinstance(samples, InMemorySamples) and len(samples) >= MIN_SAMPLES
    return fraction if can_divide else None


def split_samples(train: Any, validation: Any, model: nn.Module, seed: int) -> tuple[Any, Any]:
    """Return the samples to train on and those to validate with."""
    if not isinstance(validation, int | float) or isinstance(validation, bool):
        return train, None if validation is None else as_samples(validation, model, "validation")
    if not isinstance(train, InMemorySamples) or not 0 < validation < 1:
        raise InputError(
            "validation", "be samples, or a fraction above 0 and below 1 of data in memory", f"{validation}"
        )
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(combine_seeds(seed, 2)))
    count = max(1, round(validation * len(train)))
    if count >= len(train):
        raise InputError("validation", "leave samples to train on", f"{validation} of {len(train)} samples")
    return train.part(order[count:].sort().values, "data"), train.part(order[:count].sort().values, "validation")


def fingerprint(data: Samples) -> str:
    """Return what distinguishes data in memory from other data."""
    if not isinstance(data, InMemorySamples):
        return f"{len(data)} samples" if isinstance(data, DatasetSamples) else "a loader"
    check = 0
    for part in (data.X, data.y, data.weight):
        if part is not None:
            check = zlib.crc32(part.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data, check)
    return f"{len(data)} samples, {check:08x}"


# Standardised data for training, and networks and points back in the data's units.


@dataclass(frozen=True, eq=False, repr=False)
class Scaling(OneLine):
    """The scaling of inputs to ``(x - center) / spread``, and of regression targets; see :meth:`from_data`.

    Examples
    --------
    >>> import numpy as np
    >>> scaling = Scaling.from_data(np.array([[1.0, 10.0], [3.0, 10.0]]))
    >>> scaling.inputs(np.array([[3.0, 10.0]]))
    array([[1., 0.]])
    >>> scaling.point([1.0, 0.0])
    array([ 3., 10.])
    """

    center: Floats  #: (d,)
    spread: Floats  #: (d,) 1 where a column is constant
    target_center: float | Floats = 0.0  #: (m,) where there are several targets
    target_spread: float | Floats = 1.0
    constant: NDArray[np.bool_] | None = None  #: (d,) columns that do not vary, which networks ignore

    @classmethod
    def from_data(cls, X: Floats, y: Floats | None = None) -> Scaling:
        """Return the scaling of inputs X (n, d) and, for a regression, of targets y (n,)."""
        from sklearn.preprocessing import StandardScaler  # slow to import

        rows = check_numbers(X, "X")
        if rows.ndim != 2 or not rows.size:
            raise InputError("X", "have shape (n, d) with at least one row and column", f"{rows.shape}")
        check_finite(rows, "X")
        inputs = StandardScaler().fit(rows)
        if y is None:
            return cls(inputs.mean_, inputs.scale_)
        targets = StandardScaler().fit(check_vector(y, "y", len(rows))[:, None])
        return cls(inputs.mean_, inputs.scale_, float(targets.mean_[0]), float(targets.scale_[0]))

    def inputs(self, X: Floats) -> Floats:
        """Return scaled inputs (n, d)."""
        return np.asarray((X - self.center) / self.spread)

    def targets(self, y: Floats) -> Floats:
        """Return scaled targets, (n,) or (n, m)."""
        return np.asarray((y - self.target_center) / self.target_spread)

    def point(self, x: Sequence[float] | Floats) -> Floats:
        """Return a scaled point (d,) in the data's units."""
        return np.asarray(x) * self.spread + self.center

    def fold_into(self, model: nn.Sequential) -> nn.Sequential:
        """Return a copy of the network, in float64, with the scaling in its first and last layer.

        It takes inputs and gives outputs in the data's units. The weights of constant columns, which training never
        changes, become 0. The model must be a Sequential that begins and ends with a linear layer with bias.
        """
        copy = deepcopy(model).double().cpu()
        first, last = (_linear(layer) for layer in (copy[0], copy[-1]))
        with torch.no_grad():
            if self.constant is not None:
                first.weight[:, torch.from_numpy(self.constant)] = 0.0
            first.weight.div_(torch.from_numpy(self.spread))
            first.bias.sub_(first.weight @ torch.from_numpy(self.center))
            spread = torch.as_tensor(self.target_spread, dtype=torch.float64)
            last.weight.mul_(spread.reshape(-1, 1))
            last.bias.mul_(spread).add_(torch.as_tensor(self.target_center, dtype=torch.float64))
        return copy

    def to_dict(self) -> dict[str, Any]:
        """Return the scaling as JSON-able data."""
        return {
            "center": self.center.tolist(),
            "spread": self.spread.tolist(),
            "target_center": np.asarray(self.target_center).tolist(),
            "target_spread": np.asarray(self.target_spread).tolist(),
        }


def _linear(layer: nn.Module) -> nn.Linear:
    if not isinstance(layer, nn.Linear) or layer.bias is None:
        raise InputError("model", "begin and end with a linear layer with bias", str(layer))
    return layer
