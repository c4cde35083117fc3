"""Networks as piecewise-linear functions: reading models, bends, patterns, pieces; and edits of torch modules.

``read`` turns a model into a ``Network``. At any input a network has a value, a pattern (the sides of its units) and a
piece, the affine function ``J x + y`` that holds there.

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

from creases.network._network import Network, Unit
from creases.network._read import NetworkLike, as_network, read
from creases.network.program._pieces import Piece
from creases.network.program._program import PointsLike
from creases.network.surgery import Certificate, Place, deepen, places, remove, widen

__all__ = [
    "Certificate",
    "Network",
    "NetworkLike",
    "Piece",
    "Place",
    "PointsLike",
    "Unit",
    "as_network",
    "deepen",
    "places",
    "read",
    "remove",
    "widen",
]
