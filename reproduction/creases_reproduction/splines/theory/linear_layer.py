"""Linear layers of torch with given weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn


def linear_layer(weight: Any, bias: Any, dtype: torch.dtype) -> nn.Linear:
    """Return a linear layer with the given weights, and a bias unless it is None."""
    matrix = torch.as_tensor(np.asarray(weight), dtype=dtype)
    layer: nn.Linear = nn.utils.skip_init(  # type: ignore[no-untyped-call]
        nn.Linear, matrix.shape[1], matrix.shape[0], bias=bias is not None, dtype=dtype
    )
    with torch.no_grad():
        layer.weight.copy_(matrix)
        if bias is not None:
            layer.bias.copy_(torch.as_tensor(np.asarray(bias), dtype=dtype))
    return layer
