"""Growth in the middle of loops as people write them: schedules, groups, clipping, accumulation, autocast."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import lr_scheduler

from creases.growth import Grower
from growth_runs import classes, conv, mlp, normed, same_tensors
from wild_runs import STEPS, adamw, assert_goes_on, data, old_block, train

# schedulers: the rates, and whatever else a scheduler cycles, are those of a run without growth


def stepped(make):
    """A schedule that needs no loss."""

    def schedule(optimizer):
        scheduler = make(optimizer)
        return lambda loss: scheduler.step()

    return schedule


def plateau(optimizer):
    """A schedule by a loss, here the same with and without growth."""
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
    number = iter(range(STEPS))
    return lambda loss: scheduler.step(max(0.5, 1 - 0.1 * next(number)))


def sequence(optimizer):
    warm = lr_scheduler.LinearLR(optimizer, 0.1, total_iters=10)
    return lr_scheduler.SequentialLR(optimizer, [warm, lr_scheduler.CosineAnnealingLR(optimizer, STEPS - 10)], [10])


SCHEDULES = {
    "one cycle": stepped(lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=STEPS + 1)),
    "cosine": stepped(lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, STEPS)),
    "plateau": plateau,
    "sequence": stepped(sequence),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_goes_on_as_without_growth(name):
    loop, plain = train(schedule=SCHEDULES[name]), train(schedule=SCHEDULES[name], growth=())
    assert_goes_on(loop)
    assert loop.settings == plain.settings
    assert len({settings[0]["lr"] for settings in loop.settings}) > 1
    if name == "one cycle":
        assert len({settings[0]["betas"] for settings in loop.settings}) > 1


def test_parameters_stay_in_groups_of_their_own_rate_and_decay():
    def make(model):
        weights = [p for p in model.parameters() if p.ndim > 1]
        biases = [p for p in model.parameters() if p.ndim == 1]
        groups = [{"params": weights, "lr": 0.03, "weight_decay": 0.1}, {"params": biases, "lr": 0.01}]
        return torch.optim.AdamW(groups, weight_decay=0.0)

    schedule = SCHEDULES["cosine"]
    loop, plain = train(make=make, schedule=schedule), train(make=make, schedule=schedule, growth=())
    assert_goes_on(loop)
    assert loop.settings == plain.settings
    assert [{p.ndim for p in group["params"]} for group in loop.optimizer.param_groups] == [{2}, {1}]
    assert [group["weight_decay"] for group in loop.optimizer.param_groups] == [0.1, 0.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda model: torch.optim.AdamW(model.parameters(), lr=0.02, fused=True),
        lambda model: torch.optim.Adam(model.parameters(), lr=0.02, foreach=True, amsgrad=True),
        lambda model: torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, nesterov=True),
        lambda model: torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True),
        lambda model: torch.optim.NAdam(model.parameters(), lr=0.02, foreach=True),
        lambda model: torch.optim.RMSprop(model.parameters(), lr=0.01),
    ],
    ids=["fused", "foreach amsgrad", "nesterov", "fused sgd", "nadam", "rmsprop"],
)
def test_every_implementation_of_an_optimizer_goes_on(make):
    assert_goes_on(train(make=make))


@pytest.mark.parametrize("make", [conv, normed])
def test_convolutions_and_batch_norm_go_on(make):
    model = make()
    x, y = classes(80, (1, 6, 6) if make is conv else (3,))
    optimizer = adamw(model)
    grower = Grower(model, optimizer, (x, y), "classification", how="random", when=10**6)
    losses = []
    for number in range(60):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        if number == 20:
            grower.grow_now()
            fresh = [p.detach().clone() for p in model.parameters()]
    assert losses[-1] < min(losses[:22])
    assert all(bool((p != q).any()) for p, q in zip(model.parameters(), fresh, strict=True))


# gradients


@pytest.mark.parametrize("how", ["gradmax", "tiny", "random"])
def test_growth_within_an_accumulation_window_loses_no_gradient(how):
    x, y = data()
    model = mlp(3, 4, 2, seed=3)
    optimizer = adamw(model)
    grower = Grower(model, optimizer, (x, y), "classification", how=how, when=10**6)
    for part in (slice(0, 40), slice(40, 80)):
        (F.cross_entropy(model(x[part]), y[part]) / 3).backward()
    before = {name: p.grad.clone() for name, p in model.named_parameters()}
    assert grower.grow_now()
    for name, parameter in model.named_parameters():
        so_far = torch.zeros_like(parameter)
        old_block(so_far, before[name]).copy_(before[name])
        assert torch.equal(parameter.grad, so_far)
        before[name] = so_far
    twin = copy.deepcopy(model)
    twin.zero_grad()
    for net in (model, twin):
        (F.cross_entropy(net(x[80:]), y[80:]) / 3).backward()
    for (name, parameter), alone in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert torch.allclose(parameter.grad, before[name] + alone.grad, rtol=1e-12, atol=0)


# precision


@pytest.mark.slow
def test_growth_under_autocast_is_in_full_precision():
    """The same units as outside of it, bit for bit."""
    for how in ("gradmax", "tiny", "random"):
        x, y = data(torch.float32)
        models = [mlp(3, 4, 4, 2, seed=3, dtype=torch.float32) for _ in range(2)]
        growers = [Grower(m, adamw(m), (x, y), "classification", how=how, when=1) for m in models]
        growers[0].step()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert models[1](x).dtype == torch.bfloat16
            growers[1].step()
            assert torch.is_autocast_enabled("cpu")
        assert same_tensors(*models)
        assert growers[0].history.last["loss"] == growers[1].history.last["loss"]
        assert growers[0].history.records


@pytest.mark.parametrize("block", [torch.no_grad, torch.inference_mode])
def test_growth_within_a_block_without_gradients_is_as_outside(block):
    models = [mlp(3, 4, 2, seed=3) for _ in range(2)]
    growers = [Grower(m, adamw(m), data(), "classification", how="tiny", when=1) for m in models]
    growers[0].step()
    with block():
        growers[1].step()
        assert not torch.is_grad_enabled()
    assert same_tensors(*models)
    x, y = data()
    F.cross_entropy(models[1](x), y).backward()
    growers[1].state.optimizer.step()
    assert not any(p.is_inference() for p in models[1].parameters())


@pytest.mark.parametrize("scaled", [False, True])
def test_training_under_autocast_goes_on(scaled):
    scaler = torch.amp.GradScaler("cpu", enabled=scaled, init_scale=2.0**8)

    def update(loop, loss):
        loop.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            value = loss()
        scaler.scale(value).backward()
        scaler.unscale_(loop.optimizer)
        nn.utils.clip_grad_norm_(loop.model.parameters(), 1.0)
        scaler.step(loop.optimizer)
        scaler.update()
        return value

    assert_goes_on(train(update=update, dtype=torch.float32))
