"""Every method but folds grows the inner channels of a residual block with batch norm, in the middle of training."""

from __future__ import annotations

import copy

import pytest
import torch
from torch.nn import functional as F

from creases.errors import InputError
from creases.growth import Grower
from creases.growth.methods import METHODS, Tiny
from first_order import mean_loss
from resnet import images
from surgery_models import Residual

#: How much the outputs may change at once: TINY chooses a size that lowers the loss, the others start small or at 0.
CHANGE = {"tiny": 10.0, "gradmax": 1e-9}


@pytest.mark.slow
@pytest.mark.parametrize("how", [how for how in METHODS if how != "fold"])
def test_every_method_grows_a_residual_block_with_batch_norm(how):
    x, _ = images(96)
    x, y = x[:, :2], (x[:, 0].mean((1, 2)) > 0).long()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Residual().double().train()
    optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9)
    options = {
        "how": Tiny(above_noise=False) if how == "tiny" else how,
        "where": "blocks.1.conv1",
        "budget": 30,
    }
    grower = Grower(model, optimizer, (x, y), "classification", **options)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    train(4)
    grower.note()
    before = copy.deepcopy(model)
    record = grower.grow_now()
    assert record.width == (5, 5 + len(record.units))
    assert record.units
    assert record.method == ("random" if how == "auto" else how)
    change = float((copy.deepcopy(model).eval()(x) - before.eval()(x)).abs().max().detach())
    assert change <= CHANGE.get(how, 0.1)
    assert mean_loss(copy.deepcopy(model), x, y) <= mean_loss(before, x, y) + 0.01
    start = float(F.cross_entropy(model(x), y).detach())
    train(8)
    assert float(F.cross_entropy(model(x), y).detach()) < start
    assert model.blocks[1].conv2.in_channels == record.width[1]
    assert repr(record.place) in record.explain()


def test_a_fold_in_a_residual_block_is_refused_with_advice():
    x, _ = images(8)
    x, y = x[:, :2], (x[:, 0].mean((1, 2)) > 0).long()
    model = Residual().double().train()
    optimizer = torch.optim.SGD(model.parameters(), 0.02)
    grower = Grower(model, optimizer, (x, y), "classification", how="fold", where="blocks.1.conv1", budget=30)
    with pytest.raises(InputError, match=r"a refusal at 'blocks\.1\.conv1': .*; use how='random' there"):
        grower.grow_now()
