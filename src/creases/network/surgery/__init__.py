"""Edits of torch modules: find widths and coupled channels that can change, add and remove units, channels, layers."""

from creases.network.surgery._carriers import PRELU_SLOPE
from creases.network.surgery._certificate import Certificate, apply_and_measure, count_parameters
from creases.network.surgery._channel_group import (
    ChannelGroup,
    ChannelGroups,
    FixedChannels,
    count_multiply_adds,
    saved_multiply_adds,
    saved_parameters,
    union_channels,
)
from creases.network.surgery._channel_groups import channel_groups
from creases.network.surgery._deepen import InsertedLayer, deepen, inserted_layers, remove_layer
from creases.network.surgery._function_names import BEND_FUNCTIONS, IDENTITY_FUNCTIONS, JOIN_FUNCTIONS, MOVE_FUNCTIONS
from creases.network.surgery._layers import AFFINE_LAYERS, UnitTensors, count_outputs, input_tensors, output_tensors
from creases.network.surgery._link import Link
from creases.network.surgery._optimizer import check_optimizer, reset_optimizer_state
from creases.network.surgery._place import Place, get_layer
from creases.network.surgery._places import find_place, places
from creases.network.surgery._remove import remove
from creases.network.surgery._remove_channels import masked_channels, remove_channels
from creases.network.surgery._sandbox import copy_sharing_parameters, unwrap_module, without_side_effects
from creases.network.surgery._tracking import IS_OUTPUT
from creases.network.surgery._widen import widen

__all__ = [
    "AFFINE_LAYERS",
    "BEND_FUNCTIONS",
    "IDENTITY_FUNCTIONS",
    "IS_OUTPUT",
    "JOIN_FUNCTIONS",
    "MOVE_FUNCTIONS",
    "PRELU_SLOPE",
    "Certificate",
    "ChannelGroup",
    "ChannelGroups",
    "FixedChannels",
    "InsertedLayer",
    "Link",
    "Place",
    "UnitTensors",
    "apply_and_measure",
    "channel_groups",
    "check_optimizer",
    "copy_sharing_parameters",
    "count_multiply_adds",
    "count_outputs",
    "count_parameters",
    "deepen",
    "find_place",
    "get_layer",
    "input_tensors",
    "inserted_layers",
    "masked_channels",
    "output_tensors",
    "places",
    "remove",
    "remove_channels",
    "remove_layer",
    "reset_optimizer_state",
    "saved_multiply_adds",
    "saved_parameters",
    "union_channels",
    "unwrap_module",
    "widen",
    "without_side_effects",
]
