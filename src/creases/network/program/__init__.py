"""A network as a plain program: affine steps and bends, and what flows through them."""

from creases.network.program._affine import AFFINE_OPS
from creases.network.program._bends import apply_sides, sides_at
from creases.network.program._carry import propagate
from creases.network.program._contributions import unit_contributions
from creases.network.program._patterns import bit_widths, pack_sides, split_sides, unit_of_bit
from creases.network.program._pieces import Piece, forward, memory_limit, pattern_pieces
from creases.network.program._rows import incoming_weights, outgoing_weights
from creases.network.program._step import Step
from creases.network.program._walk import ForwardPass

__all__ = [
    "AFFINE_OPS",
    "ForwardPass",
    "Piece",
    "Step",
    "apply_sides",
    "bit_widths",
    "forward",
    "incoming_weights",
    "memory_limit",
    "outgoing_weights",
    "pack_sides",
    "pattern_pieces",
    "propagate",
    "sides_at",
    "split_sides",
    "unit_contributions",
    "unit_of_bit",
]
