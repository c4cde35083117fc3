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

from creases._program._pieces import Piece
from creases._program._program import PointsLike
from creases.network._network import Network, describe_piece
from creases.network._read import NetworkLike, as_network, read
from creases.network.surgery._deepen import deepen
from creases.network.surgery._place import Certificate, Place
from creases.network.surgery._places import places
from creases.network.surgery._remove import remove
from creases.network.surgery._widen import widen

__all__ = [
    "Certificate",
    "Network",
    "NetworkLike",
    "Piece",
    "Place",
    "PointsLike",
    "as_network",
    "deepen",
    "describe_piece",
    "places",
    "read",
    "remove",
    "widen",
]
