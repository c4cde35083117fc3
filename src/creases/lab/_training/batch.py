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

from creases._schema import INTEGER, sequence
from creases._validation import check_arguments, check_choice, check_count, check_seed
from creases.errors import InputError
from creases.lab._training.samples import Array, Loss, check_samples


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
                "weights",
                "have an array for each layer, as biases have",
                f"{len(self.weights)} weights and {len(self.biases)} biases",
            )
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            before = self.weights[k - 1].shape[1] if k else W.shape[-1]
            if W.ndim != 3 or W.shape[2] != before or b.shape != W.shape[:2] or len(W) != len(self.weights[0]):
                raise InputError(
                    f"weights[{k}]",
                    f"have shape (B, out, {before}), and biases[{k}] shape (B, out)",
                    f"{W.shape} and {b.shape}",
                )
            if W.dtype not in (np.float32, np.float64) or not (W.dtype == b.dtype == self.weights[0].dtype):
                raise InputError(
                    "weights",
                    "be all float32 or all float64, as biases",
                    f"{W.dtype} and {b.dtype}",
                    "convert them with astype",
                )

    @property
    def count(self) -> int:
        """The number of networks, B."""
        return len(self.weights[0])

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of units of each layer, inputs first."""
        return (self.weights[0].shape[2], *(W.shape[1] for W in self.weights))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of all weights, float32 or float64."""
        return self.weights[0].dtype

    def __getitem__(self, which: int | slice | Sequence[int] | NDArray[Any]) -> Batch:
        """Return some of the networks; an integer gives a batch of one."""
        which = [which] if isinstance(which, int | np.integer) else which
        return Batch(tuple(W[which] for W in self.weights), tuple(b[which] for b in self.biases), self.leak)

    @classmethod
    @check_arguments(widths=sequence(INTEGER))
    def initial(
        cls,
        count: int,
        widths: Sequence[int],
        *,
        seed: int,
        leak: float = 0.0,
        dtype: Any = np.float32,
        init: Literal["torch", "he"] = "torch",
    ) -> Batch:
        """Draw the initial weights of ``count`` networks.

        Parameters
        ----------
        count
            Number of networks, B.
        widths
            Number of units of each layer, inputs first.
        seed
            Seed of the random numbers.
        leak
            Slope of the bend on its negative side; 0 for ReLU.
        dtype
            float32 or float64.
        init
            "torch": weights and biases as ``nn.Linear`` draws them, uniform within 1 / sqrt(inputs). "he": weights
            normal with variance 2 / inputs, whatever the leak; biases as torch.
        """
        check_count(count, "count", least=0)
        if len(widths) < 2 or min(widths) < 1:
            raise InputError("widths", "be at least two positive integers, inputs first", f"{tuple(widths)}")
        check_choice(init, ("torch", "he"), "init")
        rng = np.random.default_rng(check_seed(seed))
        weights, biases = [], []
        for m, o in pairwise(widths):
            values = rng.uniform(-1, 1, (count, o, m)) if init == "torch" else rng.normal(0, 2**0.5, (count, o, m))
            weights.append((values / np.sqrt(m)).astype(dtype))
            biases.append((rng.uniform(-1, 1, (count, o)) / np.sqrt(m)).astype(dtype))
        return cls(tuple(weights), tuple(biases), leak)

    @classmethod
    def join(cls, batches: Sequence[Batch]) -> Batch:
        """Concatenate batches of one shape, leak and dtype."""
        kinds = sorted({(batch.widths, batch.leak, batch.dtype.name) for batch in batches})
        if len(kinds) != 1:
            listed = "; ".join(f"{widths}, {leak}, {dtype}" for widths, leak, dtype in kinds)
            raise InputError("batches", "be at least one, of one shape, leak and dtype", listed or "none")
        stacks = zip(*((*batch.weights, *batch.biases) for batch in batches), strict=True)
        arrays, depth = [np.concatenate(stack) for stack in stacks], len(batches[0].weights)
        return cls(tuple(arrays[:depth]), tuple(arrays[depth:]), batches[0].leak)

    @classmethod
    def from_modules(cls, models: Sequence[nn.Sequential], *, dtype: Any = np.float32) -> Batch:
        """Stack torch modules of one shape: linear layers with ReLUs (or leaky ones) between."""
        if not models or not all(isinstance(model, nn.Sequential) for model in models):
            raise InputError("models", "be at least one nn.Sequential of linear layers with bends between")
        first = [layer for layer in models[0] if isinstance(layer, nn.Linear)]
        leaks = {getattr(layer, "negative_slope", 0.0) for layer in models[0] if not isinstance(layer, nn.Linear)}
        if len(models[0]) != 2 * len(first) - 1 or len(leaks) > 1:
            raise InputError("models", "be linear layers with bends of one kind between", f"{models[0]}")
        layers = [[layer for layer in model if isinstance(layer, nn.Linear)] for model in models]
        weights = tuple(_stack([linears[k].weight for linears in layers], dtype) for k in range(len(first)))
        biases = tuple(_stack([linears[k].bias for linears in layers], dtype) for k in range(len(first)))
        return cls(weights, biases, leaks.pop() if leaks else 0.0)

    def module(self, n: int) -> nn.Sequential:
        """Return network n as a torch module, in float64."""
        layers: list[nn.Module] = []
        for W, b in zip(self.weights, self.biases, strict=True):
            linear = nn.Linear(W.shape[2], W.shape[1], device="meta").to_empty(device="cpu").double()
            with torch.no_grad():
                linear.weight.copy_(torch.from_numpy(W[n]))
                linear.bias.copy_(torch.from_numpy(b[n]))
            layers += [linear, nn.LeakyReLU(self.leak) if self.leak else nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    def outputs(self, X: Any) -> Array:
        """Return outputs (B, n, C) at inputs (n, d) for all networks, or (B, n, d), in float64."""
        h = np.asarray(X, np.float64)
        d = self.widths[0]
        if h.ndim not in (2, 3) or h.shape[-1] != d or (h.ndim == 3 and len(h) not in (1, self.count)):
            raise InputError("X", f"have shape (n, {d}) or ({self.count}, n, {d})", f"shape {h.shape}")
        for k, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = h @ W.astype(np.float64).swapaxes(1, 2) + b[:, None].astype(np.float64)
            if k < len(self.weights) - 1:
                h = np.where(h > 0, h, self.leak * h)
        return h

    def losses(self, X: Any, y: Any, loss: Loss = "cross_entropy") -> NDArray[np.float64]:
        """Return mean losses (B,) at samples; see :func:`creases.lab.train` for the shapes of X and y."""
        X, y = check_samples(self.count, self.widths, X, y, loss, np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # of networks that diverged
            return _mean_losses(self.outputs(X), y, loss)


def _mean_losses(z: Array, y: Array, loss: str) -> NDArray[np.float64]:
    """Return mean losses (B,) of outputs (B, n, C)."""
    if loss == "squared_error":
        return np.asarray(((z - y) ** 2).mean(axis=(1, 2)))
    if loss == "binary_cross_entropy":
        return np.asarray((np.logaddexp(0, z) - z * y).mean(axis=(1, 2)))
    of_class = np.take_along_axis(z, np.broadcast_to(y, (*z.shape[:2], 1)).astype(int), axis=2)
    return np.asarray((logsumexp(z, axis=2) - of_class[..., 0]).mean(axis=1))


def _stack(parts: Sequence[Tensor], dtype: Any) -> Array:
    try:
        return np.stack([part.detach().cpu().numpy() for part in parts]).astype(dtype)
    except ValueError:
        shapes = sorted({tuple(part.shape) for part in parts})
        raise InputError("models", "have one shape", f"layers of shapes {shapes}") from None
