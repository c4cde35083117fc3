"""Labelled images, and their preprocessing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from creases._typing import Bytes, Floats
from creases._validation import check_count
from creases.errors import InputError
from creases.problems._problem import Problem

Split = Literal["train", "test"]

CHUNK = 4096  # images resized or scaled at a time, so that no float copy of all of them is made


@dataclass(frozen=True, eq=False, repr=False)
class Images:
    """Images of one split with their classes."""

    name: str
    split: Split
    images: Bytes  #: (n, channels, height, width), 0 .. 255
    labels: NDArray[np.int64]  #: (n,) class numbers
    classes: tuple[str, ...]
    description: str = ""
    citation: str = ""

    def flat(self, n: int | None = None) -> Problem:
        """Return the first ``n`` images (all if None) as rows of pixels from 0 to 1, channel by channel, row by row."""
        n = len(self.images) if n is None else check_count(n, "n")
        if n > len(self.images):
            raise InputError("n", f"be at most the {len(self.images)} {self.split} images of {self.name}", f"{n}")
        images = self.images[:n]
        pixels = range(images[0].size)
        return Problem(
            name=self.name,
            X=images.reshape(n, -1) / 255.0,
            y=self.labels[:n],
            features=tuple(f"pixel {i}" for i in pixels),
            classes=self.classes,
            description=self.description,
            citation=self.citation,
        )

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.images.shape))
        return f"<Images {self.name}, {self.split}: {size}, {len(self.classes)} classes>"


def as_problem(
    read: Callable[..., Images],
    *,
    split: Split = "train",
    n: int | None = None,
    folder: str | Path | None = None,
    fetch: bool = False,
) -> Problem:
    """Return the images that ``read`` reads as a problem of flat rows."""
    return read(split, folder=folder, fetch=fetch).flat(n)


def channel_statistics(images: Bytes) -> tuple[Floats, Floats]:
    """Return the mean and standard deviation of each channel, (c,) each, of pixels from 0 to 1, by exact sums.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.problems.images import channel_statistics
    >>> channel_statistics(np.array([[[[0, 255]]]], np.uint8))
    (array([0.5]), array([0.5]))
    """
    _check_images(images)
    levels = np.arange(256) / 255.0
    counts = np.stack([np.bincount(images[:, c].ravel(), minlength=256) for c in range(images.shape[1])])
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ levels
    return mean, np.sqrt((share * (levels - mean[:, None]) ** 2).sum(axis=1))


def normalise(images: Bytes, statistics: tuple[Floats, Floats] | None = None) -> NDArray[np.float32]:
    """Scale pixels to mean 0 and standard deviation 1 in every channel, as float32.

    Parameters
    ----------
    images
        (n, c, h, w), bytes.
    statistics
        Mean and standard deviation by channel; for a test split give those of the training split. Default: the images'
        own :func:`channel_statistics`.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.problems.images import normalise
    >>> normalise(np.array([[[[0, 255]]]], np.uint8)).ravel()
    array([-1.,  1.], dtype=float32)
    """
    _check_images(images)
    mean, spread = channel_statistics(images) if statistics is None else statistics
    scale = 1.0 / np.where(spread > 0, spread, 1.0)
    table = ((np.arange(256) / 255.0 - mean[:, None]) * scale[:, None]).astype(np.float32)  # (c, 256)
    result = np.empty(images.shape, np.float32)
    for c, values in enumerate(table):
        np.take(values, images[:, c], out=result[:, c], mode="clip")
    return result


def to_color_32(images: Bytes) -> Bytes:
    """Resize grey images (n, 1, h, w) bilinearly to (n, 3, 32, 32), rounded to bytes, equal in all channels.

    So networks for CIFAR-10 take MNIST (the dissertation, section 6.1). Pixel i of 32 lies at
    ``(i + 1/2) h/32 - 1/2``, clamped to the image.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.problems.images import to_color_32
    >>> to_color_32(np.full((2, 1, 28, 28), 7, np.uint8)).shape
    (2, 3, 32, 32)
    """
    _check_images(images)
    if images.shape[1] != 1:
        raise InputError("images", "have one channel, (n, 1, h, w)", f"{images.shape}")
    from torch import from_numpy, nn

    result = np.empty((len(images), 3, 32, 32), np.uint8)
    for start in range(0, len(images), CHUNK):
        part = from_numpy(images[start : start + CHUNK].astype(np.float64))
        resized = nn.functional.interpolate(part, size=32, mode="bilinear")
        result[start : start + CHUNK] = np.rint(resized.numpy()).astype(np.uint8)
    return result


def _check_images(images: Bytes) -> None:
    if images.ndim != 4 or images.dtype != np.uint8 or images.size == 0:
        raise InputError("images", "be bytes (n, channels, height, width)", f"{images.dtype} {images.shape}")
