"""Samples that networks are compared at: images by name, or a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from creases.cli import _tables as tables
from creases.errors import InputError

if TYPE_CHECKING:
    from creases.network import Network

IMAGES = ("mnist", "cifar10")


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs (p, n_in) to compare at, their classes (p,) if known, and perhaps others to fit maps to."""

    x: NDArray[Any]
    labels: NDArray[np.int64] | None
    train: NDArray[Any] | None
    source: str  #: in words
    image: tuple[int, ...] | None = None  #: (c, h, w) where samples are images


def read_samples(
    data: str, net: Network, samples: int, train: int, *, target: str | None = None, normalise: bool = False
) -> Samples:
    """The samples that ``--data`` names, as the network takes them.

    Parameters
    ----------
    target
        The column of a table that has the classes; else the last.
    samples, train
        How many to use: the first test images, or the first rows of a file; and how many others to fit maps to: the
        first training images, or the rows that follow.
    """
    if data in IMAGES:
        if target is not None:
            raise InputError(f"--target: is for tables; the classes of {data} are known")
        x, labels = _images(data, "test", net, samples, normalise)
        other = _images(data, "train", net, train, normalise)[0].reshape(train, -1) if train else None
        kind = "normalised pixels" if normalise else "pixels from 0 to 1"
        source = f"{len(x)} test images of {data}, {kind}"
        return Samples(x.reshape(len(x), -1), labels, other, source, x.shape[1:])
    if normalise:
        raise InputError(
            f"--normalise: is for images ({', '.join(IMAGES)}); the numbers of a file are taken as they are"
        )
    points, classes = tables.read_samples(Path(data), target, net.n_in, net.n_out)
    if train and len(points) < samples + train:
        raise InputError(
            f"--train: {data} has {len(points)} rows, fewer than --samples {samples} and --train {train} together"
        )
    own, others = points[:samples], points[samples : samples + train]
    return Samples(
        own, None if classes is None else classes[:samples], others if train else None, f"{len(own)} rows of {data}"
    )


def _images(
    data: str, split: Literal["train", "test"], net: Network, count: int, normalise: bool
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Images (count, c, h, w) in the size that the network takes, and their classes."""
    from creases import problems

    read = {"mnist": problems.mnist, "cifar10": problems.cifar10}[data]
    found = read(split)
    pixels = found.images[:count]
    shrunk = pixels[0].size
    if net.n_in == 3072 and shrunk == 784:
        pixels = problems.images.to_color_32(pixels)
    elif net.n_in != shrunk:
        raise InputError(f"--data: images of {data} have {shrunk} pixels, the network takes {net.n_in} numbers")
    if not normalise:
        return pixels / 255.0, found.labels[:count]
    mean, spread = problems.images.channel_statistics(read("train").images)
    repeats = pixels.shape[1] // len(mean)
    scaled = problems.images.normalise(pixels, (np.repeat(mean, repeats), np.repeat(spread, repeats)))
    return scaled, found.labels[:count]
