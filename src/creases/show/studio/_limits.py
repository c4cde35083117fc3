"""Limits of the studio, so that no table, formula or network can exhaust the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of a studio; sizes in bytes, times in seconds."""

    connections: int = 100  #: open at the same time; beyond, requests are refused
    head: int = 16 * 2**10  #: of a request that is not complete
    memory: int = 4 * 2**30  #: of the worker, besides the libraries
    message: int = 32 * 2**20  #: a table of 20 MB, as JSON
    rows: int = 20_000
    columns: int = 500  #: inputs, after one-hot encoding
    numbers: int = 1_000_000  #: rows times columns
    classes: int = 50
    model: int = 20 * 10**6  #: a model file
    inputs: int = 4_096  #: of the network of a model file
    layers: int = 8
    units: int = 2_000
    regions: int = 200_000  #: in one frame
    epochs: int = 20_000
    marks: int = 100  #: growth steps that can be undone
    slices: int = 20
    frames: int = 64 * 2**20  #: cached
    work: float = 600.0  #: training without interaction before a run pauses
    slow: float = 10.0  #: silence of a busy worker after which the page says so, and offers to stop it
    exports: int = 8  #: files to download
