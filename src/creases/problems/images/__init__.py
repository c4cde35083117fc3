"""Labelled images, read from their official files, and their preprocessing.

``problems.mnist`` and ``problems.cifar10`` return ``Images``; ``normalise`` scales pixels by ``channel_statistics``;
``to_color_32`` resizes grey images to the shape of CIFAR-10.
"""

from creases.problems.images._images import Images, channel_statistics, normalise, to_color_32

__all__ = ["Images", "channel_statistics", "normalise", "to_color_32"]
