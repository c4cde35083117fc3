"""What a network is: reading models, bends, patterns, pieces; and surgery on torch modules.

``read`` makes a ``Network`` of a model; a network gives its value, the pattern of its units' sides and its piece, the
affine function ``J x + y``, at any input.

>>> from creases.network import read
>>> net = read([([[1.0, 0.0], [0.0, 1.0]], [0.0, -1.0]), ([[1.0, 2.0]], [0.5])])  # relu(x0) + 2 relu(x1 - 1) + 0.5
>>> x = [3.0, 0.0]
>>> net(x).tolist(), net.sides(x).tolist()
([3.5], [1, 0])
>>> net.piece(x).J.tolist(), net.piece(x).y.tolist()
([[1.0, 0.0]], [0.5])
>>> str(net.unit(1))
'layers.0.bend[1]'
"""

from creases.network._files import from_bytes, load, to_bytes
from creases.network._network import Network, PointsLike, Unit
from creases.network._read import as_network, read
from creases.network.program._pieces import Piece
from creases.network.surgery import Certificate, Place, deepen, places, remove, widen

__all__ = [
    "Certificate",
    "Network",
    "Piece",
    "Place",
    "PointsLike",
    "Unit",
    "as_network",
    "deepen",
    "from_bytes",
    "load",
    "places",
    "read",
    "remove",
    "to_bytes",
    "widen",
]
