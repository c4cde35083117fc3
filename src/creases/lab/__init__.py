"""Many trainings at once.

Train   a ``Batch`` of networks of one shape; ``train`` it as one program: a ``TrainingResult``, with its moments to
        resume from
Sweep   ``sweep`` runs a function over many jobs, keeps the results in a folder, and resumes after any interruption
"""

from creases.lab._sweep import sweep
from creases.lab._training.batch import Batch
from creases.lab._training.train import TrainingResult, train

__all__ = ["Batch", "TrainingResult", "sweep", "train"]
