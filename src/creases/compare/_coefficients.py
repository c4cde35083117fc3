"""A network's coefficients over samples: for each output the matrix C_j with rows (J_j(x_i), y_j(x_i)).

Eq. (7.3) of "Local Linearity of ReLU Neural Networks". The rows of a network whose first layer is narrower than its
input lie in the span of that layer's rows, so they are kept as coordinates in an orthonormal basis of it: for a dense
layer of 128 units before 3,072 inputs a twentieth of the numbers, with all lengths and angles unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from creases.compare._factor import Factored, factored, orthonormal
from creases.compare._store import Store
from creases.errors import InputError
from creases.network import Network, PointsLike

#: Bytes that a block of samples may take: on a processor, and on a GPU, which small blocks would leave idle.
BLOCK, GPU_BLOCK = 2**27, 2**32


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients of a network at p samples: ``C_j = features[j] @ basis``, (p, d + 1) for each output j.

    The last column is the offset y, the others the slopes J by the flattened input.
    """

    features: Tensor  #: (n_out, p, r) coordinates of the rows; may be mapped from a file
    basis: Tensor | None  #: (r, d + 1) with orthonormal rows; None where r = d + 1 and they are the rows themselves
    values: Tensor  #: (p, n_out) the network's outputs at the samples

    @property
    def count(self) -> int:
        """Number of samples, p."""
        return self.features.shape[1]

    @property
    def n_out(self) -> int:
        """Number of outputs."""
        return self.features.shape[0]

    @property
    def columns(self) -> int:
        """Length of a row, d + 1."""
        return (self.features if self.basis is None else self.basis).shape[-1]

    def rows(self, j: int, start: int = 0, stop: int | None = None) -> Tensor:
        """Rows ``start`` to ``stop`` of C_j, (rows, d + 1), in the precision they are kept in."""
        own = self.features[j, start:stop]
        return own if self.basis is None else own @ self.basis.to(own.dtype)

    def seen(self, x: Tensor) -> Tensor:
        """Coordinates (q, r) of inputs (q, ...) with a 1 behind them, in float64: ``features . seen`` is an output."""
        points = torch.nn.functional.pad(x.flatten(1).to(self.features.device).double(), (0, 1), value=1.0)
        return points if self.basis is None else points @ self.basis.to(points).T

    def blocks(self) -> Iterator[slice]:
        """Slices of samples whose rows take up to 128 MiB each."""
        size = max(1, BLOCK // (8 * self.columns))
        for start in range(0, self.count, size):
            yield slice(start, min(start + size, self.count))


def coefficients(
    net: Network,
    x: PointsLike,
    *,
    out: str | Path | None = None,
    dtype: torch.dtype | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Coefficients:
    """Coefficients of every output at samples, exactly those that autograd gives.

    Parameters
    ----------
    x
        (p, *input_shape) or (p, n_in) samples.
    out
        A folder to keep them in: written as they come and mapped from there, so that they need no memory; a run that
        was interrupted goes on where it was. Without it they are kept in memory, on the network's device.
    dtype
        torch.float32 or torch.float64: to compute in and to keep. The network's own unless given.
    progress
        Called with the number of samples done and of all.

    Examples
    --------
    >>> import creases
    >>> from torch import nn
    >>> net = creases.read(nn.Sequential(nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 3)))
    >>> C = coefficients(net, [[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    >>> C.n_out, C.rows(0).shape, C.features.shape
    (3, torch.Size([2, 5]), torch.Size([3, 2, 3]))
    """
    dtype = net.dtype if dtype is None else dtype
    if dtype not in (torch.float32, torch.float64):
        raise InputError(f"dtype: expected torch.float32 or torch.float64, got {dtype}")
    net = net.to(dtype)
    samples, single = net.as_batch(x)
    if single:
        raise InputError(f"x: expected a batch of samples (p, {net.n_in}), got one alone; give x[None]")
    narrow = factored(net)
    mix, basis = orthonormal(narrow.weight, narrow.offset) if narrow else (None, None)
    shape = (net.n_out, len(samples), net.n_in + 1 if basis is None else len(basis))
    store = Store.make(net, samples, shape, out)
    for start, C, values in _blocks(net, samples[store.done :], narrow, mix):
        store.put(store.first + start, C, values)
        if progress is not None:
            progress(store.done, len(samples))
    return Coefficients(store.features, basis, store.values)


def _blocks(
    net: Network, x: Tensor, narrow: Factored | None, mix: Tensor | None
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Where each block of samples starts, its features (n_out, b, r) and outputs (b, n_out)."""
    inner = net if narrow is None else narrow.behind
    seen = x if narrow is None else narrow.narrow(x)
    start = 0
    for J, y in inner.jacobians(seen, memory=GPU_BLOCK if x.is_cuda else BLOCK):
        J, y, stop = J.to(x), y.to(x), start + len(J)  # a network without weights has no dtype and device of its own
        rows = torch.cat([J, y.unsqueeze(2)], dim=2)  # (b, m, r)
        if narrow is not None and mix is not None:
            rows = (rows.double() @ mix).to(rows.dtype)
        values = torch.einsum("bmd,bd->bm", J, seen[start:stop].flatten(1)) + y
        yield start, rows.transpose(0, 1), values
        start = stop
