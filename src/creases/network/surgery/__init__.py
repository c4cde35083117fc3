"""Surgery on a user's own torch modules: which widths can grow, more units, fewer units, one more layer."""

from creases.network.surgery._certificate import Certificate
from creases.network.surgery._deepen import deepen
from creases.network.surgery._link import Link
from creases.network.surgery._place import Place
from creases.network.surgery._places import places
from creases.network.surgery._remove import remove
from creases.network.surgery._widen import widen

__all__ = ["Certificate", "Link", "Place", "deepen", "places", "remove", "widen"]
