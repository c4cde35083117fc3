"""A network's coefficients over samples: for each output the matrix C_j with rows (J_j(x_i), y_j(x_i)).

The dissertation, eq. (7.3). The rows of a network whose first layer is narrower than its
input lie in the span of that layer's rows, so they are kept as coordinates in an orthonormal basis of it: for a dense
layer of 128 units before 3,072 inputs a twentieth of the numbers, with all lengths and angles unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from creases._typing import Progress
from creases._validation import check_choice
from creases.compare._factor import Factorisation, factorise, orthonormal
from creases.compare._store import Store
from creases.errors import InputError
from creases.network import Network, PointsLike, as_network

#: Bytes that a block of samples may take: on a processor, and on a GPU, which small blocks would leave idle.
BLOCK, GPU_BLOCK = 2**27, 2**32


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of a network at p samples: ``C_j = features[j] @ basis``, (p, d + 1) for each output j.

    The last column is the offset y, the others the slopes J by the flattened input.
    """

    features: Tensor  #: (n_out, p, r) coordinates of the rows; may be mapped from a file
    basis: Tensor | None  #: (r, d + 1) with orthonormal rows; None where features are the rows themselves, r = d + 1
    values: Tensor  #: (p, n_out) the network's outputs at the samples

    @property
    def count(self) -> int:
        """The number of samples, p."""
        return self.features.shape[1]

    @property
    def n_out(self) -> int:
        """The number of outputs."""
        return self.features.shape[0]

    @property
    def columns(self) -> int:
        """The length of a row, d + 1."""
        return (self.features if self.basis is None else self.basis).shape[-1]

    def rows(self, j: int, start: int = 0, stop: int | None = None) -> Tensor:
        """Return rows ``start`` to ``stop`` of C_j, (rows, d + 1), in the precision they are stored in."""
        coordinates = self.features[j, start:stop]
        return coordinates if self.basis is None else coordinates @ self.basis.to(coordinates.dtype)

    def coordinates(self, X: Tensor) -> Tensor:
        """Return coordinates (q, r) of inputs (q, ...) followed by a 1: their product with features is the output."""
        points = torch.nn.functional.pad(X.flatten(1).to(self.features.device).double(), (0, 1), value=1.0)
        return points if self.basis is None else points @ self.basis.to(points).T

    def blocks(self) -> Iterator[slice]:
        """Yield slices of samples whose rows take up to 128 MiB each."""
        size = max(1, BLOCK // (8 * self.columns))
        for start in range(0, self.count, size):
            yield slice(start, min(start + size, self.count))


def coefficients(
    net: Network,
    X: PointsLike,
    *,
    out: str | Path | None = None,
    dtype: torch.dtype | None = None,
    progress: Progress | None = None,
) -> Coefficients:
    """Return the coefficients of every output at samples, exactly as autograd computes them.

    Parameters
    ----------
    net
        A network, a torch module or a file name.
    X
        (p, *input_shape) or (p, n_in) samples.
    out
        Folder to store them in: they are written block by block and memory-mapped, so that they need no memory, and an
        interrupted run resumes where it stopped. Without it they stay in memory, on the network's device.
    dtype
        torch.float32 or torch.float64, to compute in and to store. The network's own unless given.
    progress
        Called as ``progress("coefficients", done, total)`` with numbers of samples.

    References
    ----------
    .. [1] Ben Sattelberg, "Local Linearity of ReLU Neural Networks", dissertation, Colorado State University, 2026,
       eq. (7.3).

    Examples
    --------
    >>> import creases
    >>> from torch import nn
    >>> net = creases.read(nn.Sequential(nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 3)))
    >>> C = coefficients(net, [[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    >>> C.n_out, C.rows(0).shape, C.features.shape
    (3, torch.Size([2, 5]), torch.Size([3, 2, 3]))
    """
    net = as_network(net)
    dtype = check_choice(net.dtype if dtype is None else dtype, (torch.float32, torch.float64), "dtype")
    net = net.to(dtype)
    samples = check_batch(net, X)
    narrow = factorise(net)
    mix, basis = orthonormal(narrow.weight, narrow.offset) if narrow else (None, None)
    shape = (net.n_out, len(samples), net.n_in + 1 if basis is None else len(basis))
    store = Store.create(net, samples, shape, out)
    for start, C, values in _blocks(net, samples[store.done :], narrow, mix):
        store.put(store.first + start, C, values)
        if progress is not None:
            progress("coefficients", store.done, len(samples))
    return Coefficients(store.features, basis, store.values)


def check_batch(net: Network, X: PointsLike) -> Tensor:
    """Return samples (p, ...) as the network takes them; a single one must be a batch of one."""
    samples, single = net.as_batch(X, "X")
    if single:
        raise InputError("X", f"be a batch of samples (p, {net.n_in})", "a single sample", "give X[None]")
    return samples


def _blocks(
    net: Network, x: Tensor, narrow: Factorisation | None, mix: Tensor | None
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Yield the first sample of each block, its features (n_out, b, r) and outputs (b, n_out)."""
    inner = net if narrow is None else narrow.behind
    seen = x if narrow is None else narrow.narrow(x)
    start = 0
    for J, y in inner.jacobians(seen, memory=GPU_BLOCK if x.is_cuda else BLOCK):
        J, y, stop = J.to(x), y.to(x), start + len(J)  # a network without weights has neither dtype nor device
        rows = torch.cat([J, y.unsqueeze(2)], dim=2)  # (b, m, r)
        if narrow is not None and mix is not None:
            rows = (rows.double() @ mix).to(rows.dtype)
        values = torch.einsum("bmd,bd->bm", J, seen[start:stop].flatten(1)) + y
        yield start, rows.transpose(0, 1), values
        start = stop
