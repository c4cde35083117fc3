"""The smallest networks around a ball, and the polytopes that they enclose.

``hyperoctahedron`` and ``expanded_simplex`` build the networks, ``enclosure`` gives their shape by formula.
"""

from creases.regions.enclosures._enclosures import (
    Enclosure,
    between,
    enclosure,
    expanded_simplex,
    face_counts,
    facet_distance,
    hyperoctahedron,
    shell_volume,
)

__all__ = [
    "Enclosure",
    "between",
    "enclosure",
    "expanded_simplex",
    "face_counts",
    "facet_distance",
    "hyperoctahedron",
    "shell_volume",
]
