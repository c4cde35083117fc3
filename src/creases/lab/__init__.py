"""Many trainings at once.

Train   a ``Batch`` of networks of one shape; ``train`` it as one program: a ``TrainingResult``, with ``Moments`` to
        resume from
Sweep   a ``Sweep`` runs a function over many jobs, keeps the results in a folder, and resumes after any interruption;
        its ``Status``; ``job`` declares how a function wants its jobs
"""

from creases.lab._sweeps.eta import format_duration, format_time_left
from creases.lab._sweeps.functions import job
from creases.lab._sweeps.jobs import ERROR, KEY, SEED
from creases.lab._sweeps.sweep import Status, Sweep
from creases.lab._training.batch import Batch
from creases.lab._training.train import TrainingResult, train

__all__ = [
    "ERROR",
    "KEY",
    "SEED",
    "Batch",
    "Status",
    "Sweep",
    "TrainingResult",
    "format_duration",
    "format_time_left",
    "job",
    "train",
]
