"""Labelled images, read from their official files, and their preprocessing.

``mnist`` and ``cifar10`` return ``Images``; ``normalise`` scales pixels by ``channel_statistics``; ``to_color_32``
resizes grey images to the shape of CIFAR-10.
"""

from creases.problems.images._cifar10 import cifar10
from creases.problems.images._images import Images, channel_statistics, normalise, to_color_32
from creases.problems.images._mnist import mnist

__all__ = ["Images", "channel_statistics", "cifar10", "mnist", "normalise", "to_color_32"]
