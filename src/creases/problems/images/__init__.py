"""Labelled images, read from their official files, and what is done to them before a network sees them.

``mnist`` and ``cifar10`` give ``Images``; ``normalise`` them with their ``channel_statistics``; ``to_color_32`` makes grey
images as large and as colorful as CIFAR-10's.
"""

from creases.problems.images._cifar10 import cifar10
from creases.problems.images._images import Images, channel_statistics, normalise, to_color_32
from creases.problems.images._mnist import mnist

__all__ = ["Images", "channel_statistics", "cifar10", "mnist", "normalise", "to_color_32"]
