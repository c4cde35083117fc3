"""Frames: a partition, or a whole report, as bytes that the viewer reads (web/PROTOCOL.md)."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from creases._typing import Floats
from creases.errors import FileError

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition


MAGIC = b"CRZ1"

#: The viewer's names of the types that arrays are sent as.
_TYPES = {"u1": np.uint8, "u4": np.uint32, "i4": np.int32, "f4": np.float32}
_LARGEST = float(np.finfo(np.float32).max)


def encode(header: Mapping[str, Any], arrays: Mapping[str, tuple[str, ArrayLike]]) -> bytes:
    """A header and named arrays (type, values) as one frame: magic, length of the header, header, arrays.

    Everything is little-endian, and every array starts at a multiple of 4 bytes from the start of the frame's body.
    Numbers beyond float32 become its largest.
    """
    placed, body, at = {}, [], 0
    for name, (kind, values) in arrays.items():
        if kind == "f4":
            values = np.clip(values, -_LARGEST, _LARGEST)
        array = np.ascontiguousarray(values, np.dtype(_TYPES[kind]).newbyteorder("<"))
        placed[name] = {"type": kind, "shape": list(np.shape(values)), "at": at}
        data = array.tobytes()
        data += bytes(-len(data) % 4)
        body.append(data)
        at += len(data)
    text = json.dumps({**header, "arrays": placed}, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([MAGIC, struct.pack("<I", len(text)), text, *body])


def decode(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a frame: what :func:`encode` was given."""
    if data[:4] != MAGIC:
        raise FileError("frame: these bytes are no frame of the viewer")
    (size,) = struct.unpack("<I", data[4:8])
    header = json.loads(data[8 : 8 + size])
    arrays = {}
    for name, place in header.pop("arrays").items():
        kind = np.dtype(_TYPES[place["type"]]).newbyteorder("<")
        count = int(np.prod(place["shape"], dtype=np.int64))
        arrays[name] = np.frombuffer(data, kind, count, 8 + size + place["at"]).reshape(place["shape"])
    return header, arrays


def plane_frame(
    partition: PlanePartition,
    *,
    decides: bool = True,
    points: ArrayLike | None = None,
    spread: ArrayLike = 1.0,
    about: Mapping[str, Any] | None = None,
) -> bytes:
    """A plane partition as a frame.

    Parameters
    ----------
    partition
        From :func:`creases.plane`, of a network of any number of inputs.
    decides
        Whether the outputs decide between classes; a regression has no boundary, and every region is one part.
    points, spread
        Inputs (n, n_in) to show on the slice, each at its nearest point of it; distances are counted in the inputs'
        spreads (n_in,).
    about
        Goes into the header: moment, slice.
    """
    J, y = partition.pieces()
    low, size = partition.box[:, 0], np.diff(partition.box, axis=1)[:, 0]
    header = {
        "kind": "plane",
        "box": partition.box.tolist(),
        "origin": partition.origin.tolist(),
        "basis": partition.basis.tolist(),
        "outputs": y.shape[1],
        "layers": _layers(partition.net),
        **(about or {}),
    }
    vertices, decision = _decision(partition) if decides else _no_decision(partition)
    arrays: dict[str, tuple[str, ArrayLike]] = {
        "vertices": ("f4", (vertices - low) / size),
        "values": ("f4", partition.values),
        "edges": ("u4", partition.edges),
        "edge_units": ("i4", partition.edge_units),
        "corners": ("u4", partition.corners),
        "starts": ("u4", partition.starts),
        "patterns": ("u1", partition.patterns),
        "J": ("f4", J),
        "y": ("f4", y),
        **decision,
        **_weights(partition.net),
    }
    if points is not None:
        t, distance = on_slice(points, partition.origin, partition.basis, spread)
        arrays |= {"points": ("f4", (t - low) / size), "distance": ("f4", distance)}
    return encode(header, arrays)


def line_frame(partition: LinePartition, *, about: Mapping[str, Any] | None = None) -> bytes:
    """A network on the segment from a to b as a frame; by x where the input is one number, else by t from 0 to 1."""
    (J, y), ends = partition.pieces(), partition.ends
    own = len(partition.a) == 1
    low, width = (float(partition.a[0]), float(partition.b[0] - partition.a[0])) if own else (0.0, 1.0)
    values = np.concatenate([y[:1], partition.values, J[-1:, :, 0] + y[-1:]])  # at t = 0, the breakpoints, t = 1
    header = {
        "kind": "line",
        "range": [low, low + width],
        "outputs": y.shape[1],
        "layers": _layers(partition.net),
        **(about or {}),
    }
    arrays = {
        "x": ("f4", low + width * ends),
        "values": ("f4", values),
        "slopes": ("f4", J[:, :, 0] / width),
        "unit_ids": ("u4", partition.unit_ids),
        "unit_starts": ("u4", partition.unit_starts),
        "patterns": ("u1", partition.patterns),
        **_weights(partition.net),
    }
    return encode(header, arrays)


def report(run: Mapping[str, Any], frames: Mapping[str, bytes]) -> bytes:
    """A whole run as one frame: the run's JSON in the header, the frames by name as arrays of bytes."""
    arrays = {name: ("u1", np.frombuffer(data, np.uint8)) for name, data in frames.items()}
    return encode({"kind": "report", "run": run}, arrays)


def report_html(page: str, script: str, style: str, title: str, data: bytes) -> str:
    """The report as one HTML file: the built page with its script and style, and the report's bytes, put in."""
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    inlined = f'<script type="text/plain" id="creases-report">{packed}</script>'
    code = script.replace("</script", "<\\/script")
    parts = {
        "<!--title-->": escape(title),
        "<!--style-->": f"<style>{style}</style>",
        "<!--script-->": f'{inlined}\n<script type="module">{code}</script>',
    }
    for mark, text in parts.items():
        head, found, tail = page.partition(mark)
        if not found:
            raise FileError(f"page: {mark} is missing; build the viewer anew")
        page = head + text + tail
    return page


def on_slice(points: ArrayLike, origin: Floats, basis: Floats, spread: ArrayLike = 1.0) -> tuple[Floats, Floats]:
    """Slice coordinates (n, 2) of the points of a plane nearest to inputs (n, n_in), and how far they are (n,).

    Inputs are measured in their spreads (n_in,), so that a column in large numbers does not decide alone.
    """
    scale = np.asarray(spread, np.float64)
    away = (np.asarray(points, np.float64) - origin) / scale
    directions = basis / scale.reshape(-1, 1)
    t = np.asarray(np.linalg.lstsq(directions, away.T)[0].T, np.float64)
    return t, np.linalg.norm(away - t @ directions.T, axis=1)


def _decision(partition: PlanePartition) -> tuple[Floats, dict[str, tuple[str, ArrayLike]]]:
    """Vertices (V, 2) with the boundary's own after the partition's, and the arrays of boundary and parts."""
    found = partition.boundary()
    return found.vertices, {
        "boundary_edges": ("u4", found.edges),
        "part_corners": ("u4", found.part_corners),
        "part_starts": ("u4", found.part_starts),
        "part_class": ("u1", np.minimum(found.part_class, 255)),
        "part_region": ("u4", found.part_region),
    }


def _no_decision(partition: PlanePartition) -> tuple[Floats, dict[str, tuple[str, ArrayLike]]]:
    """The same where nothing is decided: no boundary, every region a part."""
    return partition.vertices, {
        "boundary_edges": ("u4", np.zeros((0, 2))),
        "part_corners": ("u4", partition.corners),
        "part_starts": ("u4", partition.starts),
        "part_class": ("u1", np.zeros(partition.count)),
        "part_region": ("u4", np.arange(partition.count)),
    }


def _layers(net: Network) -> list[dict[str, Any]]:
    """Name and width of every bend; its name is that of the layer before it, as growth records call places."""
    feeds = [net.steps[i].inputs[0] - 1 for i in net.bends]
    names = [net.steps[i].path if i >= 0 else "" for i in feeds]
    if len(set(names) - {""}) < len(names) or any(name.split(".")[-1].isdecimal() for name in names):
        names = [f"layer {k + 1}" for k in range(len(names))]
    return [
        {"name": name, "width": width} for name, width in zip(names, np.diff(net.unit_starts).tolist(), strict=True)
    ]


def _weights(net: Network) -> dict[str, tuple[str, ArrayLike]]:
    """Weights W0, W1, ... (out, in) and biases b0, b1, ...; none unless affine maps and relus take turns."""
    turns = ["linear", "relu"] * (len(net.steps) // 2) + ["linear"]
    chain = all(step.inputs == (i,) and len(step.shape) == 1 for i, step in enumerate(net.steps))
    if not chain or [step.op for step in net.steps] != turns or any(step.leak is not None for step in net.steps):
        return {}
    found: dict[str, tuple[str, ArrayLike]] = {}
    for k, step in enumerate(net.steps[::2]):
        found[f"W{k}"] = ("f4", step.tensors["weight"].detach().cpu().double().numpy())
        if step.offset is not None:
            found[f"b{k}"] = ("f4", step.offset.detach().cpu().double().expand(step.shape).numpy())
    return found
