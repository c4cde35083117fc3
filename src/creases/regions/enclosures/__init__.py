"""The smallest networks that enclose a ball, and the polytopes they enclose.

``hyperoctahedron`` and ``expanded_simplex`` build the networks, ``enclosure`` returns their shape by formula.
"""

from creases.regions.enclosures._enclosures import (
    Enclosure,
    enclosure,
    expanded_simplex,
    face_counts,
    facet_distance,
    hyperoctahedron,
    intermediate_polytope,
    shell_volume,
)

__all__ = [
    "Enclosure",
    "enclosure",
    "expanded_simplex",
    "face_counts",
    "facet_distance",
    "hyperoctahedron",
    "intermediate_polytope",
    "shell_volume",
]
