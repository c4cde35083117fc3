"""Storage of coefficients: in memory, or in a folder from which an interrupted run can resume."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from creases._array_files import read_npy_header
from creases._files import parse_json, read_text, write_atomically
from creases.errors import FileError, InputError
from creases.network import Network


@dataclass(eq=False)
class Store:
    """Features (n_out, p, r) and outputs (p, n_out), filled from the first sample to the last."""

    features: Tensor
    values: Tensor
    done: int = 0  #: samples that are stored
    first: int = 0  #: of them, those that were stored before
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
        return cls(features, values, done or 0, done or 0, folder, origin)

    def put(self, start: int, features: Tensor, values: Tensor) -> None:
        """Store a block of samples, then record that it is complete."""
        stop = start + len(values)
        self.features[:, start:stop] = features.to(self.features.device)
        self.values[start:stop] = values.to(self.values.device)
        self.done = stop
        if self.folder is not None:
            note = {"origin": self.origin, "done": stop}
            with write_atomically(self.folder / "done.json") as path:
                Path(path).write_text(json.dumps(note))


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
