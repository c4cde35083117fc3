"""Many networks of one shape, as stacked arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp
from torch import Tensor, nn

from creases.errors import InputError
from creases.lab._training.samples import check_samples

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Batch:
    """B networks ``z = W_k bend(... bend(W_1 x + b_1) ...) + b_k`` of one shape, each with its own weights.

    Examples
    --------
    >>> batch = Batch.initial(1000, [2, 3, 2], seed=0)
    >>> batch.count, batch.widths, batch.outputs([[0.0, 1.0]]).shape
    (1000, (2, 3, 2), (1000, 1, 2))
    """

    weights: tuple[Array, ...]  #: for each layer (B, out, in)
    biases: tuple[Array, ...]  #: for each layer (B, out)
    leak: float = 0.0  #: slope of the bend on its negative side; 0 for ReLU

    def __post_init__(self) -> None:
        if not self.weights or len(self.weights) != len(self.biases):
            raise InputError(
                f"weights, biases: expected one of each for each layer, got {len(self.weights)} and {len(self.biases)}"
            )
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            before = self.weights[k - 1].shape[1] if k else W.shape[-1]
            if W.ndim != 3 or W.shape[2] != before or b.shape != W.shape[:2] or len(W) != len(self.weights[0]):
                raise InputError(
                    f"weights, biases: expected (B, out, in) and (B, out) for each layer, and in as the layer before "
                    f"gives; layer {k} has {W.shape} and {b.shape}"
                )
            if W.dtype not in (np.float32, np.float64) or not (W.dtype == b.dtype == self.weights[0].dtype):
                raise InputError(
                    f"weights, biases: expected all float32 or all float64, got {W.dtype} and {b.dtype}; "
                    f"convert them with astype"
                )

    @property
    def count(self) -> int:
        """Number of networks, B."""
        return len(self.weights[0])

    @property
    def widths(self) -> tuple[int, ...]:
        """Units of each layer, inputs first."""
        return (self.weights[0].shape[2], *(W.shape[1] for W in self.weights))

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.weights[0].dtype

    def __getitem__(self, which: int | slice | Sequence[int] | NDArray[Any]) -> Batch:
        """Some of the networks; one number gives a batch of one."""
        which = [which] if isinstance(which, int | np.integer) else which
        return Batch(tuple(W[which] for W in self.weights), tuple(b[which] for b in self.biases), self.leak)

    @classmethod
    def initial(
        cls,
        count: int,
        widths: Sequence[int],
        *,
        seed: int,
        leak: float = 0.0,
        dtype: Any = np.float32,
        how: Literal["torch", "he"] = "torch",
    ) -> Batch:
        """Networks with first weights.

        Parameters
        ----------
        how
            "torch": weights and biases as ``nn.Linear`` draws them, uniform within 1 / sqrt(inputs). "he": weights
            normal with variance 2 / inputs, whatever the leak; biases as torch.
        """
        if count < 0 or len(widths) < 2 or min(widths) < 1:
            raise InputError(
                f"count, widths: expected at least 0 networks, and at least two widths of at least 1 unit (inputs "
                f"first), got {count} and {tuple(widths)}"
            )
        if how not in ("torch", "he"):
            raise InputError(f"how: expected 'torch' or 'he', got {how!r}")
        rng = np.random.default_rng(seed)
        weights, biases = [], []
        for m, o in pairwise(widths):
            drawn = rng.uniform(-1, 1, (count, o, m)) if how == "torch" else rng.normal(0, 2**0.5, (count, o, m))
            weights.append((drawn / np.sqrt(m)).astype(dtype))
            biases.append((rng.uniform(-1, 1, (count, o)) / np.sqrt(m)).astype(dtype))
        return cls(tuple(weights), tuple(biases), leak)

    @classmethod
    def join(cls, batches: Sequence[Batch]) -> Batch:
        """Batches of one shape, leak and dtype, one after another."""
        kinds = sorted({(batch.widths, batch.leak, batch.dtype.name) for batch in batches})
        if len(kinds) != 1:
            raise InputError(
                f"batches: expected at least one, of one shape, leak and dtype, got "
                f"{'; '.join(f'{widths}, {leak}, {dtype}' for widths, leak, dtype in kinds) or 'none'}"
            )
        stacks = zip(*((*batch.weights, *batch.biases) for batch in batches), strict=True)
        joined, depth = [np.concatenate(stack) for stack in stacks], len(batches[0].weights)
        return cls(tuple(joined[:depth]), tuple(joined[depth:]), batches[0].leak)

    @classmethod
    def of(cls, models: Sequence[nn.Sequential], *, dtype: Any = np.float32) -> Batch:
        """Networks from torch modules of one shape: linear layers with ReLUs (or leaky ones) between."""
        if not models or not all(isinstance(model, nn.Sequential) for model in models):
            raise InputError("models: expected at least one, each an nn.Sequential of linear layers and bends")
        first = [layer for layer in models[0] if isinstance(layer, nn.Linear)]
        leaks = {getattr(layer, "negative_slope", 0.0) for layer in models[0] if not isinstance(layer, nn.Linear)}
        if len(models[0]) != 2 * len(first) - 1 or len(leaks) > 1:
            raise InputError("models: expected linear layers with bends of one kind between")
        layers = [[layer for layer in model if isinstance(layer, nn.Linear)] for model in models]
        weights = tuple(_stacked([one[k].weight for one in layers], dtype) for k in range(len(first)))
        biases = tuple(_stacked([one[k].bias for one in layers], dtype) for k in range(len(first)))
        return cls(weights, biases, leaks.pop() if leaks else 0.0)

    def module(self, n: int) -> nn.Sequential:
        """Network n as a torch module, in float64."""
        layers: list[nn.Module] = []
        for W, b in zip(self.weights, self.biases, strict=True):
            linear = nn.Linear(W.shape[2], W.shape[1], device="meta").to_empty(device="cpu").double()
            with torch.no_grad():
                linear.weight.copy_(torch.from_numpy(W[n]))
                linear.bias.copy_(torch.from_numpy(b[n]))
            layers += [linear, nn.LeakyReLU(self.leak) if self.leak else nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def outputs(self, X: Any) -> Array:
        """Outputs (B, n, C) at inputs (n, d), or (B, n, d) for each network's own, in float64."""
        h = np.asarray(X, np.float64)
        if h.ndim not in (2, 3) or h.shape[-1] != self.widths[0] or (h.ndim == 3 and len(h) not in (1, self.count)):
            raise InputError(
                f"X: expected inputs (n, {self.widths[0]}) or ({self.count}, n, {self.widths[0]}), got shape {h.shape}"
            )
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = h @ W.astype(np.float64).swapaxes(1, 2) + b[:, None].astype(np.float64)
            if k < len(self.weights) - 1:
                h = np.where(h > 0, h, self.leak * h)
        return h

    def losses(self, X: Any, y: Any, loss: Literal["ce", "bce", "mse"] = "ce") -> NDArray[np.float64]:
        """Mean losses (B,) at inputs and their targets, which are as :func:`creases.lab.train` takes them."""
        X, y = check_samples(self, X, y, loss, np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # of networks that diverged
            return _means(self.outputs(X), y, loss)


def _means(z: Array, y: Array, loss: str) -> NDArray[np.float64]:
    """Mean losses (B,) of outputs (B, n, C)."""
    if loss == "mse":
        return np.asarray(((z - y) ** 2).mean(axis=(1, 2)))
    if loss == "bce":
        return np.asarray((np.logaddexp(0, z) - z * y).mean(axis=(1, 2)))
    own = np.take_along_axis(z, np.broadcast_to(y, (*z.shape[:2], 1)).astype(int), axis=2)
    return np.asarray((logsumexp(z, axis=2) - own[..., 0]).mean(axis=1))


def _stacked(parts: Sequence[Tensor], dtype: Any) -> Array:
    try:
        return np.stack([part.detach().cpu().numpy() for part in parts]).astype(dtype)
    except ValueError:
        shapes = sorted({tuple(part.shape) for part in parts})
        raise InputError(f"models: expected one shape, got layers of shapes {shapes}") from None
