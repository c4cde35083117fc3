"""Samples that networks are compared at: images by name, or a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from creases.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from creases.network import Network

IMAGES = ("mnist", "cifar10")


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs (p, n_in) to compare at, their classes (p,) if known, and others to fit maps to, if asked for."""

    X: NDArray[Any]
    y: NDArray[np.int64] | None
    train: NDArray[Any] | None
    source: str  #: in words
    image: tuple[int, ...] | None = None  #: (c, h, w) where samples are images


def read_samples(
    data: str, net: Network, samples: int, train: int, *, target: str | None = None, normalise: bool = False
) -> Samples:
    """Return the samples that ``--data`` names, as the network takes them.

    Parameters
    ----------
    data
        A name of :data:`IMAGES`, or a file.
    net
        The network that takes them.
    samples, train
        How many to use: the first test images, or the first rows of a file; and how many others to fit maps to: the
        first training images, or the rows that follow.
    target
        Column of a table with the classes; the last unless given.
    normalise
        Whether to scale images to mean 0 and standard deviation 1 in each channel.
    """
    if data in IMAGES:
        if target is not None:
            raise InputError("target", f"be left out for {data}, whose classes are known", repr(target))
        X, y = _images(data, "test", net, samples, normalise)
        other = _images(data, "train", net, train, normalise)[0].reshape(train, -1) if train else None
        kind = "normalised pixels" if normalise else "pixels from 0 to 1"
        source = f"{len(X)} test images of {data}, {kind}"
        return Samples(X.reshape(len(X), -1), y, other, source, X.shape[1:])
    if normalise:
        raise InputError("normalise", f"be left out for files; it is for images ({', '.join(IMAGES)})")
    from creases.cli._samples import read_points

    points, classes = read_points(Path(data), target, net.n_in, net.n_out)
    if train and len(points) < samples + train:
        raise InputError(
            "train",
            f"leave {samples} of the {len(points)} rows of {data} to compare at",
            f"{train}",
            "use fewer samples or fewer training samples",
        )
    X, others = points[:samples], points[samples : samples + train]
    known = None if classes is None else classes[:samples]
    return Samples(X, known, others if train else None, f"{len(X)} rows of {data}")


def _images(
    data: str, split: Literal["train", "test"], net: Network, count: int, normalise: bool
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return images (count, c, h, w) in the size that the network takes, and their classes."""
    import numpy as np

    from creases.problems import cifar10, mnist
    from creases.problems.images import channel_statistics, to_color_32
    from creases.problems.images import normalise as standardize_pixels

    read = {"mnist": mnist, "cifar10": cifar10}[data]
    images = read(split)
    pixels = images.images[:count]
    size = pixels[0].size
    if net.n_in == 3072 and size == 784:
        pixels = to_color_32(pixels)
    elif net.n_in != size:
        raise InputError("data", f"have {net.n_in} inputs, as the network", f"images of {data} with {size} pixels")
    if not normalise:
        return pixels / 255.0, images.labels[:count]
    mean, spread = channel_statistics(read("train").images)
    repeats = pixels.shape[1] // len(mean)
    scaled = standardize_pixels(pixels, (np.repeat(mean, repeats), np.repeat(spread, repeats)))
    return scaled, images.labels[:count]
