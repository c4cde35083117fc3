"""Gradient descent on a shallow network of one input, in scaled units, watched as it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from creases._typing import Floats
from creases.errors import InputError
from creases.lab import Batch
from creases.splines import Shallow, Tracker, from_module, initialise, relocate, to_module
from creases.splines.batches import gradient_descent, squared_errors, stack_networks, unstack_network

if TYPE_CHECKING:
    from creases.splines import History
    from creases.splines.initialisation import Method


#: Looks at the breakpoints during training, about, and relocations.
LOOKS, RELOCATIONS = 200, 10

#: Half the range of the inputs that networks are trained on: that of the curves.
REACH = 3.0


@dataclass(frozen=True)
class Plan:
    """How a network is made and trained; steps are of plain gradient descent on the mean squared error."""

    width: int = 40
    steps: int = 10_000
    lr: float = 0.01
    init: Method = "torch"
    relocate: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("width", 1), ("steps", 0), ("seed", 0)):
            if getattr(self, name) < least:
                raise InputError(f"--{name}: expected at least {least}, got {getattr(self, name)}")
        if not 0 < self.lr < np.inf:
            raise InputError(f"--lr: expected a learning rate above 0, got {self.lr}")


@dataclass(frozen=True, eq=False)
class Trained:
    """A network before and after, in the data's own units, and what happened in between."""

    first: Shallow
    net: Shallow
    history: History  #: in scaled units
    film: History | None  #: in the data's own units, if it was asked for
    moves: int  #: breakpoints that were relocated
    halvings: int  #: how often the learning rate was halved, since the error rose


@dataclass(frozen=True)
class Scale:
    """``t = (x - x0) / xs`` runs from -3 to 3 over the data, ``u = (y - y0) / ys`` has mean 0 and deviation 1."""

    x0: float
    xs: float
    y0: float
    ys: float

    @classmethod
    def of(cls, x: Floats, y: Floats) -> Scale:
        low, high = float(x.min()), float(x.max())
        return cls(low / 2 + high / 2, (high / 2 - low / 2) / REACH, float(y.mean()), float(y.std()) or 1.0)

    def own(self, net: Shallow) -> Shallow:
        """The network that takes and gives the data's own units, for one trained on scaled ones."""
        return Shallow(
            w=net.w / self.xs,
            b=net.b - net.w * (self.x0 / self.xs),
            v=net.v * self.ys,
            c0=net.c0 * self.ys + self.y0,
            c1=0.0,
        )


def train(x: Floats, y: Floats, plan: Plan, *, film: bool, progress: Callable[[int], None]) -> Trained:
    """Train a network; after each stretch of steps look at it, and take the stretch back if the error rose.

    Then the next steps are half as long, so that no choice of the learning rate ends in numbers that are none.
    """
    scale = Scale.of(x, y)
    t, u = (x - scale.x0) / scale.xs, (y - scale.y0) / scale.ys
    first = net = start(plan, t, u)
    tracker, camera = Tracker(t), Tracker(x)
    error, lr = float(squared_errors(stack_networks([net]), t, u)[0]), plan.lr
    moves = halvings = done = 0
    stretch, due = max(1, plan.steps // LOOKS), max(1, plan.steps // RELOCATIONS)

    def look() -> None:
        tracker(net, done)
        if film:
            camera(scale.own(net), done)

    look()
    while done < plan.steps:
        if plan.relocate and done >= due:
            found = relocate(net, t, u)
            net, error, moves = found.net, found.after / len(t), moves + len(found.moves)
            due += max(1, plan.steps // RELOCATIONS)
        count = min(stretch, plan.steps - done)
        after = gradient_descent(stack_networks([net]), t, u, steps=count, lr=lr)
        then = float(squared_errors(after, t, u)[0])  # NaN or infinite where steps were too long
        if then <= error * (1 + 1e-9):
            net, error = unstack_network(after, 0), then
        else:
            lr, halvings = lr / 2, halvings + 1
        done += count
        look()
        progress(done)
    return Trained(
        scale.own(first), scale.own(net), tracker.history(), camera.history() if film else None, moves, halvings
    )


def start(plan: Plan, t: Floats, u: Floats) -> Shallow:
    """The network before training, for scaled data."""
    model = to_module(unstack_network(Batch.initial(1, [1, plan.width, 1], seed=plan.seed, dtype=np.float64), 0))
    if plan.init != "torch":
        initialise(model, t, plan.init, y=u, seed=plan.seed)
    return replace(from_module(model), c1=0.0)
