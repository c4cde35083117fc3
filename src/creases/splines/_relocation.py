"""Relocation of breakpoints in a training loop."""

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
from creases.splines._relocate import RelocationResult, relocate


class Relocation:
    """Relocation of the breakpoints of a model of one input during training, in place.

    Call it after every step. Every ``every``-th call runs :func:`relocate` and resets the optimizer's state of what was
    changed. Fitted weights can be large, so that the learning rate becomes too large: after every ``block`` calls, if
    the sum of squared errors has increased or is not finite, the model and the optimizer are restored to the start of
    the block, with half the learning rate. Training is therefore meant to be full-batch, on the mean squared error.

    Parameters
    ----------
    every
        Calls between relocations.
    block
        Calls between checks of the error.
    max_moves, ridge, gain
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
        self, *, every: int = 1000, block: int = 100, max_moves: int = 3, ridge: float = 1e-5, gain: float = 0.01
    ) -> None:
        self.every, self.block, self.max_moves = (
            check_count(value, name) for value, name in ((every, "every"), (block, "block"), (max_moves, "max_moves"))
        )
        self.ridge, self.gain = ridge, gain
        self.steps = 0  #: number of calls so far
        self.n_halvings = 0  #: blocks that were undone
        self.history: list[tuple[int, RelocationResult]] = []  #: each relocation with the number of calls before it
        self._snapshot: _Snapshot | None = None

    def __call__(self, model: nn.Module, x: Any, y: Any, optimizer: Optimizer | None = None) -> RelocationResult | None:
        """Count a step and relocate if it is due; return the result if so."""
        self.steps += 1
        if self.steps % self.block == 0:
            self._check_error(model, x, y, optimizer)
        return self.apply(model, x, y, optimizer) if self.steps % self.every == 0 else None

    def apply(self, model: nn.Module, x: Any, y: Any, optimizer: Optimizer | None = None) -> RelocationResult:
        """Relocate breakpoints now.

        Parameters
        ----------
        model
            A torch module with one input, one hidden layer and one output.
        x, y
            Samples, (n,) or (n, 1).
        optimizer
            The optimizer of the model's parameters, whose state is reset where weights change.
        """
        check_optimizer(optimizer, model)
        layers = hidden_layers(model)
        result = relocate(
            from_module(model),
            *check_samples(x, y),
            max_moves=self.max_moves,
            ridge=self.ridge,
            gain=self.gain,
            bias=layers.leave.bias is not None,
        )
        net = result.net
        new = {layers.enter.weight: net.w[:, None], layers.enter.bias: net.b, layers.leave.weight: net.v[None]}
        if layers.leave.bias is not None:
            new[layers.leave.bias] = np.array([net.c0])
        for parameter, values in new.items():
            write_parameter(parameter, values)
            if optimizer is not None:
                reset_optimizer_state(optimizer, parameter)
        self.history.append((self.steps, result))
        self._snapshot = _Snapshot(model, optimizer, _error(model, x, y))
        return result

    def callback(self, x: Any, y: Any) -> Callable[[Any], None]:
        """Return a callback for ``creases.grow(..., callbacks=[...])``, which counts every epoch as a call.

        It is called with an object that has the attributes ``model`` and ``optimizer``.
        """

        def relocate_after_epoch(state: Any) -> None:
            self(state.model, x, y, state.optimizer)

        return relocate_after_epoch

    def _check_error(self, model: nn.Module, x: Any, y: Any, optimizer: Optimizer | None) -> None:
        """Undo the block if the error increased, else save the start of the next one."""
        error = _error(model, x, y)
        if self._snapshot and self._snapshot.fits(model) and error > self._snapshot.error * (1 + 1e-6):
            self._snapshot.restore(model, optimizer)
            self.n_halvings += 1
        else:
            self._snapshot = _Snapshot(model, optimizer, error)


class _Snapshot:
    """A model and its optimizer at the start of a block."""

    def __init__(self, model: nn.Module, optimizer: Optimizer | None, error: float) -> None:
        self.error = error
        self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self.optimizer_state = deepcopy(optimizer.state_dict()) if optimizer is not None else None

    def fits(self, model: nn.Module) -> bool:
        """Return whether the model still has the same shapes."""
        state = model.state_dict()
        return state.keys() == self.weights.keys() and all(state[k].shape == self.weights[k].shape for k in state)

    def restore(self, model: nn.Module, optimizer: Optimizer | None) -> None:
        """Restore the model and the optimizer, with half the current learning rate."""
        model.load_state_dict(self.weights)
        if optimizer is not None and self.optimizer_state is not None:
            rates = [group["lr"] for group in optimizer.param_groups]
            optimizer.load_state_dict(self.optimizer_state)
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * 0.5


def _error(model: nn.Module, x: Any, y: Any) -> float:
    """Return the sum of squared errors of the model; infinite if it is not finite."""
    parameter = next(model.parameters())
    places, targets = check_samples(x, y)
    points = torch.as_tensor(places, dtype=parameter.dtype, device=parameter.device)
    with torch.no_grad():
        values: Tensor = model(points[:, None])
    error = float(((values.double().cpu().reshape(-1).numpy() - targets) ** 2).sum())
    return error if np.isfinite(error) else np.inf
