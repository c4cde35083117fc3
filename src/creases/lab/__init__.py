"""Many trainings at once.

Train   a ``Batch`` of networks of one shape; ``train`` it as one program: ``Trained``, with ``Moments`` to go on from
Sweep   a ``Sweep`` runs a function over many jobs into a folder, and goes on after any interruption; its ``Status``;
        ``job`` marks a function that takes many jobs at once
"""

from creases.lab._batch import Batch
from creases.lab._eta import duration, spoken_left
from creases.lab._functions import job
from creases.lab._jobs import ERROR, KEY, SEED
from creases.lab._sweep import Status, Sweep
from creases.lab._train import Moments, Trained, train
from creases.lab._vectors import fma, load_wide, store_wide, vectors

__all__ = [
    "ERROR",
    "KEY",
    "SEED",
    "Batch",
    "Moments",
    "Status",
    "Sweep",
    "Trained",
    "duration",
    "fma",
    "job",
    "load_wide",
    "spoken_left",
    "store_wide",
    "train",
    "vectors",
]
