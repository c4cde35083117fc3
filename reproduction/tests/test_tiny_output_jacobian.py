"""The bottleneck at the output over all parameters, against dense least squares and the layer-wise one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from creases.errors import InputError
from creases.growth.methods.expressivity import bottleneck, statistics
from creases.network import places
from creases_reproduction.tiny.output_jacobian import output_bottleneck
from first_order import conv, data, loss, mlp


def dense(model, x, y):
    """Return the lack and J by autograd, one output of one sample at a time, and LAPACK's least squares."""
    parameters = list(model.parameters())
    outputs = model(x)
    leaf = outputs.detach().requires_grad_()
    goal = -torch.autograd.grad(nn.functional.cross_entropy(leaf, y, reduction="sum"), leaf)[0].flatten()
    rows = [torch.autograd.grad(value, parameters, retain_graph=True) for value in outputs.flatten()]
    J = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    solution = torch.linalg.lstsq(J, goal, driver="gelsd", rcond=1e-10).solution
    return float((J @ solution - goal).square().sum()) / len(x), J, solution


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("samples", [10, 60])
def test_it_is_the_residual_of_dense_least_squares(seed, samples):
    model, (x, y) = mlp(seed=seed), data(seed=seed)
    x, y = x[:samples], y[:samples]
    lack, J, solution = dense(model, x, y)
    found = output_bottleneck(model, [(x, y)], loss)
    assert found.lack == pytest.approx(lack, rel=1e-8, abs=1e-12 * found.goal)
    assert found.rank == int(torch.linalg.matrix_rank(J, rtol=1e-10))
    move = torch.cat([part.flatten() for part in found.change.values()])
    assert torch.allclose(J @ move, J @ solution, atol=1e-8 * float((J @ solution).abs().max()))


def test_no_layer_alone_does_better():
    model, (x, y) = mlp(), data()
    last = bottleneck(statistics(model, places(model)[-1], (x, y), loss))
    found = output_bottleneck(model, [(x, y)], loss)
    assert found.lack < 0.99 * last < found.goal


def test_batches_and_the_reduction_of_the_loss_do_not_matter():
    model, (x, y) = mlp(), data()
    whole = output_bottleneck(model, [(x, y)], nn.CrossEntropyLoss(reduction="mean"))
    parts = output_bottleneck(model, [(x[:7], y[:7]), (x[7:], y[7:])], nn.CrossEntropyLoss(reduction="sum"))
    assert parts.lack == pytest.approx(whole.lack, rel=1e-9)
    assert parts.rank == whole.rank


def test_a_small_step_along_the_change_moves_outputs_towards_the_goal():
    model, (x, y) = mlp(), data()
    found = output_bottleneck(model, [(x, y)], loss)
    with torch.no_grad():
        before, step = model(x), 1e-8
        for name, parameter in model.named_parameters():
            parameter += step * found.change[name]
        moved = (model(x) - before) / step
    goal = torch.nn.functional.one_hot(y, before.shape[1]) - before.softmax(1)
    assert float((moved - goal).square().sum()) / len(x) == pytest.approx(found.lack, rel=1e-3)


def test_frozen_parameters_do_not_move_and_the_model_stays_as_it_is():
    model, (x, y) = mlp(), data()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    free = output_bottleneck(model, [(x, y)], loss)
    model[0].weight.requires_grad_(False)
    found = output_bottleneck(model, [(x, y)], loss)
    assert "0.weight" not in found.change
    assert found.lack > free.lack
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_convolutions_count_as_well():
    model, (x, y) = conv(), data((2, 8, 8))
    assert output_bottleneck(model, [(x, y)], loss).lack == pytest.approx(dense(model, x, y)[0], rel=1e-8)


def test_models_that_are_too_large_or_frozen_are_refused():
    wide = nn.Sequential(nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 2))
    with pytest.raises(InputError, match="1 to 8,000 parameters that require gradients, got 10,302"):
        output_bottleneck(wide, [(torch.zeros(1, 100), torch.zeros(1, dtype=torch.long))], loss)
    with pytest.raises(InputError, match="at least one sample"):
        output_bottleneck(mlp(), [], loss)
