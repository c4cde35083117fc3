"""Frames: a partition, or a whole report, as bytes that the viewer reads (see PROTOCOL.md)."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from creases.network import Network
    from creases.regions.line_partition import LinePartition
    from creases.regions.plane import PlanePartition

MAGIC = b"CRZ1"

#: The viewer's names of the types that arrays are sent as.
_TYPES = {"u1": np.uint8, "u4": np.uint32, "i4": np.int32, "f4": np.float32}


def encode(header: Mapping[str, Any], arrays: Mapping[str, tuple[str, ArrayLike]]) -> bytes:
    """A header and named arrays (type, values) as one frame: magic, length of the header, header, arrays.

    Everything is little-endian, and every array starts at a multiple of 4 bytes from the start of the frame's body.
    """
    placed, body, at = {}, [], 0
    for name, (kind, values) in arrays.items():
        array = np.ascontiguousarray(values, np.dtype(_TYPES[kind]).newbyteorder("<"))
        placed[name] = {"type": kind, "shape": list(array.shape), "at": at}
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
        raise ValueError("this is no frame of the viewer")
    (size,) = struct.unpack("<I", data[4:8])
    header = json.loads(data[8 : 8 + size])
    arrays = {}
    for name, place in header.pop("arrays").items():
        kind = np.dtype(_TYPES[place["type"]]).newbyteorder("<")
        count = int(np.prod(place["shape"], dtype=np.int64))
        arrays[name] = np.frombuffer(data, kind, count, 8 + size + place["at"]).reshape(place["shape"])
    return header, arrays


def plane_frame(
    partition: PlanePartition, *, layers: Sequence[str] | None = None, about: Mapping[str, Any] | None = None
) -> bytes:
    """A plane partition as a frame; ``layers`` names its bends, ``about`` goes into the header (moment, slice)."""
    decision, (J, y) = partition.boundary(), partition.pieces()
    low, size = partition.box[:, 0], np.diff(partition.box, axis=1)[:, 0]
    header = {
        "kind": "plane",
        "box": partition.box.tolist(),
        "origin": partition.origin.tolist(),
        "basis": partition.basis.tolist(),
        "outputs": y.shape[1],
        "layers": _layers(partition.net, layers),
        **(about or {}),
    }
    arrays = {
        "vertices": ("f4", (decision.vertices - low) / size),
        "values": ("f4", partition.values),
        "edges": ("u4", partition.edges),
        "edge_units": ("i4", partition.edge_units),
        "corners": ("u4", partition.corners),
        "starts": ("u4", partition.starts),
        "patterns": ("u1", partition.patterns),
        "J": ("f4", J),
        "y": ("f4", y),
        "boundary_edges": ("u4", decision.edges),
        "part_corners": ("u4", decision.part_corners),
        "part_starts": ("u4", decision.part_starts),
        "part_class": ("u1", np.minimum(decision.part_class, 255)),
        "part_region": ("u4", decision.part_region),
        **_weights(partition.net),
    }
    return encode(header, arrays)


def line_frame(
    partition: LinePartition, *, layers: Sequence[str] | None = None, about: Mapping[str, Any] | None = None
) -> bytes:
    """A network on the segment from a to b as a frame; slopes are by x where the input is one number, else by t."""
    (J, y), ends = partition.pieces(), partition.ends
    width = float(partition.b[0] - partition.a[0]) if len(partition.a) == 1 else 1.0
    low = float(partition.a[0]) if len(partition.a) == 1 else 0.0
    values = np.concatenate([y[:1], partition.values, J[-1:, :, 0] + y[-1:]])  # at t = 0, the breakpoints, t = 1
    header = {
        "kind": "line",
        "range": [low, low + width],
        "outputs": y.shape[1],
        "layers": _layers(partition.net, layers),
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
        "<!--title-->": title.replace("&", "&amp;").replace("<", "&lt;"),
        "<!--style-->": f"<style>{style}</style>",
        "<!--script-->": f'{inlined}\n<script type="module">{code}</script>',
    }
    for mark, text in parts.items():
        head, found, tail = page.partition(mark)
        if not found:
            raise ValueError(f"page: {mark} is missing; build the front end anew")
        page = head + text + tail
    return page


def _layers(net: Network, names: Sequence[str] | None) -> list[dict[str, Any]]:
    widths = np.diff(net.unit_starts).tolist()
    names = names or [f"layer {k + 1}" for k in range(len(widths))]
    return [{"name": name, "width": width} for name, width in zip(names, widths, strict=True)]


def _weights(net: Network) -> dict[str, tuple[str, ArrayLike]]:
    """Weights W0, W1, ... (out, in) and biases b0, b1, ... where the network is a chain of affine maps and relus."""
    from torch import nn

    modules = list(net.module())
    linear = [module for module in modules if isinstance(module, nn.Linear)]
    if not all(isinstance(module, nn.Linear | nn.ReLU) for module in modules) or not linear:
        return {}
    if any(a.out_features != b.in_features for a, b in pairwise(linear)):
        return {}
    found: dict[str, tuple[str, ArrayLike]] = {}
    for k, module in enumerate(linear):
        found[f"W{k}"] = ("f4", module.weight.detach().cpu().numpy())
        if module.bias is not None:
            found[f"b{k}"] = ("f4", module.bias.detach().cpu().numpy())
    return found
