"""Programs: networks as affine steps and bends, with functions that evaluate and analyse them."""

from creases._program._affine import matrix_product as matrix_product
from creases._program._forward_pass import ForwardPass as ForwardPass
from creases._program._forward_pass import propagate as propagate
from creases._program._gradients import activation_times_gradient as activation_times_gradient
from creases._program._gradients import incoming_weights as incoming_weights
from creases._program._gradients import outgoing_weights as outgoing_weights
from creases._program._gradients import pattern_gradients as pattern_gradients
from creases._program._pieces import bit_widths as bit_widths
from creases._program._pieces import forward as forward
from creases._program._pieces import forward_sides as forward_sides
from creases._program._pieces import memory_limit as memory_limit
from creases._program._pieces import pack_sides as pack_sides
from creases._program._pieces import pattern_pieces as pattern_pieces
from creases._program._pieces import split_sides as split_sides
from creases._program._pieces import unit_of_bit as unit_of_bit
from creases._program._program import Program as Program
from creases._program._program import check_chain as check_chain
from creases._program._program import find_chain_break as find_chain_break
from creases._program._step import Step as Step
from creases._program._step import apply_sides as apply_sides
from creases._program._step import sides_at as sides_at
