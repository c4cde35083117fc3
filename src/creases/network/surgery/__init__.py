"""Parts of the edits of torch modules in :mod:`creases.network`: coupled channels, layers, costs, optimizer state."""

from creases.network.surgery._certificate import apply_and_measure, count_parameters, evaluation_mode
from creases.network.surgery._channel_groups import channel_groups
from creases.network.surgery._edits import (
    check_optimizer,
    copy_sharing_parameters,
    reset_optimizer_state,
    unwrap_module,
    without_side_effects,
)
from creases.network.surgery._place import (
    AFFINE_LAYERS,
    PRELU_SLOPE,
    ChannelGroup,
    ChannelGroups,
    FixedChannels,
    Link,
    UnitTensors,
    count_multiply_adds,
    count_outputs,
    get_layer,
    input_tensors,
    output_tensors,
    saved_multiply_adds,
    saved_parameters,
    union_channels,
)
from creases.network.surgery._places import find_place
from creases.network.surgery._remove import masked_channels, remove_channels
from creases.network.surgery._tracking import BEND_FUNCTIONS, IS_OUTPUT, PASSING_FUNCTIONS

__all__ = [
    "AFFINE_LAYERS",
    "BEND_FUNCTIONS",
    "IS_OUTPUT",
    "PASSING_FUNCTIONS",
    "PRELU_SLOPE",
    "ChannelGroup",
    "ChannelGroups",
    "FixedChannels",
    "Link",
    "UnitTensors",
    "apply_and_measure",
    "channel_groups",
    "check_optimizer",
    "copy_sharing_parameters",
    "count_multiply_adds",
    "count_outputs",
    "count_parameters",
    "evaluation_mode",
    "find_place",
    "get_layer",
    "input_tensors",
    "masked_channels",
    "output_tensors",
    "remove_channels",
    "reset_optimizer_state",
    "saved_multiply_adds",
    "saved_parameters",
    "union_channels",
    "unwrap_module",
    "without_side_effects",
]
