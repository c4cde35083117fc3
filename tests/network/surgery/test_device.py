"""Edits of a model on a GPU."""

from __future__ import annotations

import pytest
import torch

import creases
from surgery_models import MODELS, built, inputs

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
PLACES = [(name, place) for name, (_, _, places) in MODELS.items() for place in places]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "where"), PLACES)
def test_a_model_on_a_gpu_stays_there_and_trains_on(name, where):
    model, shape = built(name)
    model.cuda().train()
    x = inputs(shape).cuda()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    model(x).square().sum().backward()
    optimizer.step()
    state = torch.cuda.get_rng_state()
    place = next(place for place in creases.places(model, shape) if place.name == where)
    weight = model.get_submodule(where).weight
    axis = 1 if isinstance(model.get_submodule(where), torch.nn.ConvTranspose1d) else 0
    fan_in = torch.randn(2, *weight.movedim(axis, 0).shape[1:])
    done = creases.widen(model, place, fan_in, X=x, optimizer=optimizer)
    assert done.change <= 1e-10
    done = creases.remove(model, done.place, [0], X=x, optimizer=optimizer)
    assert torch.equal(torch.cuda.get_rng_state(), state)
    assert all(tensor.is_cuda for tensor in model.state_dict().values())
    assert all(value.is_cuda for memory in optimizer.state.values() for value in memory.values())
    model(x).square().sum().backward()
    optimizer.step()


def test_a_new_layer_is_where_the_values_are():
    model, shape = built("conv")
    model.cuda()
    done = creases.deepen(model, "0", X=inputs(shape).cuda())
    assert done.change <= 1e-12
    assert all(p.is_cuda for p in model.parameters())
