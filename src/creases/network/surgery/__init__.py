"""Surgery on a user's own torch modules: which widths can grow, more units, fewer units, one more layer."""

from creases.network.surgery._certificate import Certificate, changed, parameters
from creases.network.surgery._deepen import deepen
from creases.network.surgery._example import quietly, shadow, unwrapped
from creases.network.surgery._layers import AFFINE, Held, made, taken
from creases.network.surgery._link import Link
from creases.network.surgery._names import BENDS, IDENTITIES, JOINS, MOVED
from creases.network.surgery._norms import SLOPE
from creases.network.surgery._optimizer import checked, forget
from creases.network.surgery._place import Place, layer_at
from creases.network.surgery._places import find, places
from creases.network.surgery._remove import remove
from creases.network.surgery._widen import widen

__all__ = [
    "AFFINE",
    "BENDS",
    "IDENTITIES",
    "JOINS",
    "MOVED",
    "SLOPE",
    "Certificate",
    "Held",
    "Link",
    "Place",
    "changed",
    "checked",
    "deepen",
    "find",
    "forget",
    "layer_at",
    "made",
    "parameters",
    "places",
    "quietly",
    "remove",
    "shadow",
    "taken",
    "unwrapped",
    "widen",
]
