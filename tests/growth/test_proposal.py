from __future__ import annotations

import pytest
import torch
from torch import nn

import creases
from creases.errors import InputError
from creases.growth import Proposal, apply


def model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).double()


def proposal(grown: nn.Module, count: int, reason: str = "") -> Proposal:
    (place,) = creases.places(grown)
    fan_out = {"2": torch.ones(1, count, dtype=torch.float64)}
    units = torch.ones(count, 2, dtype=torch.float64), torch.zeros(count, dtype=torch.float64)
    return Proposal("by hand", place, *units, fan_out, 0.0, {"reason": reason})


def test_a_proposal_leaves_no_trace_until_it_is_applied() -> None:
    grown, x = model(), torch.randn(5, 2, dtype=torch.float64)
    before, names = grown(x), dict(grown.named_parameters()).keys()
    made = proposal(grown, 2)
    assert torch.equal(grown(x), before)
    assert dict(grown.named_parameters()).keys() == names
    done = apply(made, grown, data=x)
    assert (done.old_width, done.new_width) == (3, 5)
    assert torch.allclose(grown(x) - before, 2 * torch.relu(x.sum(dim=1, keepdim=True)))


def test_a_proposal_of_no_units_is_refused_with_its_reason() -> None:
    grown = model()
    with pytest.raises(
        InputError, match="proposal must have at least one unit, got none \\(no sample is mispredicted\\)"
    ):
        apply(proposal(grown, 0, "no sample is mispredicted"), grown)
    assert grown[0].out_features == 3
