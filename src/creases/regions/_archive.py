"""Results in ``.npz`` files: flat arrays and the network they belong to, without pickling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import torch
from numpy.typing import NDArray

from creases._display import to_html
from creases._files import open_npz, write_atomically
from creases._program import unit_of_bit
from creases.errors import FileError
from creases.network import Network
from creases.regions._plane.complex import next_corner

# Checks of what was read from a file, before any compiled code sees it: types, shapes, indices, finite numbers.

#: Largest number of a result: the square of a larger one may not be finite.
LARGEST = 1e150

#: Points at which the values of a result are compared with the network's, and the largest relative difference there.
_COMPARED, _TOLERANCE = 64, 1e-6

Arrays = Mapping[str, NDArray[Any]]


class _Reader:
    """Arrays by name, each checked as it is taken."""

    def __init__(self, arrays: Arrays, net: Network) -> None:
        self.arrays, self.net = arrays, net
        self.taken: dict[str, NDArray[Any]] = {}
        self.n_bytes = (len(unit_of_bit(net)) + 7) // 8
        weights = [t for step in net.steps for t in step.tensors.values() if t.is_floating_point() and t.numel()]
        if any(float(tensor.abs().max()) > LARGEST for tensor in weights):
            raise ValueError("the network has weights that are too large")

    def take(self, name: str, shape: tuple[int | None, ...], dtype: Any) -> NDArray[Any]:
        """Return an array of a shape (None: any length) in a type, if its numbers are the same in it."""
        array = self.arrays[name]
        if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
            expected = tuple("n" if n is None else n for n in shape)
            raise ValueError(f"{name} has shape {array.shape}, expected {expected}")
        kind = np.dtype(dtype).kind
        allowed = {"f": "f", "i": "iu", "u": "u", "b": "b"}[kind]
        if array.dtype.kind not in allowed:
            raise ValueError(f"{name} has entries of type {array.dtype}, expected {np.dtype(dtype)}")
        if kind == "f" and not (np.abs(array) <= LARGEST).all():
            raise ValueError(f"{name} has entries that are NaN, infinite or too large")
        result = np.array(array, dtype, order="C")
        if kind != "f" and not np.array_equal(result, array):
            raise ValueError(f"{name} has numbers that are too large")
        self.taken[name] = result
        return result

    def indices(self, name: str, shape: tuple[int | None, ...], dtype: Any, count: int, least: int = 0) -> NDArray[Any]:
        """Return indices from ``least`` to ``count - 1``."""
        array = self.take(name, shape, dtype)
        if array.size and (array.min() < least or array.max() >= count):
            raise ValueError(f"{name} has indices outside {least} to {count - 1}")
        return array

    def starts(self, name: str, groups: int | None, total: int, dtype: Any, least: int = 0) -> NDArray[Any]:
        """Return the starts (groups + 1,) of groups of at least ``least`` entries of an array of ``total``."""
        array = self.take(name, (None if groups is None else groups + 1,), dtype)
        if not len(array) or array[0] != 0 or array[-1] != total or (np.diff(array) < least).any():
            raise ValueError(f"{name} does not divide {total} entries")
        return array

    def box(self, n: int) -> None:
        """Check the box (n, 2)."""
        box = self.take("box", (n, 2), np.float64)
        if not (box[:, 0] < box[:, 1]).all():
            raise ValueError("box is empty")

    def patterns(self, count: int) -> None:
        """Check patterns (count, n_bytes): no unit may have a side that it does not have."""
        patterns = self.take("patterns", (count, self.n_bytes), np.uint8)
        block = max(1, 2**24 // max(1, self.net.n_units))
        if all(k & (k - 1) == 0 for k in self.net.candidates):
            return  # every combination of bits is a side
        limits = np.repeat(self.net.candidates, np.diff(self.net.unit_starts))
        for start in range(0, count, block):
            if (self.net.unpack(patterns[start : start + block]) >= limits).any():
                raise ValueError("patterns name sides that units do not have")

    def values(self, name: str, points: NDArray[Any], values: NDArray[Any]) -> None:
        """Check that values (n, m) are the network's at points (n, d), at some of them.

        They were computed in another order. Where terms cancel, a tiny change of the point shows by how much they may
        differ.
        """
        chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), _COMPARED)).astype(int))
        if not len(chosen):
            return
        net, at = self.net.to(torch.float64), points[chosen]
        near = at + 1e-7 * np.abs(at)
        expected, moved = (np.asarray(net(x.reshape(-1, *net.input_shape))).reshape(len(x), -1) for x in (at, near))
        room = _TOLERANCE * np.abs(expected).max(axis=1, keepdims=True) + 10 * np.abs(moved - expected)
        if not (np.abs(values[chosen] - expected) <= room).all():
            raise ValueError(f"{name} differs from what the network computes")

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        return bool(self.take(name, (), np.bool_))


def _check_line(reader: _Reader) -> dict[str, NDArray[Any]]:
    net = reader.net
    a = reader.take("a", (net.n_in,), np.float64)
    b = reader.take("b", (net.n_in,), np.float64)
    infinite = reader.flag("infinite")
    t = reader.take("breakpoints", (None,), np.float64)
    if (np.diff(t) <= 0).any() or (not infinite and len(t) and not (t[0] >= 0 and t[-1] <= 1)):
        raise ValueError("breakpoints do not rise, or are outside the segment")
    units = reader.indices("unit_ids", (None,), np.int64, net.n_units)
    reader.starts("unit_starts", len(t), len(units), np.int64, least=1)
    reader.patterns(len(t) + 1)
    values = reader.take("values", (len(t), net.n_out), np.float64)
    reader.values("values", a + t[:, None] * (b - a), values)
    return reader.taken


def _check_plane(reader: _Reader) -> dict[str, NDArray[Any]]:
    net = reader.net
    reader.box(2)
    origin = reader.take("origin", (net.n_in,), np.float64)
    basis = reader.take("basis", (net.n_in, 2), np.float64)
    vertices = reader.take("vertices", (None, 2), np.float64)
    V = len(vertices)
    reader.values("values", origin + vertices @ basis.T, reader.take("values", (V, net.n_out), np.float64))
    edges = reader.indices("edges", (None, 2), np.int32, V)
    reader.indices("edge_units", (len(edges),), np.int32, net.n_units, least=-1)
    corners = reader.indices("corners", (None,), np.int32, V)
    around = reader.indices("corner_edges", (len(corners),), np.int32, len(edges))
    starts = reader.starts("starts", None, len(corners), np.int32, least=3)
    R = len(starts) - 1
    if not R:
        raise ValueError("there are no regions")
    beside = reader.indices("edge_regions", (len(edges), 2), np.int32, R, least=-1)
    _check_mesh(edges, beside, corners, around, starts)
    reader.patterns(R)
    return reader.taken


def _check_mesh(edges: Any, beside: Any, corners: Any, around: Any, starts: Any) -> None:
    """Check that every region goes along its edges, and that every edge is on the border of its regions."""
    ends = np.sort(np.stack([corners, corners[next_corner(starts)]], axis=1), axis=1)
    if (ends != np.sort(edges[around], axis=1)).any() or (ends[:, 0] == ends[:, 1]).any():
        raise ValueError("regions do not go along their edges")
    region = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    if not (beside[around] == region[:, None]).any(axis=1).all():
        raise ValueError("edges are not between their regions")
    uses = np.bincount(around, minlength=len(edges))
    if (uses != (beside >= 0).sum(axis=1)).any():
        raise ValueError("edges are not between their regions")


def _check_space(reader: _Reader) -> dict[str, NDArray[Any]]:
    net = reader.net
    n = net.n_in
    reader.box(n)
    vertices = reader.take("vertices", (None, n), np.float64)
    V = len(vertices)
    reader.values("values", vertices, reader.take("values", (V, net.n_out), np.float64))
    corners = reader.indices("corners", (None,), np.int32, V)
    R = len(reader.take("inner", (None, n), np.float64))
    starts = reader.starts("starts", R, len(corners), np.int64)
    if len(corners) and (np.diff(starts) < 1).any():
        raise ValueError("starts does not divide the corners")
    reader.patterns(R)
    pairs = reader.indices("pairs", (None, 2), np.int64, R)
    reader.indices("facet_units", (len(pairs),), np.int32, net.n_units, least=-1)
    reader.flag("complete")
    ended = reader.arrays["ended"]
    if ended.dtype.kind != "U" or ended.ndim:
        raise ValueError("ended is not text")
    reader.taken["ended"] = ended
    _check_faces(reader, n, V, R)
    return reader.taken


def _check_faces(reader: _Reader, n: int, V: int, R: int) -> None:
    """Check the lattice of faces: a face's facets are faces of one dimension less."""
    counts = reader.take("face_counts", (n + 1 if len(reader.arrays["face_counts"]) else 0,), np.int64)
    if (counts < 0).any():
        raise ValueError("face_counts is negative")
    total = int(counts.sum())
    lists = reader.indices("face_lists", (None,), np.int32, max(total, 0))
    starts = reader.starts("face_starts", total if len(reader.arrays["face_starts"]) else None, len(lists), np.int64)
    reader.indices("creases", (int(counts[n - 1]) if len(counts) else 0,), np.int32, reader.net.n_units, least=-1)
    if not total:
        return
    if counts[0] != V or counts[n] != R:
        raise ValueError("face_counts does not match the vertices and regions")
    dimension = np.repeat(np.arange(n + 1), counts)
    owner = np.repeat(dimension, np.diff(starts))
    if (dimension[lists] != owner - 1).any():
        raise ValueError("face_lists names faces of another dimension")


def _check_cell(reader: _Reader) -> dict[str, NDArray[Any]]:
    net = reader.net
    x = reader.take("x", (net.n_in,), np.float64)
    sides = reader.take("sides", (net.n_units,), np.int16)
    limits = np.repeat(net.candidates, np.diff(net.unit_starts)).astype(np.int64)
    if ((sides < 0) | (sides >= limits)).any():
        raise ValueError("sides names sides that units do not have")
    Q = reader.take("Q", (None, net.n_in), np.float64)
    rows = len(Q)
    p = reader.take("p", (rows,), np.float64)
    if (Q @ x - p > _TOLERANCE * (np.abs(Q) @ np.abs(x) + np.abs(p))).any():
        raise ValueError("p excludes x from its own region")
    units = reader.indices("units", (rows,), np.int64, net.n_units, least=-1)
    across = reader.take("across", (rows,), np.int16)
    most = np.append(limits, 1)[units]
    if ((across < -1) | (across >= most)).any():
        raise ValueError("across names sides that units do not have")
    J, y = reader.take("J", (net.n_out, net.n_in), np.float64), reader.take("y", (net.n_out,), np.float64)
    reader.values("J x + y", x[None], (J @ x + y)[None])
    return reader.taken


_CHECKS: dict[str, Callable[[_Reader], dict[str, NDArray[Any]]]] = {
    "Cell": _check_cell,
    "LinePartition": _check_line,
    "PlanePartition": _check_plane,
    "SpacePartition": _check_space,
}


class Result(Protocol):
    """A dataclass of a network, ``net``, and arrays or plain numbers and strings."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def net(self) -> Network: ...


R = TypeVar("R", bound=Result)


def save(result: Result, path: str | Path) -> Path:
    """Write a result to a ``.npz`` file, atomically."""
    path = Path(path)
    arrays = {f.name: np.asarray(getattr(result, f.name)) for f in fields(result) if f.name != "net"}
    arrays |= {"kind": np.array(type(result).__name__), "network": np.frombuffer(result.net.to_bytes(), np.uint8)}
    # As np.savez_compressed, in less time: patterns shrink as well at the lowest level.
    with write_atomically(path) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return path


def load(kind: type[R], path: str | Path) -> R:
    """Read a result of a class that :func:`save` wrote."""
    try:
        with open_npz(path) as data:
            arrays = {key: data[key] for key in data.files}
    except FileNotFoundError:
        raise FileError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: not an .npz file that creases wrote, or damaged: {error}") from None
    name = str(arrays.pop("kind", ""))
    if name != kind.__name__:
        raise FileError(f"{path}: expected a saved {kind.__name__}, got {name or 'something else'}")
    missing = {"network", *(f.name for f in fields(kind) if f.name != "net")} - arrays.keys()
    if missing:
        raise FileError(f"{path}: damaged, or written by another version: it has no {', '.join(sorted(missing))}")
    net = Network.from_bytes(arrays.pop("network").tobytes(), str(path))
    try:
        valid = _CHECKS[name](_Reader(arrays, net))
    except ValueError as problem:
        raise FileError(f"{path}: damaged: {problem}") from None
    build: Callable[..., R] = kind
    return build(net=net, **{name: array if array.ndim else array.item() for name, array in valid.items()})


class Archived:
    """A result that is kept in a ``.npz`` file with its network, and drawn by notebooks."""

    def save(self, path: str | Path) -> Path:
        """Write the result to a ``.npz`` file, with its network."""
        return save(cast(Result, self), path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that :meth:`save` wrote."""
        return cast(Self, load(cast(type[Result], cls), path))

    def _repr_html_(self) -> str:
        return to_html(self)
