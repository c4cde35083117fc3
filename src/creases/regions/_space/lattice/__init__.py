"""Face lattices in n dimensions: cut by units, put together, and what is read off them when they are finished."""

from creases.regions._space.lattice.faces import Faces, faces_of
from creases.regions._space.lattice.lattice import Lattice, box_lattice
from creases.regions._space.lattice.merge import joined, merged

__all__ = ["Faces", "Lattice", "box_lattice", "faces_of", "joined", "merged"]
