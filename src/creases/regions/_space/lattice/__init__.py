"""Face lattices in n dimensions: cutting by units, joining, and the finished faces."""

from creases.regions._space.lattice.faces import Faces, number_faces
from creases.regions._space.lattice.lattice import Lattice, box_lattice, join_lattices, merge_regions

__all__ = ["Faces", "Lattice", "box_lattice", "join_lattices", "merge_regions", "number_faces"]
