"""Many trainings at once."""

from creases.lab.batch import Batch
from creases.lab.train import Moments, train

__all__ = ["Batch", "Moments", "train"]
