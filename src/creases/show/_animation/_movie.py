"""Write frames as a GIF (by Pillow) or an MP4 (by ffmpeg, ``pip install 'creases[video]'``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from creases._files import write_atomically
from creases.errors import FileError, InputError

#: Pixels (h, w, 3), and the seconds that they are shown.
Frame = tuple[NDArray[np.uint8], float]
ENDINGS = (".gif", ".mp4")

#: Largest number of pixels of a frame: more are useless on a screen and fill the disk.
MAX_PIXELS = 4_000_000

#: Colors of a GIF.
_COLORS = 96
#: Frames per second of an MP4; each picture is repeated for several.
_RATE = 20


def check_movie(path: str | Path, size: tuple[int, int]) -> Path:
    """Return the path of a movie if it can be written, before any work is done; ``size`` is in pixels."""
    path = Path(path)
    if path.suffix not in ENDINGS:
        raise InputError("path", f"end in {' or '.join(ENDINGS)}", repr(path.name))
    if not path.parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}; create it first")
    if size[0] * size[1] > MAX_PIXELS:
        raise InputError(
            "dpi", f"give frames of at most {MAX_PIXELS / 1e6:g} million pixels", f"{size[0]} x {size[1]} pixels"
        )
    if path.suffix == ".mp4":
        _ffmpeg()
    return path


def write_movie(frames: Iterable[Frame], path: Path) -> Path:
    """Write frames of one size as they come, atomically; a GIF loops."""
    stream = iter(frames)
    first = next(stream, None)
    if first is None:
        raise InputError("frames", "have at least one frame", "none")
    with write_atomically(path) as temporary:
        (_write_mp4 if path.suffix == ".mp4" else _write_gif)(first, stream, temporary)
    return path


def _write_gif(first: Frame, rest: Iterator[Frame], path: Path) -> None:
    from PIL import Image

    durations = [max(20, round(1000 * first[1]))]  # browsers slow down faster ones

    def picture(pixels: NDArray[np.uint8]) -> Image.Image:
        return Image.fromarray(pixels).quantize(_COLORS, dither=Image.Dither.NONE)

    pictures = [picture(first[0])]
    for pixels, seconds in rest:
        pictures.append(picture(pixels))
        durations.append(max(20, round(1000 * seconds)))
    pictures[0].save(path, format="GIF", save_all=True, append_images=pictures[1:], duration=durations, loop=0)


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
            "path", "end in .gif without imageio-ffmpeg", "an .mp4", "install it with: pip install 'creases[video]'"
        ) from None
    return imageio_ffmpeg
