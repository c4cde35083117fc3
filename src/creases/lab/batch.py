"""Many networks of one shape, as stacked arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp
from torch import Tensor, nn

from creases.errors import InputError

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
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            before = self.weights[k - 1].shape[1] if k else W.shape[-1]
            if W.ndim != 3 or W.shape[2] != before or b.shape != W.shape[:2] or len(W) != len(self.weights[0]):
                raise InputError(
                    f"weights, biases: expected (B, out, in) and (B, out) for each layer, and in as the layer before "
                    f"gives; layer {k} has {W.shape} and {b.shape}"
                )
            if W.dtype not in (np.float32, np.float64) or not (W.dtype == b.dtype == self.weights[0].dtype):
                raise InputError(f"weights, biases: expected all float32 or all float64, got {W.dtype} and {b.dtype}")

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

    def __getitem__(self, which: slice | Sequence[int] | NDArray[Any]) -> Batch:
        """Some of the networks."""
        return Batch(tuple(W[which] for W in self.weights), tuple(b[which] for b in self.biases), self.leak)

    @classmethod
    def initial(
        cls, count: int, widths: Sequence[int], *, seed: int, leak: float = 0.0, dtype: Any = np.float32
    ) -> Batch:
        """Networks with first weights drawn as torch does for ``nn.Linear``: uniform within 1 / sqrt(inputs)."""
        rng = np.random.default_rng(seed)
        weights, biases = [], []
        for m, o in pairwise(widths):
            weights.append((rng.uniform(-1, 1, (count, o, m)) / np.sqrt(m)).astype(dtype))
            biases.append((rng.uniform(-1, 1, (count, o)) / np.sqrt(m)).astype(dtype))
        return cls(tuple(weights), tuple(biases), leak)

    @classmethod
    def of(cls, models: Sequence[nn.Sequential], *, dtype: Any = np.float32) -> Batch:
        """Networks from torch modules of one shape: linear layers with ReLUs (or leaky ones) between."""
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
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = h @ W.astype(np.float64).swapaxes(1, 2) + b[:, None].astype(np.float64)
            if k < len(self.weights) - 1:
                h = np.where(h > 0, h, self.leak * h)
        return h

    def losses(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Mean cross-entropy (B,) at inputs and their classes, (n,) or (B, n)."""
        z = self.outputs(X)
        own = np.take_along_axis(z, np.broadcast_to(np.asarray(y), z.shape[:2])[..., None], axis=2)[..., 0]
        return np.asarray((logsumexp(z, axis=2) - own).mean(axis=1))


def _stacked(parts: Sequence[Tensor], dtype: Any) -> Array:
    try:
        return np.stack([part.detach().cpu().numpy() for part in parts]).astype(dtype)
    except ValueError:
        shapes = sorted({tuple(part.shape) for part in parts})
        raise InputError(f"models: expected one shape, got layers of shapes {shapes}") from None
