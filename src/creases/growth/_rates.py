"""Learning rate and weight decay that fit a network and the number of its samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn

from creases.network import Place

#: Learning rate of Adam for layers of this many inputs in a network of this many layers, and its limits. The updates of
#: Adam have the same size for every weight, so those of a layer's output grow with its inputs and those of the network
#: with its layers. The best rates of eight data sets fall with about the cube root of the inputs.
RATE, INPUTS, LAYERS, LEAST_RATE, MOST_RATE = 0.01, 16, 3, 3e-4, 0.01

#: Weight decay of this many samples, and its limits: it falls in proportion to their number.
DECAY, SAMPLES, LEAST_DECAY, MOST_DECAY = 0.3, 400, 1e-3, 0.3


def fitting_rate(model: nn.Module, places: Sequence[Place]) -> float:
    """Return the learning rate of Adam for a model, by the inputs of the layers that read its places, and its depth."""
    layers = {link.path for place in places for link in place.consumers}
    sizes = [_inputs(model.get_submodule(path)) for path in layers]
    inputs = math.exp(sum(map(math.log, sizes)) / len(sizes)) if sizes else INPUTS
    depth = sum(parameter.ndim > 1 for parameter in model.parameters())
    rate = RATE * math.pow(INPUTS / inputs, 1 / 3) * math.sqrt(LAYERS / max(depth, 1))
    return min(max(rate, LEAST_RATE), MOST_RATE)


def fitting_decay(n: int | None) -> float:
    """Return the weight decay of AdamW for so many samples; the least if that is not known."""
    return LEAST_DECAY if not n else min(max(DECAY * SAMPLES / n, LEAST_DECAY), MOST_DECAY)


def _inputs(layer: nn.Module) -> int:
    """Return the number of inputs of a unit of a layer."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    return max(weight[0].numel(), 1)
