"""A user's own training loop that grows in the middle, and what must be true of it afterwards."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from creases.growth import Grower
from growth_runs import classes, mlp, round_robin

STEPS = 60
GROWTH = (20, 35)  #: the optimizer steps after which the loops grow


@dataclass(eq=False)
class Loop:
    """What a loop has seen."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    grower: Grower
    losses: list[float] = field(default_factory=list)
    settings: list[list[dict]] = field(default_factory=list)  #: of the optimizer's groups, at every step
    fresh: dict[str, Tensor] = field(default_factory=dict)  #: the parameters after the last growth step

    def note(self, loss: Tensor) -> None:
        self.losses.append(float(loss.detach()))
        self.settings.append([options(group) for group in self.optimizer.param_groups])

    def grow(self) -> None:
        """Grow, and check that the optimizer goes on with what it had."""
        held = [list(group["params"]) for group in self.optimizer.param_groups]
        groups = [id(group) for group in self.optimizer.param_groups]
        old = {name: (p, p.detach().clone(), p.grad) for name, p in self.model.named_parameters()}
        names = {id(p): name for name, (p, *_) in old.items()}
        state = {name: copy.deepcopy(self.optimizer.state.get(p, {})) for name, (p, *_) in old.items()}
        record = self.grower.grow_now()
        assert record is not None
        assert record.width[1] > record.width[0]
        new = dict(self.model.named_parameters())
        assert [id(group) for group in self.optimizer.param_groups] == groups
        for before, group in zip(held, self.optimizer.param_groups, strict=True):  # the same parameters in each
            assert [id(p) for p in group["params"]] == [id(new[names[id(p)]]) for p in before]
        assert set(self.optimizer.state) <= set(new.values())
        for name, (_, values, gradient) in old.items():
            assert torch.equal(old_block(new[name].detach(), values), values)
            if gradient is not None:
                assert torch.equal(old_block(new[name].grad, gradient), gradient)
            for key, value in state[name].items():
                assert torch.equal(old_block(self.optimizer.state[new[name]][key], value), value)
        self.fresh = {name: p.detach().clone() for name, p in new.items()}


def options(group: dict) -> dict:
    return {name: value for name, value in group.items() if name not in ("params", "param_names")}


def old_block(tensor: Tensor, like: Tensor) -> Tensor:
    """The entries of a wider tensor that were there before."""
    return tensor[tuple(slice(n) for n in like.shape)]


def data(dtype=torch.float64) -> tuple[Tensor, Tensor]:
    x, y = classes()
    return x.to(dtype), y


def adamw(model: nn.Module, **more) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), **{"lr": 0.02, **more})


def train(
    model: nn.Module | None = None,
    make: Callable = adamw,
    *,
    schedule: Callable | None = None,
    update: Callable[[Loop, Callable[[], Tensor]], Tensor] | None = None,
    wrap: Callable[[nn.Module], nn.Module] = lambda model: model,
    growth: Sequence[int] = GROWTH,
    dtype=torch.float64,
    **more,
) -> Loop:
    """Train for 60 steps; ``update`` does a step with a function of the loss, ``schedule`` steps with the loss."""
    model = model or mlp(3, 4, 4, 2, seed=3, bend=nn.LeakyReLU, dtype=dtype)  # no unit is ever dead
    x, y = data(dtype)
    optimizer, forward = make(model), wrap(model)
    step = None if schedule is None else schedule(optimizer)
    given = {"how": "gradmax", "where": round_robin, "when": 10**6, **more}
    loop = Loop(model, optimizer, Grower(forward, optimizer, (x, y), "classification", **given))
    for number in range(1, STEPS + 1):
        loss = (update or plain_update)(loop, lambda: F.cross_entropy(forward(x), y))
        loop.note(loss)
        if number in growth:
            loop.grow()
        if step is not None:
            step(float(loss.detach()))
    return loop


def plain_update(loop: Loop, loss: Callable[[], Tensor]) -> Tensor:
    loop.optimizer.zero_grad()
    value = loss()
    value.backward()
    loop.optimizer.step()
    return value


def assert_goes_on(loop: Loop, growth: Sequence[int] = GROWTH) -> None:
    """All parameters of the wider model are trained, the optimizer holds them and no others, and the loss falls."""
    assert all(record.width[1] > record.width[0] for record in loop.grower.history.records)
    assert len(loop.grower.history.records) == len(growth)
    present = list(loop.model.parameters())
    held = [p for group in loop.optimizer.param_groups for p in group["params"]]
    assert len(held) == len(present)
    assert {id(p) for p in held} == {id(p) for p in present}
    for name, parameter in loop.model.named_parameters():
        assert parameter.grad is not None
        assert parameter.grad.shape == parameter.shape
        changed = parameter.detach() != loop.fresh[name]
        for axis in range(changed.ndim):  # in every row and in every column
            assert all(bool(part.any()) for part in changed.movedim(axis, 0))
    before = sum(loop.losses[growth[0] - 5 : growth[0]]) / 5
    after = sum(loop.losses[growth[-1] : growth[-1] + 5]) / 5
    assert sum(loop.losses[-5:]) / 5 < min(before, after)
