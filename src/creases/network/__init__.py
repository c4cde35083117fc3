"""What a network is: reading models, bends, patterns, pieces."""

from creases.network.network import Network, Unit
from creases.network.pieces import Piece
from creases.network.read import read

__all__ = ["Network", "Piece", "Unit", "read"]
