"""Many trainings at once."""

from creases.lab.batch import Batch
from creases.lab.functions import job
from creases.lab.sweep import Status, Sweep
from creases.lab.train import Moments, Trained, train

__all__ = ["Batch", "Moments", "Status", "Sweep", "Trained", "job", "train"]
