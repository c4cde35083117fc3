"""The same singular values as gromo, the library of TINY's authors, where it is installed."""

from __future__ import annotations

import pytest
import torch

from creases.growth.methods._first_order.statistics import statistics
from creases.growth.methods._tiny.bottleneck import optimal_units
from first_order import data, loss, mlp

growing = pytest.importorskip("gromo.modules.linear_growing_module")


def test_singular_values_are_gromos():
    model, (x, y) = mlp(), data(n=200)
    units = optimal_units(statistics(model, "0", (x, y), loss))
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        first = growing.LinearGrowingModule(3, 4, post_layer_function=torch.nn.Tanh(), device=torch.device("cpu"))
        second = growing.LinearGrowingModule(
            4, 5, post_layer_function=torch.nn.Tanh(), previous_module=first, device=torch.device("cpu")
        )
        for mine, theirs in ((model[0], first), (model[2], second)):
            theirs.layer.load_state_dict(mine.state_dict())
        first.init_computation()
        second.init_computation()
        loss(model[4](second(first(x))), y).mul(len(x)).backward()
        first.update_computation()
        second.update_computation()
        second.compute_optimal_updates(numerical_threshold=1e-12, statistical_threshold=1e-12, dtype=torch.float64)
        values = second.eigenvalues_extension
    finally:
        torch.set_default_dtype(default)
    assert values is not None
    assert torch.allclose(values.sort(descending=True).values, units.values[: len(values)], rtol=1e-8)
