"""What the studio bounds, so that no table, formula or network can take the machine away from its user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of a studio; sizes in bytes, times in seconds."""

    sessions: int = 8  #: at a time
    message: int = 32 * 2**20  #: a table of 20 MB, as JSON
    rows: int = 20_000
    columns: int = 500  #: inputs, after texts became columns of 0 and 1
    numbers: int = 1_000_000  #: rows times columns
    classes: int = 50
    layers: int = 8
    units: int = 2_000
    regions: int = 200_000  #: in one frame
    epochs: int = 20_000
    marks: int = 100  #: growth steps that can be taken back
    slices: int = 20
    frames: int = 64 * 2**20  #: kept for being asked for again
    work: float = 600.0  #: training without a word from the user; then the run pauses
    answer: float = 120.0  #: without a sign of life from a worker that has something to do; then it is ended
    away: float = 60.0  #: for a page to come back to its session
    idle: float = 3600.0  #: without a word to a run that is not running
    exports: int = 8  #: that can be downloaded, of each session
