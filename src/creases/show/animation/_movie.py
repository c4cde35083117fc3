"""Pictures one after the other, as a GIF (Pillow) or an MP4 (ffmpeg, by ``pip install 'creases[video]'``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._files import write_atomically
from creases.errors import FileError, InputError

#: A picture (h, w, 3) of bytes, and for how many seconds it is shown.
Frame = tuple[NDArray[np.uint8], float]
#: Called with the number of pictures that are done, and that of all.
Progress = Callable[[int, int], None]

ENDINGS = (".gif", ".mp4")

#: Pixels of a picture at most: more are of no use on a screen, and fill disks.
MOST_PIXELS = 4_000_000

#: Colours in a GIF's pictures.
_COLORS = 96
#: Pictures in a second of an MP4, of which each is shown for several.
_RATE = 20


def check_movie(path: str | Path, size: tuple[int, int]) -> Path:
    """The path of a movie, refused before any work is done where it cannot be written; ``size`` is in pixels."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise InputError(f"path: an animation's name must end in {' or '.join(ENDINGS)}, got {path.name!r}")
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    if size[0] * size[1] > MOST_PIXELS:
        raise InputError(
            f"dpi: pictures of {size[0]} x {size[1]} pixels are over {MOST_PIXELS / 1e6:g} million; give a lower one"
        )
    if path.suffix == ".mp4":
        _ffmpeg()
    return path


def write_movie(frames: Iterable[Frame], path: Path) -> Path:
    """Write pictures of one size as they come, whole or not at all; a GIF is shown again and again."""
    stream = iter(frames)
    first = next(stream, None)
    if first is None:
        raise InputError("frames: there is nothing to animate")
    with write_atomically(path) as temporary:
        (_write_mp4 if path.suffix == ".mp4" else _write_gif)(first, stream, temporary)
    return path


def _write_gif(first: Frame, rest: Iterator[Frame], path: Path) -> None:
    from PIL import Image

    lasting = [max(20, round(1000 * first[1]))]  # browsers slow down what is faster

    def picture(pixels: NDArray[np.uint8]) -> Image.Image:
        return Image.fromarray(pixels).quantize(_COLORS, dither=Image.Dither.NONE)

    pictures = [picture(first[0])]
    for pixels, seconds in rest:
        pictures.append(picture(pixels))
        lasting.append(max(20, round(1000 * seconds)))
    pictures[0].save(path, format="GIF", save_all=True, append_images=pictures[1:], duration=lasting, loop=0)


def _write_mp4(first: Frame, rest: Iterator[Frame], path: Path) -> None:
    height, width = (side - side % 2 for side in first[0].shape[:2])  # the codec takes even sizes only
    options: dict[str, Any] = {"fps": _RATE, "codec": "libx264", "macro_block_size": 2, "ffmpeg_log_level": "error"}
    writer = _ffmpeg().write_frames(str(path), (width, height), **options, output_params=["-crf", "20"], quality=None)
    writer.send(None)
    try:
        for pixels, seconds in (first, *rest):
            picture = np.ascontiguousarray(pixels[:height, :width])
            for _ in range(max(1, round(_RATE * seconds))):
                writer.send(picture)
    finally:
        writer.close()


def _ffmpeg() -> Any:
    try:
        import imageio_ffmpeg  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise InputError(
            "path: MP4 needs imageio-ffmpeg; install it with: pip install 'creases[video]', or write a .gif"
        ) from None
    return imageio_ffmpeg
