"""Surgery on a user's own torch modules: which widths can grow, more units, fewer units, one more layer."""

from creases.network.surgery.certificate import Certificate
from creases.network.surgery.deepen import deepen
from creases.network.surgery.link import Link
from creases.network.surgery.place import Place
from creases.network.surgery.places import places
from creases.network.surgery.remove import remove
from creases.network.surgery.widen import widen

__all__ = ["Certificate", "Link", "Place", "deepen", "places", "remove", "widen"]
