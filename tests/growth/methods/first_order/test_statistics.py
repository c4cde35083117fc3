"""Sums over samples: whatever the batches, the order and the loss's reduction, and without a trace on the model."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from creases.errors import InputError
from creases.growth.methods._first_order.statistics import statistics
from creases.growth.methods._tiny.bottleneck import best_moves, bottleneck, projected_pairs
from first_order import activities, conv, data, loss, mlp, place_of
from surgery_models import snapshot


def same(one, two, tolerance=1e-12):
    return all(
        torch.allclose(a, b, rtol=tolerance, atol=tolerance) for a, b in zip(one.tensors(), two.tensors(), strict=True)
    )


def models():
    return [(mlp(), "0", (3,)), (mlp(nn.ReLU), "2", (3,)), (conv(), "0", (2, 7, 7)), (conv(), "4", (2, 7, 7))]


@pytest.mark.parametrize(("model", "name", "shape"), models())
def test_splits_and_orders_of_batches_do_not_matter(model, name, shape):
    x, y = data(shape, 40)
    place = place_of(model, name, shape)
    whole = statistics(model, place, (x, y), loss)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    parts = [(x[part], y[part]) for part in order.split([1, 22, 17])]
    assert same(whole, statistics(model, place, parts, loss))
    assert same(whole, statistics(model, place, parts[:2], loss) + statistics(model, place, parts[2:], loss))


def test_the_reduction_of_the_loss_does_not_matter():
    model, (x, y) = mlp(), data()
    of = [statistics(model, "0", (x, y), nn.CrossEntropyLoss(reduction=how)) for how in ("mean", "sum", "none")]
    functions = [F.cross_entropy, lambda out, target: F.cross_entropy(out, target, reduction="sum")]
    of += [statistics(model, "0", (x, y), function) for function in functions]
    assert all(same(of[0], other) for other in of[1:])


def test_sums_are_those_of_plain_autograd():
    model, (x, y) = mlp(), data()
    place = place_of(model, "0")
    sums = statistics(model, place, (x, y), loss)
    before, after, goal = activities(model, place, x, y)
    part = sums.consumers["2"]
    assert torch.allclose(sums.features, before @ before.T)
    assert torch.allclose(part.inputs, after @ after.T)
    assert torch.allclose(part.pairs, goal @ before.T)
    assert float(part.goal) == pytest.approx(float(goal.square().sum()))
    assert sums.mean_loss == pytest.approx(float(loss(model(x), y).detach()))


def test_what_is_left_is_orthogonal_to_the_units_and_n_from_sums_is_that_of_two_passes():
    model, (x, y) = mlp(), data()
    place = place_of(model, "2")
    sums = statistics(model, place, (x, y), loss)
    before, after, goal = activities(model, place, x, y)
    moves = best_moves(sums)
    left = goal - moves["4"].T @ after
    assert float((left @ after.T).abs().max()) < 1e-10 * float(goal.norm() * after.norm())
    assert torch.allclose(projected_pairs(sums, moves)["4"], left @ before.T / len(x), atol=1e-12)
    assert bottleneck(sums) == pytest.approx(float(left.square().sum()) / len(x), rel=1e-10)


@pytest.mark.parametrize("model", [mlp(), conv()])
def test_the_model_is_left_alone(model):
    shape = (3,) if isinstance(model[0], nn.Linear) else (2, 7, 7)
    x, y = data(shape, 10)
    model.train()
    model.insert(1, nn.Dropout(0.5))
    hook = model[0].register_forward_hook(lambda *_: pytest.fail("the model itself was run"))
    before, state = snapshot(model), torch.get_rng_state()
    statistics(model, place_of(model, "0", shape), (x, y), loss)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(before.values(), snapshot(model).values(), strict=True))
    assert model.training
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
    assert list(model[0]._forward_hooks) == [hook.id]
    assert not model[3]._forward_hooks


def test_other_inputs_of_a_layer_are_part_of_what_its_weights_can_do():
    class Joined(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(3, 2), nn.Linear(3, 4), nn.Linear(6, 2)

        def forward(self, x):
            return self.c(torch.cat([torch.tanh(self.b(x)), torch.tanh(self.a(x))], 1))

    sums = statistics(Joined().double(), "a", data(), loss)
    assert sums.consumers["c"].inputs.shape == (7, 7)


def test_refusals_say_what_is_wrong():
    model, (x, y) = mlp(), data()
    with pytest.raises(InputError, match="batches must have at least one sample"):
        statistics(model, "0", [], loss)
    with pytest.raises(InputError, match="batches must be pairs of inputs and targets"):
        statistics(model, "0", x, loss)
    with pytest.raises(InputError, match="loss must be a mean or a sum over samples"):
        statistics(model, "0", (x, y), lambda out, target: F.cross_entropy(out, target) * len(out) ** 0.5)
    with pytest.raises(InputError, match="loss must be finite on every batch, got nan"):
        statistics(model, "0", (x * float("nan"), y), loss)
    pooled = nn.Sequential(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 2)).double()
    with pytest.raises(InputError, match=r"'1' \(MaxPool2d\), which is not linear at 0"):
        statistics(pooled, "0", data((2, 7, 7)), loss)
    with pytest.raises(InputError, match="other must be statistics of the same place"):
        statistics(model, "0", (x, y), loss) + statistics(model, "2", (x, y), loss)
