"""The engine of CUDA devices: when kernels are launched; :mod:`creases.lab._training._triton_kernel` has the kernels.

Epochs run in chunks. After each chunk the finished networks are removed and the others moved together, so that no
program runs for one slow network among many finished ones. A network's numbers do not depend on the other networks.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib.util import find_spec
from math import inf, log
from threading import Lock
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from creases.errors import InputError
from creases.lab._training.task import Array, Ends, Task

#: The most bytes of the GPU's memory for the networks that are trained at once.
ROOM = 8 << 30

#: Held to launch: threads that train at the same time must not compile the same kernel.
LAUNCHING = Lock()

#: What the kernel changes.
CHANGED = ("W", "M", "V", "trained", "losses", "rights")


class Tiles(NamedTuple):
    """How many of each a program works on at a time."""

    lanes: int  #: networks, in a warp of 32 threads
    units: int
    rows: int  #: parameters
    samples: int


def run(task: Task) -> Ends:
    """Train the networks of a task, in place."""
    place, (B, n, batches) = _usable(task.device), task.shape
    tiles, constants = _tiles(len(task.W), n), _constants(task, place)
    size = len(task.W) * 7 + sum(task.widths) * tiles.samples + 2 * n * (task.X.shape[2] + task.y.shape[2])
    most = max(_room(place) // (size * task.W.itemsize) // tiles.lanes, 1) * tiles.lanes
    ends = Ends(np.zeros(B, np.int64), np.zeros(B), np.zeros(B, np.int64))
    for start in range(0, B, most):
        chunk = slice(start, start + most)
        home = _home(task, chunk, place)
        with _on(place):
            _train(task, home, constants, tiles)
        for part, name in zip((task.W, task.first, task.second, *ends), CHANGED, strict=True):
            part[..., chunk] = home[name].cpu().numpy()
    task.steps[:] += ends.epochs * batches
    return ends


def _tiles(parameters: int, samples: int) -> Tiles:
    """Return the tiles that were fastest on an H200; the order of sums depends on them, so they ignore the batch.

    A thread has a whole network if that is small, else some of its units or samples.
    """
    if samples > 32:
        return Tiles(2, 4, 16, 128) if samples > 64 else Tiles(4, 4, 16, 64)
    return Tiles(32, 4, 16, 16) if parameters < 64 else Tiles(8, 8, 16, 16)


def _usable(device: str) -> torch.device:
    """Return the device, if networks can be trained on it."""
    place = torch.device(device)
    count = torch.cuda.device_count()
    if place.type == "cuda" and (place.index or 0) >= count:
        raise InputError(
            "device",
            f"be one of the {count} CUDA devices that torch {torch.__version__} finds",
            repr(device),
            "use {0}",
            [("device", "cpu")],
        )
    if find_spec("triton") is None:
        raise InputError(
            "device",
            "be 'cpu' without triton, which is part of torch's CUDA builds for Linux",
            repr(device),
            "install it, or use {0}",
            [("device", "cpu")],
        )
    return place


def _room(place: torch.device) -> int:
    """Return the bytes for networks that are trained at once: at most half of the free memory."""
    return min(ROOM, torch.cuda.mem_get_info(place)[0] // 2) if place.type == "cuda" else ROOM


def _on(place: torch.device) -> AbstractContextManager[object]:
    return torch.cuda.device(place) if place.type == "cuda" else nullcontext()


def _constants(task: Task, place: torch.device) -> dict[str, Tensor]:
    """Return the kernel's arguments that are the same for all networks."""
    b1, b2 = task.betas
    first = (b1, 1 - b1) if task.optimizer == "adam" else (task.momentum, 1.0)
    low = -inf if task.until_loss is None else task.until_loss
    enough = inf if task.until_correct is None else task.until_correct
    settings = np.array([task.leak, *first, b2, 1 - b2, task.eps, low, enough], task.W.dtype)
    return {
        "widths": _to_device(np.array(task.widths, np.int32), place),
        "settings": _to_device(settings, place),
        "table": _to_device(_corrections(task).astype(task.W.dtype), place),
    }


def _corrections(task: Task) -> Array:
    """Adam's 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) for t = 1, ..., until they no longer change; 1 for others."""
    top = max(task.betas)
    if task.optimizer == "sgd" or not top:
        return np.ones((1, 2))
    t = np.arange(1, int(40 / -log(top)) + 2)
    return np.stack([1 / (1 - task.betas[0] ** t), 1 / np.sqrt(1 - task.betas[1] ** t)], axis=1)


def _home(task: Task, chunk: slice, place: torch.device) -> dict[str, Tensor]:
    """Arrays of some of the networks, which are last: (rows, networks); inputs that all share are (1, n, d)."""
    W = _to_device(task.W[:, chunk], place)
    count, dtype = W.shape[1], task.W.dtype
    home = {"W": W, "M": _to_device(task.first[:, chunk], place), "V": _to_device(task.second[:, chunk], place)}
    home |= {name: torch.zeros(count, dtype=W.dtype, device=place) for name in ("losses", "rights")}
    home |= {
        "trained": torch.zeros(count, dtype=torch.int32, device=place),
        "seeds": _to_device(task.seeds[chunk], place),
    }
    home |= {"lr": _to_device(task.lr[chunk].astype(dtype), place)}
    home |= {"steps": _to_device(np.minimum(task.steps[chunk], 1 << 30).astype(np.int32), place)}
    y = _to_device(task.y if len(task.y) == 1 else task.y[chunk], place).flatten(1).T
    X = _to_device(task.X if len(task.X) == 1 else task.X[chunk], place)
    return home | {"y": y.expand(-1, count), "X": X if len(task.X) == 1 else X.flatten(1).T}


def _to_device(part: Array, place: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(part)).to(place)


def _train(task: Task, home: dict[str, Tensor], constants: dict[str, Tensor], tiles: Tiles) -> None:
    """Train the networks of ``home``."""
    ids = torch.arange(home["W"].shape[1], device=home["W"].device)
    blocks, done = _gather(home, ids, tiles.lanes), 0
    while done < task.epochs:
        chunk = min(max(32, done // 4), task.epochs - done)
        _launch(task, blocks, constants, tiles, done, chunk)
        done += chunk
        going = blocks["going"].flatten()[: len(ids)] > 0
        count = int(going.sum())
        if count < 0.9 * len(ids):
            _put(home, ids, blocks)
            if not count:
                return
            ids = ids[going]
            blocks = _gather(home, ids, tiles.lanes)
    _launch(task, blocks, constants, tiles, done, 0)  # the losses after the last epoch
    _put(home, ids, blocks)


def _gather(home: dict[str, Tensor], ids: Tensor, lanes: int) -> dict[str, Tensor]:
    """Arrays (blocks, rows, lanes) of some networks; the last is repeated to fill a block, and does not go on there."""
    count = -(-len(ids) // lanes)
    place = torch.arange(count * lanes, device=ids.device)
    which = ids[place.clamp(max=len(ids) - 1)]
    blocks = {
        name: part if part.ndim == 3 else part[..., which].reshape(-1, count, lanes).permute(1, 0, 2).contiguous()
        for name, part in home.items()
    }
    return blocks | {"going": (place < len(ids)).int(), "G": torch.empty_like(blocks["W"])}


def _put(home: dict[str, Tensor], ids: Tensor, blocks: dict[str, Tensor]) -> None:
    """Invert ``_gather`` for the arrays that the kernel changes."""
    for name in CHANGED:
        rows = blocks[name].permute(1, 0, 2).flatten(1)[:, : len(ids)]
        home[name][..., ids] = rows.reshape(*home[name].shape[:-1], len(ids))


def _launch(
    task: Task, blocks: dict[str, Tensor], constants: dict[str, Tensor], tiles: Tiles, done: int, epochs: int
) -> None:
    """Train blocks for some epochs; for 0 epochs, look at their losses."""
    from creases.lab._training._triton_kernel import epochs_kernel

    W, units, n = blocks["W"], sum(task.widths), task.X.shape[1]
    watched = not epochs or not task.batch_size or task.until_loss is not None or task.until_correct is not None
    launch = partial(
        epochs_kernel[(len(W),)],
        **blocks,
        **constants,
        A=torch.empty((len(W), units, tiles.samples, tiles.lanes), dtype=W.dtype, device=W.device),
        depth=len(task.widths) - 1,
        parameters=W.shape[1],
        units=units,
        last=len(constants["table"]) - 1,
        n=n,
        size=task.batch_size or n,
        done=done,
        epochs=epochs,
        watched=int(watched),
        S=tiles.samples,
        L=tiles.lanes,
        U=tiles.units,
        R=tiles.rows,
        LOSS=task.loss,
        ADAM=task.optimizer == "adam",
        PER_NET=len(task.X) > 1,
        ORDERED=task.batch_size is not None,
        num_warps=1,
        num_stages=1,
    )
    with LAUNCHING:
        launch()
