"""Results in ``.npz`` files: flat arrays and the network they belong to, without pickling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, cast
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import torch
from numpy.typing import NDArray

from creases._display import Described
from creases._files import open_npz, write_atomically
from creases._program import unit_of_bit
from creases._schema import expect
from creases.errors import FileError
from creases.network import Network
from creases.regions._plane.complex import next_corner

#: Largest number of a result: the square of a larger one may not be finite.
LARGEST = 1e150

#: Points at which the values of a result are compared with the network's, and the largest relative difference there.
_COMPARED, _TOLERANCE = 64, 1e-6

Arrays = Mapping[str, NDArray[Any]]


class Entry(NamedTuple):
    """What an array of a file must be; sizes that are not known yet are set by the first array that has them."""

    dtype: Any
    shape: tuple[str | int, ...]  #: names of sizes, or numbers
    below: str = ""  #: of indices: the size that all are below ...
    least: int = 0  #: ... and the smallest that is allowed; of starts: the smallest size of a group
    total: str = ""  #: of starts of groups, and the end of the last: the size that they divide


def _real(*shape: str | int) -> Entry:
    return Entry(np.float64, shape)


_FLAG, _PATTERNS = Entry(np.bool_, ()), Entry(np.uint8, ("regions", "bytes"))

#: The arrays of each result by name. Sizes: inputs, outputs, units and bytes of a pattern are those of the network.
_SCHEMAS: dict[str, dict[str, Entry]] = {
    "Cell": {
        "x": _real("inputs"),
        "sides": Entry(np.int16, ("units",)),
        "Q": _real("rows", "inputs"),
        "p": _real("rows"),
        "units": Entry(np.int64, ("rows",), below="units", least=-1),
        "across": Entry(np.int16, ("rows",)),
        "J": _real("outputs", "inputs"),
        "y": _real("outputs"),
    },
    "LinePartition": {
        "a": _real("inputs"),
        "b": _real("inputs"),
        "infinite": _FLAG,
        "breakpoints": _real("breakpoints"),
        "unit_ids": Entry(np.int64, ("ids",), below="units"),
        "unit_starts": Entry(np.int64, ("breakpoints",), total="ids", least=1),
        "patterns": _PATTERNS,
        "values": _real("breakpoints", "outputs"),
    },
    "PlanePartition": {
        "box": _real(2, 2),
        "origin": _real("inputs"),
        "basis": _real("inputs", 2),
        "vertices": _real("vertices", 2),
        "values": _real("vertices", "outputs"),
        "edges": Entry(np.int32, ("edges", 2), below="vertices"),
        "edge_units": Entry(np.int32, ("edges",), below="units", least=-1),
        "corners": Entry(np.int32, ("corners",), below="vertices"),
        "corner_edges": Entry(np.int32, ("corners",), below="edges"),
        "starts": Entry(np.int32, ("regions",), total="corners", least=3),
        "edge_regions": Entry(np.int32, ("edges", 2), below="regions", least=-1),
        "patterns": _PATTERNS,
    },
    "SpacePartition": {
        "box": _real("inputs", 2),
        "vertices": _real("vertices", "inputs"),
        "values": _real("vertices", "outputs"),
        "corners": Entry(np.int32, ("corners",), below="vertices"),
        "inner": _real("regions", "inputs"),
        "starts": Entry(np.int64, ("regions",), total="corners"),
        "patterns": _PATTERNS,
        "pairs": Entry(np.int64, ("pairs", 2), below="regions"),
        "facet_units": Entry(np.int32, ("pairs",), below="units", least=-1),
        "complete": _FLAG,
        "ended": Entry(np.str_, ()),
        "face_counts": Entry(np.int64, ("dimensions",)),
        "face_lists": Entry(np.int32, ("lists",)),
        "face_starts": Entry(np.int64, ("faces",), total="lists"),
        "creases": Entry(np.int32, ("creases",), below="units", least=-1),
    },
}


def _take(name: str, array: NDArray[Any], entry: Entry, sizes: dict[str, int]) -> NDArray[Any]:
    """Return an array in its type, if it has the same numbers there and is what its entry says."""
    counts = [length - bool(entry.total) for length in array.shape]
    expected = [
        sizes.setdefault(size, count) if isinstance(size, str) else size
        for size, count in zip(entry.shape, counts, strict=False)
    ]
    if array.ndim != len(entry.shape) or counts != expected or min(counts, default=0) < 0:
        raise ValueError(f"{name} has shape {array.shape}, expected {entry.shape}: {expected}")
    kind = np.dtype(entry.dtype).kind
    if array.dtype.kind not in ("iu" if kind == "i" else kind):
        raise ValueError(f"{name} has entries of type {array.dtype}, expected {np.dtype(entry.dtype)}")
    if kind == "f" and not (np.abs(array) <= LARGEST).all():
        raise ValueError(f"{name} has entries that are NaN, infinite or too large")
    result = np.array(array, entry.dtype, order="C")
    if kind != "f" and not np.array_equal(result, array):
        raise ValueError(f"{name} has numbers that are too large")
    if entry.below and result.size and (result.min() < entry.least or result.max() >= sizes[entry.below]):
        raise ValueError(f"{name} has indices outside {entry.least} to {sizes[entry.below] - 1}")
    if entry.total and (result[0] or result[-1] != sizes[entry.total] or (np.diff(result) < entry.least).any()):
        raise ValueError(f"{name} does not divide {sizes[entry.total]} entries")
    return result


def _expect(holds: Any, otherwise: str) -> None:
    """Raise ValueError unless a fact, a truth value of Python or of numpy, holds."""
    expect(bool(holds), otherwise)


def _check_patterns(net: Network, patterns: NDArray[np.uint8]) -> None:
    """Check patterns (R, n_bytes): no unit may have a side that it does not have."""
    if all(k & (k - 1) == 0 for k in net.candidates):
        return  # every combination of bits is a side
    block, limits = max(1, 2**24 // max(1, net.n_units)), np.repeat(net.candidates, np.diff(net.unit_starts))
    for start in range(0, len(patterns), block):
        if (net.unpack(patterns[start : start + block]) >= limits).any():
            raise ValueError("patterns name sides that units do not have")


def _check_values(net: Network, name: str, points: NDArray[Any], values: NDArray[Any]) -> None:
    """Check that values (n, m) are the network's at points (n, d), at some of them.

    They were computed in another order. Where terms cancel, a tiny change of the point shows by how much they may
    differ.
    """
    chosen = np.unique(np.linspace(0, len(points) - 1, min(len(points), _COMPARED)).astype(int))
    if not len(chosen):
        return
    net, at = net.to(torch.float64), points[chosen]
    near = at + 1e-7 * np.abs(at)
    expected, moved = (np.asarray(net(x.reshape(-1, *net.input_shape))).reshape(len(x), -1) for x in (at, near))
    room = _TOLERANCE * np.abs(expected).max(axis=1, keepdims=True) + 10 * np.abs(moved - expected)
    _expect((np.abs(values[chosen] - expected) <= room).all(), f"{name} differs from what the network computes")


def _check_line(net: Network, arrays: Arrays) -> None:
    a, b, t = (arrays[name] for name in ("a", "b", "breakpoints"))
    within = arrays["infinite"] or not len(t) or (t[0] >= 0 and t[-1] <= 1)
    _expect(within and (np.diff(t) > 0).all(), "breakpoints do not rise, or are outside the segment")
    _expect(len(arrays["patterns"]) == len(t) + 1, "patterns are not one more than breakpoints")
    _check_values(net, "values", a + t[:, None] * (b - a), arrays["values"])


def _check_plane(net: Network, arrays: Arrays) -> None:
    """Check that every region goes along its edges, and that every edge is on the border of its regions."""
    _check_values(net, "values", arrays["origin"] + arrays["vertices"] @ arrays["basis"].T, arrays["values"])
    edges, beside, corners, around, starts = (
        arrays[name] for name in ("edges", "edge_regions", "corners", "corner_edges", "starts")
    )
    _expect(len(starts) > 1, "there are no regions")
    ends = np.sort(np.stack([corners, corners[next_corner(starts)]], axis=1), axis=1)
    along = (ends == np.sort(edges[around], axis=1)).all() and (ends[:, 0] != ends[:, 1]).all()
    _expect(along, "regions do not go along their edges")
    region = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    uses = np.bincount(around, minlength=len(edges))
    between = (beside[around] == region[:, None]).any(axis=1).all() and (uses == (beside >= 0).sum(axis=1)).all()
    _expect(between, "edges are not between their regions")


def _check_space(net: Network, arrays: Arrays) -> None:
    """Check the corners of regions and the lattice of faces: a face's facets are faces of one dimension less."""
    n, vertices, starts, counts = net.n_in, arrays["vertices"], arrays["starts"], arrays["face_counts"]
    _check_values(net, "values", vertices, arrays["values"])
    _expect(not len(arrays["corners"]) or (np.diff(starts) > 0).all(), "starts does not divide the corners")
    _expect(len(counts) == n + 1 and (counts >= 0).all(), "face_counts is negative, or not one for each dimension")
    lists, face_starts, total = arrays["face_lists"], arrays["face_starts"], int(counts.sum())
    _expect(len(face_starts) == total + 1 and len(arrays["creases"]) == counts[n - 1], "face_counts does not match")
    if not total:
        return
    _expect((counts[0], counts[n]) == (len(vertices), len(starts) - 1), "face_counts does not match the regions")
    dimension = np.repeat(np.arange(n + 1), counts)
    fits = not len(lists) or (lists.min() >= 0 and lists.max() < total)
    below = np.repeat(dimension, np.diff(face_starts)) - 1
    _expect(fits and (dimension[lists] == below).all(), "face_lists names faces of another dimension")


def _check_cell(net: Network, arrays: Arrays) -> None:
    x, Q, p, across, J, y = (arrays[name] for name in ("x", "Q", "p", "across", "J", "y"))
    limits = np.repeat(net.candidates, np.diff(net.unit_starts)).astype(np.int64)
    _expect(((arrays["sides"] >= 0) & (arrays["sides"] < limits)).all(), "sides names sides that units do not have")
    excess = Q @ x - p - _TOLERANCE * (np.abs(Q) @ np.abs(x) + np.abs(p))
    _expect((excess <= 0).all(), "p excludes x from its own region")
    beyond = (across >= -1) & (across < np.append(limits, 1)[arrays["units"]])
    _expect(beyond.all(), "across names sides that units do not have")
    _check_values(net, "J x + y", x[None], (J @ x + y)[None])


_CHECKS = {
    "Cell": _check_cell, "LinePartition": _check_line, "PlanePartition": _check_plane, "SpacePartition": _check_space,
}  # fmt: skip


def _check_arrays(kind: str, net: Network, arrays: Arrays) -> Arrays:
    """Return the arrays of a result, each checked by its schema and all by what must hold among them."""
    weights = [t for step in net.steps for t in step.tensors.values() if t.is_floating_point() and t.numel()]
    _expect(
        all(float(tensor.abs().max()) <= LARGEST for tensor in weights), "the network has weights that are too large"
    )
    n_bytes = (len(unit_of_bit(net)) + 7) // 8
    sizes = {"inputs": net.n_in, "outputs": net.n_out, "units": net.n_units, "bytes": n_bytes}
    valid = {name: _take(name, arrays[name], entry, sizes) for name, entry in _SCHEMAS[kind].items()}
    if "box" in valid:
        _expect((valid["box"][:, 0] < valid["box"][:, 1]).all(), "box is empty")
    if "patterns" in valid:
        _check_patterns(net, valid["patterns"])
    _CHECKS[kind](net, valid)
    return valid


class Archived(Described):
    """A dataclass of a network and arrays or plain values, which is kept in a ``.npz`` file, and drawn by notebooks."""

    net: Network

    def save(self, path: str | Path) -> Path:
        """Write the result to a ``.npz`` file, with its network, atomically."""
        path = Path(path)
        arrays = {name: np.asarray(getattr(self, name)) for name in _SCHEMAS[type(self).__name__]}
        arrays |= {"kind": np.array(type(self).__name__), "network": np.frombuffer(self.net.to_bytes(), np.uint8)}
        # As np.savez_compressed, in less time: patterns shrink as well at the lowest level.
        with write_atomically(path) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED, compresslevel=1) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result that :meth:`save` wrote."""
        try:
            with open_npz(path) as data:
                arrays = {key: data[key] for key in data.files}
        except FileNotFoundError:
            raise FileError(f"{path}: no such file") from None
        except (OSError, ValueError) as error:
            raise FileError(f"{path}: not an .npz file that creases wrote, or damaged: {error}") from None
        name = str(arrays.pop("kind", ""))
        if name != cls.__name__:
            raise FileError(f"{path}: expected a saved {cls.__name__}, got {name or 'something else'}")
        missing = {"network", *_SCHEMAS[name]} - arrays.keys()
        if missing:
            raise FileError(f"{path}: damaged, or written by another version: it has no {', '.join(sorted(missing))}")
        net = Network.from_bytes(arrays.pop("network").tobytes(), str(path))
        try:
            valid = _check_arrays(name, net, arrays)
        except ValueError as problem:
            raise FileError(f"{path}: damaged: {problem}") from None
        values = {name: array if array.ndim else array.item() for name, array in valid.items()}
        return cast(Callable[..., Self], cls)(net=net, **values)
