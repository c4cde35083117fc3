"""Frames: partitions and reports as bytes for the viewer (web/PROTOCOL.md)."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from creases._typing import Floats
from creases.errors import FileError

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions import LinePartition, PlanePartition


MAGIC = b"CRZ1"

#: Types of arrays by their names in frames.
_TYPES = {"u1": np.uint8, "u4": np.uint32, "i4": np.int32, "f4": np.float32}
_LARGEST = float(np.finfo(np.float32).max)


def encode_frame(header: Mapping[str, Any], arrays: Mapping[str, tuple[str, ArrayLike]]) -> bytes:
    """Encode a header and named arrays (type, values) as a frame: magic, length of the header, header, arrays.

    All numbers are little-endian, and every array starts at a multiple of 4 bytes. Numbers beyond the range of float32
    become its largest.
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


def partition_frame(partition: LinePartition | PlanePartition, *, about: Mapping[str, Any], **options: Any) -> bytes:
    """Encode a partition as a frame; of a plane with the options of :func:`plane_frame`."""
    from creases.regions import LinePartition

    if isinstance(partition, LinePartition):
        return line_frame(partition, about=about)
    return plane_frame(partition, about=about, **options)


def plane_frame(
    partition: PlanePartition,
    *,
    decides: bool = True,
    points: ArrayLike | None = None,
    spread: ArrayLike = 1.0,
    about: Mapping[str, Any] | None = None,
) -> bytes:
    """Encode a plane partition as a frame, with more entries of the header (moment, slice) in ``about``.

    Unless it decides between classes, there is no boundary, and each region is one part. Points (n, n_in) are shown at
    their nearest points of the slice; distances are in units of ``spread`` (n_in,).
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
    vertices, decision = _decision(partition, decides)
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
        t, distance = project_on_slice(points, partition.origin, partition.basis, spread)
        arrays |= {"points": ("f4", (t - low) / size), "distance": ("f4", distance)}
    return encode_frame(header, arrays)


def line_frame(partition: LinePartition, *, about: Mapping[str, Any] | None = None) -> bytes:
    """Encode a network on a segment as a frame; in x for one input, otherwise in t from 0 to 1."""
    (J, y), ends = partition.pieces(), partition.ends
    one_input = len(partition.a) == 1
    low, width = (float(partition.a[0]), float(partition.b[0] - partition.a[0])) if one_input else (0.0, 1.0)
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
    return encode_frame(header, arrays)


def report_frame(run: Mapping[str, Any], frames: Mapping[str, bytes]) -> bytes:
    """Encode a run and its frames as one frame: the JSON of the run in the header, the frames as arrays."""
    arrays = {name: ("u1", np.frombuffer(data, np.uint8)) for name, data in frames.items()}
    return encode_frame({"kind": "report", "run": run}, arrays)


def render_report(page: str, script: str, style: str, title: str, data: bytes) -> str:
    """Return a report as one HTML file: the built page with script, style and data inlined."""
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    inlined = f'<script type="text/plain" id="creases-report">{packed}</script>'
    code = script.replace("</script", "<\\/script")
    parts = {
        "<!--title-->": escape(title),
        "<!--style-->": f"<style>{style}</style>",
        "<!--script-->": f'{inlined}\n<script type="module">{code}</script>',
    }
    for mark, text in parts.items():
        head, separator, tail = page.partition(mark)
        if not separator:
            raise FileError(f"cannot fill the page of the viewer: {mark} is missing; build the viewer again")
        page = head + text + tail
    return page


def project_on_slice(
    points: ArrayLike, origin: Floats, basis: Floats, spread: ArrayLike = 1.0
) -> tuple[Floats, Floats]:
    """Project inputs (n, n_in) on a plane: return slice coordinates (n, 2) and distances (n,).

    Inputs are scaled by ``spread`` (n_in,), so that no column dominates by its unit.
    """
    scale = np.asarray(spread, np.float64)
    away = (np.asarray(points, np.float64) - origin) / scale
    directions = basis / scale.reshape(-1, 1)
    t = np.asarray(np.linalg.lstsq(directions, away.T)[0].T, np.float64)
    return t, np.linalg.norm(away - t @ directions.T, axis=1)


def _decision(partition: PlanePartition, decides: bool) -> tuple[Floats, dict[str, tuple[str, ArrayLike]]]:
    """Return vertices (V, 2), those of the boundary last, and the arrays of boundary and parts.

    Without a decision there is no boundary, and each region is a part.
    """
    boundary: list[ArrayLike] = [np.zeros((0, 2)), partition.corners, partition.starts]
    parts: list[ArrayLike] = [np.zeros(partition.count), np.arange(partition.count)]
    vertices = partition.vertices
    if decides:
        decision = partition.boundary()
        vertices, boundary = decision.vertices, [decision.edges, decision.part_corners, decision.part_starts]
        parts = [np.minimum(decision.part_class, 255), decision.part_region]
    names = ("boundary_edges", "part_corners", "part_starts", "part_class", "part_region")
    return vertices, dict(
        zip(names, zip(("u4", "u4", "u4", "u1", "u4"), [*boundary, *parts], strict=True), strict=True)
    )


def _layers(net: Network) -> list[dict[str, Any]]:
    """Return name and width of each bend; its name is that of the layer before it, the place of growth records."""
    feeds = [net.steps[i].inputs[0] - 1 for i in net.bends]
    names = [net.steps[i].path if i >= 0 else "" for i in feeds]
    if len(set(names) - {""}) < len(names) or all(name.split(".")[-1].isdecimal() for name in names):
        names = [f"layer {k + 1}" for k in range(len(names))]
    return [
        {"name": name, "width": width} for name, width in zip(names, np.diff(net.unit_starts).tolist(), strict=True)
    ]


def _weights(net: Network) -> dict[str, tuple[str, ArrayLike]]:
    """Return weights W0, W1, ... (out, in) and biases b0, b1, ...; none unless affine maps and ReLUs alternate."""
    alternating = ["linear", "relu"] * (len(net.steps) // 2) + ["linear"]
    chain = all(step.inputs == (i,) and len(step.shape) == 1 for i, step in enumerate(net.steps))
    if not chain or [step.op for step in net.steps] != alternating or any(step.leak is not None for step in net.steps):
        return {}
    weights: dict[str, tuple[str, ArrayLike]] = {}
    for k, step in enumerate(net.steps[::2]):
        weights[f"W{k}"] = ("f4", step.tensors["weight"].detach().cpu().double().numpy())
        if step.offset is not None:
            weights[f"b{k}"] = ("f4", step.offset.detach().cpu().double().expand(step.shape).numpy())
    return weights
