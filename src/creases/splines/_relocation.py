"""Relocation of breakpoints in a training loop."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from torch import Tensor, nn
from torch.optim import Optimizer

from creases._schema import INTEGER, instance
from creases._typing import Floats
from creases._validation import check_arguments, check_count, check_number, check_samples
from creases.errors import InputError
from creases.network.surgery import check_optimizer, reset_optimizer_state
from creases.splines._coefficients import hidden_layers, write_parameter
from creases.splines._convert import from_module
from creases.splines._spline import Shallow

# Move the least useful breakpoints of a network to where they reduce the error most.


@dataclass(frozen=True)
class Move:
    """The move of one unit's breakpoint, after which all outgoing weights are fitted again."""

    unit: int
    old: float  #: the breakpoint before; NaN if the unit had none (w = 0)
    new: float
    error_before: float  #: sum of squared errors without the move
    error_after: float


@dataclass(frozen=True, eq=False)
class RelocationResult:
    """A network after :func:`relocate`."""

    net: Shallow
    moves: tuple[Move, ...]
    error_before: float  #: sum of squared errors of the original network
    error_after: float


@check_arguments(net=instance("Shallow"), max_moves=INTEGER)
def relocate(
    net: Shallow,
    x: ArrayLike,
    y: ArrayLike,
    *,
    max_moves: int = 3,
    ridge: float = 1e-5,
    gain: float = 0.01,
    bias: bool = True,
) -> RelocationResult:
    """Fit the outgoing weights, then move the least useful breakpoints while the error decreases.

    A move takes the unit whose removal costs least, ``v_i^2 / (G^-1)_ii`` with G the Gram matrix of the ridge
    regression, to the midpoint between two neighbouring x where a new unit, active on the right, gains most:
    ``(r . phi)^2 / phi' M phi`` with M the projection orthogonal to the other units. The new unit's ``|w|`` is the
    median of all. Both formulas are exact for the objective of the ridge regression. Finally every unit is scaled so
    that ``w^2 + b^2 = v^2``, which does not change the function.

    Parameters
    ----------
    net
        The network; its skip ``c1`` is not changed.
    x, y
        Samples (N,).
    max_moves
        Largest number of moves.
    ridge
        Factor of the penalty ``ridge N ||v||^2`` of the fit.
    gain
        Fraction by which a move must reduce the sum of squared errors; the first that does not is undone and the last.
    bias
        Whether to fit the output's bias ``c0`` too, without a penalty.

    Returns
    -------
    RelocationResult
        The new network, the moves, and the errors before and after.

    Examples
    --------
    >>> import numpy as np
    >>> from creases.splines import Shallow, relocate
    >>> x = np.linspace(-1, 1, 41)
    >>> net = Shallow(w=[1, -1, 1], b=[0, 0, 5], v=[1, 1, 0])  # |x|; the third breakpoint is beyond the samples
    >>> moved = relocate(net, x, np.abs(x) + np.maximum(x - 0.52, 0))
    >>> [(move.unit, round(move.new, 3)) for move in moved.moves]
    [(2, 0.525)]
    """
    places, values = check_samples(x, y)
    ridge, gain = check_number(ridge, "ridge", above=0), check_number(gain, "gain", least=0, below=1)
    data = _Samples(places, values - net.c1 * places, ridge * max(len(places), 1), bias)
    if net.width == 0:
        raise InputError("net", "have at least one unit", "none")
    if not len(places):
        raise InputError("x", "have at least one sample", "none")
    before = data.error(net)
    fitted = data.refit(net)
    net, error = (fitted, data.error(fitted)) if data.error(fitted) < before else (net, before)
    moves: list[Move] = []
    while len(moves) < max_moves:
        unit = data.least_useful(fitted)
        place = data.best_place(fitted, unit)
        if place is None:
            break
        trial = data.refit(_move_breakpoint(fitted, unit, place))
        after = data.error(trial)
        if not after < (1 - gain) * error:
            break
        old = -fitted.b[unit] / fitted.w[unit] if fitted.w[unit] else np.nan
        moves.append(Move(unit, float(old), place, error, after))
        net, fitted, error = trial, trial, after
    return RelocationResult(balance_units(net), tuple(moves), before, error)


def balance_units(net: Shallow) -> Shallow:
    """Return the same function with ``w^2 + b^2 = v^2`` for every unit for which neither side is 0."""
    norms = np.hypot(net.w, net.b)
    some = (norms > 0) & (net.v != 0)
    scale = np.sqrt(np.abs(net.v), where=some, out=np.ones_like(norms))
    scale = np.divide(scale, np.sqrt(norms), where=some, out=np.ones_like(norms))
    return replace(net, w=net.w * scale, b=net.b * scale, v=net.v / scale)


@dataclass(frozen=True, eq=False)
class _Samples:
    """Samples (N,), and how outgoing weights are fitted to them."""

    x: Floats
    y: Floats  #: targets minus the skip
    penalty: float
    bias: bool

    def features(self, net: Shallow) -> Floats:
        """Return the values of the units, (N, H), centred if the bias is fitted."""
        z = self.x[:, None] * net.w + net.b
        return self.centre(np.where(z > 0, z, net.leak * z))

    def centre(self, values: Floats) -> Floats:
        """Return values (N, ...) minus their mean if the bias is fitted."""
        return values - values.mean(axis=0) if self.bias else values

    def target(self, net: Shallow) -> Floats:
        """Return what the units are fitted to, (N,)."""
        return self.centre(self.y) if self.bias else self.y - net.c0

    def error(self, net: Shallow) -> float:
        """Return the sum of squared errors."""
        return float(((replace(net, c1=0.0)(self.x) - self.y) ** 2).sum())

    def gram(self, features: Floats) -> Floats:
        """Return the Gram matrix (H, H) of features (N, H), with the penalty."""
        return np.asarray(features.T @ features + self.penalty * np.eye(features.shape[1]))

    def refit(self, net: Shallow) -> Shallow:
        """Return the network with the outgoing weights of the ridge regression."""
        features = self.features(net)
        v = cho_solve(cho_factor(self.gram(features)), features.T @ self.target(net))
        fitted = replace(net, v=v)
        if not self.bias:
            return fitted
        return replace(fitted, c0=net.c0 + float((self.y - replace(fitted, c1=0.0)(self.x)).mean()))

    def least_useful(self, net: Shallow) -> int:
        """Return the unit whose removal costs least."""
        inverse = cho_solve(cho_factor(self.gram(self.features(net))), np.eye(net.width))
        return int(np.argmin(net.v**2 / np.diag(inverse)))

    def best_place(self, net: Shallow, unit: int) -> float | None:
        """Return the midpoint between samples to which moving a unit gains most; None if there is none."""
        distinct = np.unique(self.x)
        midpoints = distinct[:-1] + np.diff(distinct) / 2
        if not len(midpoints):
            return None
        size = _median_weight(net)
        z = size * (self.x[:, None] - midpoints)
        new = self.centre(np.where(z > 0, z, net.leak[unit] * z))  # (N, midpoints)
        others = np.delete(self.features(net), unit, axis=1)
        off = new - others @ cho_solve(cho_factor(self.gram(others)), others.T @ new)
        gains = (self.target(net) @ off) ** 2 / ((new * off).sum(axis=0) + self.penalty)
        return float(midpoints[np.argmax(gains)])


def _move_breakpoint(net: Shallow, unit: int, place: float) -> Shallow:
    """Return the network with one unit's breakpoint at a place, active on the right."""
    w, b = net.w.copy(), net.b.copy()
    w[unit] = _median_weight(net)
    b[unit] = -w[unit] * place
    return replace(net, w=w, b=b)


def _median_weight(net: Shallow) -> float:
    """Return the median |w| of the units that have a breakpoint."""
    sizes = np.abs(net.w[net.w != 0])
    return float(np.median(sizes)) if len(sizes) else 1.0


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
