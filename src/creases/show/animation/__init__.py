"""Training and growth as GIF and MP4."""

from creases.show.animation._animation import animate_growth, animate_training
from creases.show.animation._tracks import animate_tracks

__all__ = [
    "animate_growth",
    "animate_tracks",
    "animate_training",
]
