"""The smallest networks around a ball, and the polytopes that they enclose.

``hyperoctahedron`` and ``expanded_simplex`` build the networks, ``enclosure`` gives their shape by formula.
"""

from creases.regions.enclosures._enclosures import Enclosure, enclosure, expanded_simplex, hyperoctahedron

__all__ = ["Enclosure", "enclosure", "expanded_simplex", "hyperoctahedron"]
