"""On a GPU growth methods propose what they propose on the CPU."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from creases.growth._proposal import apply
from creases.growth.methods import gradmax, random_units, split, tiny
from first_order import conv, data, loss, mlp, place_of

PLAIN = {"tau": 0, "project": False, "fallback": None, "above_noise": False}

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.slow
@pytest.mark.parametrize("method", [tiny, gradmax, random_units, split])
@pytest.mark.parametrize(("make", "shape"), [(mlp, (3,)), (lambda: conv(nn.ReLU, bias=True), (2, 7, 7))])
def test_the_device_does_not_matter(method, make, shape):
    model, (x, y) = make(), data(shape)
    options = {"validation": (x, y), **PLAIN} if method is tiny else {}
    place = place_of(model, "0", shape)
    here = method(model, place, (x, y), loss, **options)
    other = copy.deepcopy(model).cuda()
    if options:
        options["validation"] = (x.cuda(), y.cuda())
    there = method(other, place, (x.cuda(), y.cuda()), loss, **options)
    assert there.count == here.count
    assert there.gain == pytest.approx(here.gain, rel=1e-8, abs=1e-12)
    apply(here, model)
    apply(there, other)
    assert torch.allclose(other(x.cuda()).cpu(), model(x), atol=1e-6)
