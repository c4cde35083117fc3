"""Training between growth steps: plain gradient descent, whatever the batches, weights and dtype."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from creases.errors import InputError
from creases.growth._objective import objective
from creases.growth._samples import as_samples
from creases.growth._training import measure, train_epoch
from growth_runs import classes, mlp, normed, same_tensors, values


def test_an_epoch_of_one_batch_is_one_step_of_the_optimizer_on_the_mean_loss():
    x, y = classes(50)
    model, goal = mlp(3, 4, 2), objective("classification")
    twin = copy.deepcopy(model)
    trained, other = torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.SGD(twin.parameters(), lr=0.1)
    measured, steps = train_epoch(model, trained, as_samples((x, y), model), goal, batch_size=50, seed=0)
    loss = F.cross_entropy(twin(x), y)
    loss.backward()
    other.step()
    assert steps == 1
    assert measured.loss == pytest.approx(float(loss.detach()), rel=1e-12)
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_whole_weights_are_repetition_for_one_batch_of_all(task):
    model, goal = mlp(3, 4, 2) if task == "classification" else mlp(1, 4, 1), objective(task, weighted=True)
    x, y = classes(40) if task == "classification" else values(40)
    w = torch.arange(40) % 4
    twin = copy.deepcopy(model)
    for net, data, aim in [
        (model, (x, y, w), goal),
        (twin, (x.repeat_interleave(w, 0), y.repeat_interleave(w, 0)), objective(task)),
    ]:
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        found = as_samples(data, net)
        for seed in range(5):
            measured, _ = train_epoch(net, optimizer, found, aim, batch_size=1000, seed=seed)
        last = measure(net, found, aim)
        results = (measured.loss, measured.score, last.loss, last.score)
        if net is model:
            expected = results
    assert results == pytest.approx(expected, rel=1e-9)
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_measuring_is_the_mean_over_all_samples_in_eval_mode(dtype):
    model = mlp(3, 4, 2, dropout=0.5, dtype=dtype).train()
    x, y = classes(2500)
    numbers, goal = torch.random.get_rng_state(), objective("classification")
    found = measure(model, as_samples((x, y), model), goal)
    assert torch.equal(numbers, torch.random.get_rng_state())
    assert all(module.training for module in model.modules())
    outputs = copy.deepcopy(model).eval()(x.to(dtype)).detach()
    assert found.loss == pytest.approx(float(F.cross_entropy(outputs, y)), rel=1e-5)
    assert found.score == pytest.approx(float((outputs.argmax(1) == y).double().mean()))
    assert torch.equal(found.decisions, outputs.argmax(1))


def test_modules_that_were_in_eval_mode_before_measuring_are_so_after():
    model = normed().train()
    model[1].eval()
    measure(model, as_samples(classes(), model), objective("classification"))
    assert [module.training for module in model] == [True, False, True, True]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_an_epoch_depends_on_its_seed_and_on_nothing_before(dropout):
    nets = [mlp(3, 8, 2, dropout=dropout) for _ in range(3)]
    with torch.random.fork_rng():
        for k, (net, seed) in enumerate(zip(nets, (1, 1, 2), strict=True)):
            torch.manual_seed(k)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            train_epoch(
                net, optimizer, as_samples(classes(), net), objective("classification"), batch_size=9, seed=seed
            )
    assert same_tensors(nets[0], nets[1])
    assert not same_tensors(nets[0], nets[2])


def test_a_batch_norm_never_sees_a_single_sample():
    model = normed()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = as_samples(classes(101), model)
    train_epoch(model, optimizer, data, objective("classification"), batch_size=100, seed=0)


def test_parameters_without_a_gradient_stay_as_they_are():
    model = mlp(3, 2, 2)
    model.unused = nn.Linear(2, 2).double()
    model[0].requires_grad_(False)
    before = copy.deepcopy(model)
    model.forward = lambda x: nn.Sequential(*list(model.children())[:3])(x)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5)
    train_epoch(model, optimizer, as_samples(classes(), model), objective("classification"), batch_size=50, seed=0)
    assert same_tensors(model[0], before[0])
    assert same_tensors(model.unused, before.unused)
    assert not same_tensors(model[2], before[2])


def test_a_loader_trains_as_its_batches_come():
    x, y = classes(30)
    model, twin, goal = mlp(3, 4, 2), mlp(3, 4, 2), objective("classification")
    loader = DataLoader(TensorDataset(x, y), batch_size=8)
    measured, steps = train_epoch(
        model, torch.optim.SGD(model.parameters(), lr=0.1), as_samples(loader, model), goal, batch_size=1, seed=0
    )
    other = torch.optim.SGD(twin.parameters(), lr=0.1)
    total = 0.0
    for part in range(0, 30, 8):
        other.zero_grad()
        loss = F.cross_entropy(twin(x[part : part + 8]), y[part : part + 8])
        loss.backward()
        other.step()
        total += float(loss.detach()) * len(x[part : part + 8])
    assert (steps, measured.loss) == (4, pytest.approx(total / 30))
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_a_loader_with_no_samples_is_refused():
    model = mlp(3, 2, 2)
    x, y = classes(10)
    loader = DataLoader(TensorDataset(x, y), batch_size=20, drop_last=True)
    with pytest.raises(InputError, match="data must have samples"):
        measure(model, as_samples(loader, model), objective("classification"))
