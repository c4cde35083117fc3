"""Files of every kind that creases loads, damaged at random, and what is done with what was loaded from them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import creases
from creases import problems
from creases.growth import GrowthConfig, History
from creases.growth._checkpoint import load_checkpoint
from creases.regions import Cell, LinePartition, PlanePartition, SpacePartition
from creases.tables import Experiment, TableSplit

#: Numbers that indices, sizes and weights may be replaced by.
EXTREMES = (-1, 0, 1, 2, 7, 255, 2**15, 2**31 - 1, -(2**31), 2**40, 10**6)
FLOATS = (0.0, -1.0, 1e300, -1e300, np.nan, np.inf, -np.inf, 5e-324)
VALUES = (None, True, -1, 0, 2**70, 1.5, 1e400, "", "x", [], {}, [1], {"a": 1}, "nan")


Rng = np.random.Generator


class Kind(NamedTuple):
    """A kind of file: an intact one, how it is loaded, and what is done with the result."""

    path: Path
    load: Callable[[Path], Any]
    use: Callable[[Any], None]
    mutate: Callable[[bytes, np.random.Generator], bytes]


def make_kinds(folder: Path) -> dict[str, Kind]:
    """Write an intact file of every kind."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        flat = creases.read(nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 4), nn.LeakyReLU(), nn.Linear(4, 3)))
        solid = creases.read(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
        pool = nn.Sequential(nn.Conv1d(1, 2, 2), nn.MaxPool1d(3), nn.Flatten(), nn.Linear(2, 2))
        choice = creases.read(pool, (1, 4))
    directions = np.random.default_rng(0).normal(size=(4, 2))
    results: dict[str, Any] = {
        "cell": creases.cell(flat, [0.1, 0.2], box=(-1, 1)),
        "line": creases.line(flat, [-1, -1], [1, 1]),
        "infinite line": creases.line(choice, np.zeros(4), np.ones(4), infinite=True),
        "plane": creases.plane(flat, (-1, 1)),
        "plane of choices": creases.plane(choice, (-1, 1), np.zeros(4), directions),
        "space": creases.space(solid, (-1, 1)),
        "space without vertices": creases.space(solid, (-1, 1), method="lp"),
    }
    kinds = {}
    for name, result in results.items():
        path = result.save(folder / f"{name}.npz")
        kinds[name] = Kind(path, type(result).load, _USES[type(result)], mutate_npz)
    for name, net in (("network", flat), ("network of choices", choice)):
        path = net.save(folder / f"{name}.safetensors")
        kinds[name] = Kind(path, creases.read, use_network, mutate_safetensors)
    np.savez(folder / "weights.npz", W0=np.eye(2), b0=np.zeros(2), W1=np.ones((1, 2)), b1=np.zeros(1), leak=0.1)
    kinds["weights"] = Kind(folder / "weights.npz", creases.read, use_network, mutate_npz)
    config = GrowthConfig(budget=6, when=2, how="random")
    experiment = Experiment(TableSplit.from_problem(problems.get("moons", n=60), config), config, folder=folder)
    history = experiment.run()
    kinds["history"] = Kind(history.save(folder / "history.json"), History.load, use_history, mutate_json)
    kinds["checkpoint"] = Kind(folder / "checkpoint.pt", load_checkpoint, use_checkpoint, flip_bytes)
    return kinds


# -- damage -----------------------------------------------------------------------------------------------------------


def flip_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Change, cut or repeat some bytes."""
    damaged = bytearray(data)
    match int(rng.integers(4)):
        case 0:
            del damaged[int(rng.integers(len(damaged))) :]
        case 1:
            at = int(rng.integers(len(damaged)))
            damaged[at:at] = rng.bytes(int(rng.integers(1, 20)))
        case _:
            for at in rng.integers(len(damaged), size=int(rng.integers(1, 5))):
                damaged[at] = int(rng.integers(256))
    return bytes(damaged)


def mutate_npz(data: bytes, rng: np.random.Generator) -> bytes:
    """Change an array of an .npz file: an entry, its type, its shape; or bytes of the file."""
    if rng.random() < 0.15:
        return flip_bytes(data, rng)
    with np.load(io.BytesIO(data)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    intact = arrays.get("network", np.zeros(0, np.uint8))
    for _ in range(int(rng.integers(1, 3))):
        names = [name for name in arrays if name != "kind"]
        name = str(rng.choice(names))
        if name == "network" and arrays[name] is intact and rng.random() < 0.8:
            arrays[name] = np.frombuffer(mutate_safetensors(intact.tobytes(), rng), np.uint8)
        else:
            arrays[name] = mutate_array(arrays[name], rng)
        if rng.random() < 0.03:
            del arrays[name]
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return _forge_header(buffer.getvalue(), rng) if rng.random() < 0.05 else buffer.getvalue()


def mutate_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Change entries, type or shape of an array."""
    match int(rng.integers(8)):
        case 0:
            kind = str(rng.choice(["f4", "f8", "i1", "i8", "u8", "U3", "?", "c16"]))
            with np.errstate(all="ignore"), suppress(ValueError):  # of text that is no number
                return array.astype(kind)
        case 1 if array.ndim:
            return array[: int(rng.integers(len(array) + 1))]
        case 2 if array.ndim:
            return np.concatenate([array, array[: 1 + int(rng.integers(3))]])
        case 3:
            return array.reshape(array.shape[::-1]) if array.ndim > 1 else array[None]
        case 4 if array.ndim:
            return array[rng.permutation(len(array))]
    array = array.copy()
    if array.size and array.dtype.kind in "fiub":
        at = tuple(int(rng.integers(n)) for n in array.shape)
        if array.dtype.kind == "f":
            array[at] = FLOATS[int(rng.integers(len(FLOATS)))]
        else:
            array[at] = np.array(EXTREMES[int(rng.integers(len(EXTREMES)))]).astype(array.dtype)
    return array


def _forge_header(data: bytes, rng: np.random.Generator) -> bytes:
    """Let an array claim a huge shape."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w") as target:
        chosen = str(rng.choice(source.namelist()))
        for name in source.namelist():
            content = source.read(name)
            if name == chosen:
                header = content.replace(b"'shape': (", b"'shape': (99999999, ", 1)
                content = header[: len(content)]
            target.writestr(name, content)
    return buffer.getvalue()


def mutate_safetensors(data: bytes, rng: np.random.Generator) -> bytes:
    """Change the header of a network's file, its weights, or any bytes."""
    length = int.from_bytes(data[:8], "little")
    if rng.random() < 0.3:
        return flip_bytes(data, rng)
    if rng.random() < 0.4 and len(data) > 8 + length + 8:
        body = bytearray(data)
        at = 8 + length + 8 * int(rng.integers((len(data) - 8 - length) // 8))
        body[at : at + 8] = np.float64(FLOATS[int(rng.integers(len(FLOATS)))]).tobytes()
        return bytes(body)
    header = json.loads(data[8 : 8 + length])
    record = json.loads(header["__metadata__"]["creases-network"])
    _change(record, rng)
    header["__metadata__"]["creases-network"] = json.dumps(record)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def mutate_json(data: bytes, rng: np.random.Generator) -> bytes:
    """Change a value somewhere in a JSON file, or its bytes."""
    if rng.random() < 0.2:
        return flip_bytes(data, rng)
    value = json.loads(data)
    _change(value, rng)
    return json.dumps(value).encode()


def _change(value: Any, rng: np.random.Generator) -> None:
    """Replace or remove a value somewhere in nested lists and dicts."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        inner = value[key]
        if isinstance(inner, dict | list) and len(inner) and rng.random() < 0.8:
            value = inner
            continue
        if rng.random() < 0.15:
            del value[key]
        else:
            pool = (*VALUES, *EXTREMES)
            value[key] = pool[int(rng.integers(len(pool)))]
        return


# -- use --------------------------------------------------------------------------------------------------------------


def use_network(net: Any) -> None:
    """Ask a network for values, sides and pieces."""
    x = np.zeros((2, net.n_in))
    net(x), net.sides(x), net.piece(x), net.to_bytes(), repr(net)


def use_cell(cell: Any) -> None:
    cell.contains(np.zeros((1, len(cell.x)))), cell.radius, cell.facets, cell.nearest_crease, cell.pattern
    for row in cell.facets[:2]:
        if cell.units[row] >= 0:
            cell.neighbor(int(row))


def use_line(partition: Any) -> None:
    partition.classes(), partition.boundary(), partition.pieces(), partition.locate([0.0, 0.3, 1.0])
    [partition.units(i) for i in range(len(partition.breakpoints))]


def use_plane(partition: Any) -> None:
    partition.boundary(), partition.areas(), partition.centers(), partition.same_piece(), partition.sides()
    partition.locate(partition.centers())


def use_space(partition: Any) -> None:
    partition.pieces(), partition.locate(partition.inner)
    if len(partition.vertices):
        partition.boundary()


def use_history(history: Any) -> None:
    history.explain(), history.to_frame(), history.steps_frame(), history.to_json(), history.best_epoch
    history._repr_html_()


def use_checkpoint(state: Any) -> None:
    History.from_json(state.get("history"))  # None is refused


_USES: dict[type, Callable[[Any], None]] = {
    Cell: use_cell,
    LinePartition: use_line,
    PlanePartition: use_plane,
    SpacePartition: use_space,
}
