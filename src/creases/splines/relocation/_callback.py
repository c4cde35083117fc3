"""Relocation of bad breakpoints during training: an object to call in the loop."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from creases._validation import check_count, check_samples
from creases.network.surgery import check_optimizer, reset_optimizer_state
from creases.splines._convert import from_module
from creases.splines._layers import hidden_layers, write_parameter
from creases.splines.relocation._relocate import RelocationResult, relocate


class Relocation:
    """Moves bad breakpoints of a model of one input while it trains, in place.

    Call it after every step. Each ``every``-th call fits the outgoing weights and relocates (:func:`relocate`), and the
    optimizer starts afresh with what was set. Fitted weights can be large, and steps that were short enough before can
    then be too long: after every ``block`` calls, if the sum of squared errors rose or is no number, the model and the
    optimizer go back to where the block began, with half the learning rate. So training is meant to be on all data at
    once, with the mean squared error.

    Parameters
    ----------
    every
        Calls from one relocation to the next.
    block
        Calls from one look at the error to the next.
    moves, ridge, gain
        As for :func:`relocate`.

    Examples
    --------
    >>> import torch
    >>> from creases import splines
    >>> x = torch.linspace(-3, 3, 60)[:, None]
    >>> y = torch.sin(2 * x)
    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(0)
    ...     model = torch.nn.Sequential(torch.nn.Linear(1, 9), torch.nn.ReLU(), torch.nn.Linear(9, 1))
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    >>> relocation = splines.Relocation(every=200)
    >>> for _ in range(1000):
    ...     optimizer.zero_grad()
    ...     torch.nn.functional.mse_loss(model(x), y).backward()
    ...     optimizer.step()
    ...     _ = relocation(model, x, y, optimizer)
    >>> len(relocation.history), bool(torch.nn.functional.mse_loss(model(x), y) < 0.01)
    (5, True)
    """

    def __init__(
        self, *, every: int = 1000, block: int = 100, moves: int = 3, ridge: float = 1e-5, gain: float = 0.01
    ) -> None:
        self.every, self.block, self.moves = (
            check_count(value, name) for value, name in ((every, "every"), (block, "block"), (moves, "moves"))
        )
        self.ridge, self.gain = ridge, gain
        self.steps = 0  #: calls so far
        self.halvings = 0  #: blocks that were taken back
        self.history: list[tuple[int, RelocationResult]] = []  #: each relocation with the number of calls before it
        self._saved: _Saved | None = None

    def __call__(self, model: nn.Module, x: Any, y: Any, optimizer: Optimizer | None = None) -> RelocationResult | None:
        """Count a step; the relocation, where there was one."""
        self.steps += 1
        if self.steps % self.block == 0:
            self._look(model, x, y, optimizer)
        return self.now(model, x, y, optimizer) if self.steps % self.every == 0 else None

    def now(self, model: nn.Module, x: Any, y: Any, optimizer: Optimizer | None = None) -> RelocationResult:
        """Relocate at once: data x, y are (n,) or (n, 1)."""
        check_optimizer(optimizer, model)
        layers = hidden_layers(model)
        found = relocate(
            from_module(model),
            *check_samples(x, y),
            moves=self.moves,
            ridge=self.ridge,
            gain=self.gain,
            bias=layers.leave.bias is not None,
        )
        net = found.net
        new = {layers.enter.weight: net.w[:, None], layers.enter.bias: net.b, layers.leave.weight: net.v[None]}
        if layers.leave.bias is not None:
            new[layers.leave.bias] = np.array([net.c0])
        for parameter, values in new.items():
            write_parameter(parameter, values)
            if optimizer is not None:
                reset_optimizer_state(optimizer, parameter)
        self.history.append((self.steps, found))
        self._saved = _Saved(model, optimizer, _error(model, x, y))
        return found

    def callback(self, x: Any, y: Any) -> Callable[[Any], None]:
        """For the growth loop, ``grow(..., callbacks=[relocation.callback(x, y)])``: counts an epoch as a call.

        What it is called with must have the attributes ``model`` and ``optimizer``.
        """

        def relocated(state: Any) -> None:
            self(state.model, x, y, state.optimizer)

        return relocated

    def _look(self, model: nn.Module, x: Any, y: Any, optimizer: Optimizer | None) -> None:
        """Take the block back if the error rose; else remember where the next one begins."""
        error = _error(model, x, y)
        if self._saved and self._saved.fits(model) and error > self._saved.error * (1 + 1e-6):
            self._saved.restore(model, optimizer)
            self.halvings += 1
        else:
            self._saved = _Saved(model, optimizer, error)


class _Saved:
    """A model and its optimizer as they were at the beginning of a block."""

    def __init__(self, model: nn.Module, optimizer: Optimizer | None, error: float) -> None:
        self.error = error
        self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self.memory = deepcopy(optimizer.state_dict()) if optimizer is not None else None

    def fits(self, model: nn.Module) -> bool:
        """Whether the model still has the shapes it had."""
        now = model.state_dict()
        return now.keys() == self.weights.keys() and all(now[k].shape == self.weights[k].shape for k in now)

    def restore(self, model: nn.Module, optimizer: Optimizer | None) -> None:
        """Go back, with half the learning rate there is now."""
        model.load_state_dict(self.weights)
        if optimizer is not None and self.memory is not None:
            rates = [group["lr"] for group in optimizer.param_groups]
            optimizer.load_state_dict(self.memory)
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * 0.5


def _error(model: nn.Module, x: Any, y: Any) -> float:
    """Sum of squared errors of the model as it is; infinite where it is no number."""
    parameter = next(model.parameters())
    places, targets = check_samples(x, y)
    points = torch.as_tensor(places, dtype=parameter.dtype, device=parameter.device)
    with torch.no_grad():
        values: Tensor = model(points[:, None])
    error = float(((values.double().cpu().reshape(-1).numpy() - targets) ** 2).sum())
    return error if np.isfinite(error) else np.inf
