"""Programs: networks as affine steps and bends, with functions that evaluate and analyse them."""

from creases._program._activation_times_gradient import activation_times_gradient
from creases._program._affine import AFFINE_OPS
from creases._program._bends import apply_sides, sides_at
from creases._program._chain import check_chain, find_chain_break
from creases._program._forward_pass import ForwardPass
from creases._program._gradients import pattern_gradients
from creases._program._patterns import bit_widths, pack_sides, split_sides, unit_of_bit
from creases._program._pieces import forward, forward_sides, memory_limit, pattern_pieces
from creases._program._products import matrix_product
from creases._program._program import Program
from creases._program._propagation import propagate
from creases._program._step import Step
from creases._program._unit_weights import incoming_weights, outgoing_weights

__all__ = [
    "AFFINE_OPS",
    "ForwardPass",
    "Program",
    "Step",
    "activation_times_gradient",
    "apply_sides",
    "bit_widths",
    "check_chain",
    "find_chain_break",
    "forward",
    "forward_sides",
    "incoming_weights",
    "matrix_product",
    "memory_limit",
    "outgoing_weights",
    "pack_sides",
    "pattern_gradients",
    "pattern_pieces",
    "propagate",
    "sides_at",
    "split_sides",
    "unit_of_bit",
]
