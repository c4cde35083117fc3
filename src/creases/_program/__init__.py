"""Programs: networks as affine steps and bends, with functions that evaluate and analyse them."""

from creases._program._affine import matrix_product
from creases._program._forward_pass import ForwardPass, propagate
from creases._program._gradients import activation_times_gradient, incoming_weights, outgoing_weights, pattern_gradients
from creases._program._pieces import (
    bit_widths,
    forward,
    forward_sides,
    memory_limit,
    pack_sides,
    pattern_pieces,
    split_sides,
    unit_of_bit,
)
from creases._program._program import Program, check_chain, find_chain_break
from creases._program._step import Step, apply_sides, sides_at

__all__ = [
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
