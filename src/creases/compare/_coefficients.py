"""A network's coefficients over samples: for each output the matrix C_j with rows (J_j(x_i), y_j(x_i)).

The dissertation, eq. (7.3). The rows of a network whose first layer is narrower than its
input lie in the span of that layer's rows, so they are kept as coordinates in an orthonormal basis of it: for a dense
layer of 128 units before 3,072 inputs a twentieth of the numbers, with all lengths and angles unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from creases._files import parse_json, read_npy_header, read_text, write_json
from creases._text import OneLine
from creases._typing import Progress
from creases._validation import check_choice
from creases.errors import FileError, InputError
from creases.network import Network, PointsLike, as_network


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A network ``f(x) = behind(W x + b)`` with fewer rows in W than inputs."""

    behind: Network  #: of the r numbers
    weight: Tensor  #: (r, n_in)
    offset: Tensor  #: (r,)


def factorise(net: Network) -> Factorisation | None:
    """Split a network at its first linear layer, if that is narrower than the input and nothing bypasses it."""
    first = next((i for i, step in enumerate(net.steps) if step.op != "reshape"), len(net.steps))
    if first == len(net.steps) or net.steps[first].op != "linear":
        return None
    layer, seen = net.steps[first], first + 1
    (rows,) = layer.shape if len(layer.shape) == 1 else (net.n_in,)
    if rows >= net.n_in or any(value < seen for step in net.steps[seen:] for value in step.inputs):
        return None
    steps = [replace(step, inputs=tuple(value - seen for value in step.inputs)) for step in net.steps[seen:]]
    weight = layer.tensors["weight"]
    offset = layer.offset if layer.offset is not None else weight.new_zeros(rows)
    return Factorisation(Network(steps, (rows,)), weight, offset.expand(rows))


def orthonormal(weight: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
    """Write rows ``[W b; 0 1]`` (r + 1, n_in + 1) as ``mix @ basis``: basis with orthonormal rows, mix (r + 1, r + 1).

    A network's coefficients ``[G, rest] @ [W b; 0 1]`` have then the coordinates ``[G, rest] @ mix``, with the same
    lengths and angles.
    """
    ones = torch.zeros(1, weight.shape[1] + 1, dtype=torch.float64, device=weight.device)
    ones[0, -1] = 1
    rows = torch.cat([torch.cat([weight.double(), offset.double()[:, None]], dim=1), ones])
    Q, R = torch.linalg.qr(rows.T)  # (n_in + 1, r + 1), (r + 1, r + 1)
    return R.T.contiguous(), Q.T.contiguous()


@dataclass(eq=False)
class Store:
    """Features (n_out, p, r) and outputs (p, n_out), filled from the first sample to the last."""

    features: Tensor
    values: Tensor
    done: int = 0  #: samples that are stored
    folder: Path | None = None
    origin: str = ""  #: a fingerprint of the network and the samples

    @classmethod
    def create(cls, net: Network, samples: Tensor, shape: tuple[int, int, int], out: str | Path | None) -> Store:
        """Return an empty store, or the one in a folder if it is of the same network and samples."""
        if out is None:
            return cls(samples.new_empty(shape), samples.new_empty(shape[1], shape[0]))
        folder, origin = Path(out), _origin(net, samples)
        done = _stored_samples(folder, origin, shape[1])
        try:
            folder.mkdir(parents=True, exist_ok=True)
            features = _open_map(folder / "features.npy", shape, samples.dtype, new=done is None)
            values = _open_map(folder / "values.npy", (shape[1], shape[0]), samples.dtype, new=done is None)
        except OSError as problem:
            raise FileError(f"cannot write coefficients to {folder}: {problem}") from problem
        except ValueError as problem:
            raise FileError(f"cannot read {folder}: {problem}; remove the folder to start again") from None
        return cls(features, values, done or 0, folder, origin)

    def put(self, features: Tensor, values: Tensor) -> None:
        """Store the next block of samples, then record that it is complete."""
        block = slice(self.done, self.done + len(values))
        self.features[:, block] = features.to(self.features.device)
        self.values[block] = values.to(self.values.device)
        self.done = block.stop
        if self.folder is not None:
            write_json({"origin": self.origin, "done": self.done}, self.folder / "done.json")


def _open_map(path: Path, shape: tuple[int, ...], dtype: torch.dtype, *, new: bool) -> Tensor:
    kind = np.float32 if dtype == torch.float32 else np.float64
    if not new and (found := read_npy_header(path)) != (shape, np.dtype(kind)):  # a short file would be filled with 0
        raise ValueError(f"{path.name} must hold {shape} numbers of {np.dtype(kind)}, got {found[0]} of {found[1]}")
    mapped = np.lib.format.open_memmap(path, mode="w+" if new else "r+", dtype=kind, shape=shape if new else None)
    return torch.from_numpy(mapped)


def _stored_samples(folder: Path, origin: str, count: int) -> int | None:
    """Return the number of samples that a folder holds; None if it holds nothing."""
    note = folder / "done.json"
    if not note.exists():
        return None
    try:
        record = parse_json(read_text(note))
        stored, done = record["origin"], int(record["done"])
        if not 0 <= done <= count:
            raise ValueError(f"{done} samples of {count}")
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as problem:
        raise FileError(f"cannot read {note}: {problem}; remove the folder to start again") from problem
    if stored != origin:
        raise InputError(
            "out",
            "hold coefficients of the same network, samples and dtype, or nothing",
            f"{folder} with others",
            "give another folder",
        )
    return done


def _origin(net: Network, samples: Tensor) -> str:
    """Return a fingerprint of the network and the samples."""
    digest = hashlib.sha256(repr([(step.op, step.inputs, step.shape, step.options) for step in net.steps]).encode())
    for tensor in [samples, *(tensor for step in net.steps for tensor in step.tensors.values())]:
        digest.update(repr((tuple(tensor.shape), tensor.dtype)).encode())
        digest.update(np.ascontiguousarray(tensor.detach().cpu().numpy()).tobytes())
    return digest.hexdigest()


#: Bytes that a block of samples may take: on a processor, and on a GPU, which small blocks would leave idle.
BLOCK, GPU_BLOCK = 2**27, 2**32


@dataclass(frozen=True, eq=False, repr=False)
class Coefficients(OneLine):
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
    """Return the coefficients of every output at samples (the dissertation, eq. (7.3)), exactly as autograd does.

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
    inner, seen, mix, basis = net, samples.flatten(1), None, None
    if narrow := factorise(net):
        mix, basis = orthonormal(narrow.weight, narrow.offset)
        inner, seen = narrow.behind, seen @ narrow.weight.T + narrow.offset
    shape = (net.n_out, len(samples), net.n_in + 1 if basis is None else len(basis))
    store = Store.create(net, samples, shape, out)
    for J, y in inner.jacobians(seen[store.done :], memory=GPU_BLOCK if seen.is_cuda else BLOCK):
        J, y = J.to(samples), y.to(samples)  # a network without weights has neither dtype nor device
        rows = torch.cat([J, y.unsqueeze(2)], dim=2)  # (b, m, r)
        if mix is not None:
            rows = (rows.double() @ mix).to(rows.dtype)
        values = torch.einsum("bmd,bd->bm", J, seen[store.done : store.done + len(J)]) + y
        store.put(rows.transpose(0, 1), values)
        if progress is not None:
            progress("coefficients", store.done, len(samples))
    return Coefficients(store.features, basis, store.values)


def check_alike(networks: Sequence[Coefficients], name: str = "networks") -> None:
    """Refuse coefficients of no network, or of networks with other outputs, samples or inputs than the first."""
    shapes = {(C.n_out, C.count, C.columns) for C in networks}
    if len(shapes) != 1:
        expected = "have the same numbers of outputs, samples and inputs of each network"
        raise InputError(name, expected, f"(outputs, samples, columns) {sorted(shapes)}")


def check_batch(net: Network, X: PointsLike) -> Tensor:
    """Return samples (p, ...) as the network takes them; a single one must be a batch of one."""
    samples, single = net.as_batch(X, "X")
    if single:
        raise InputError("X", f"be a batch of samples (p, {net.n_in})", "a single sample", "give X[None]")
    return samples
