"""A network as a plain program: affine steps and bends, and what flows through them."""

from creases.network.program._affine import AFFINE
from creases.network.program._bends import select, sides
from creases.network.program._carry import carry
from creases.network.program._contributions import unit_contributions
from creases.network.program._patterns import bend_sides, bit_units, bit_widths, pack
from creases.network.program._pieces import Piece, default_memory, forward, pattern_pieces
from creases.network.program._rows import columns_out, rows_in
from creases.network.program._step import Step
from creases.network.program._walk import Walk

__all__ = [
    "AFFINE",
    "Piece",
    "Step",
    "Walk",
    "bend_sides",
    "bit_units",
    "bit_widths",
    "carry",
    "columns_out",
    "default_memory",
    "forward",
    "pack",
    "pattern_pieces",
    "rows_in",
    "select",
    "sides",
    "unit_contributions",
]
