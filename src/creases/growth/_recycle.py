"""Recycling: units that no longer earn their place, and how to let go of them.

What a unit gives its consumers is projected on the other units and the constant (least squares over samples and
positions); the consumers' weights take the combination over, and the unit is removed. Where that costs no loss, the
unit was redundant, and may be grown again where it does more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve
from torch import Tensor, nn, optim
from torch.func import functional_call

from creases._typing import Floats
from creases.errors import InputError
from creases.growth import _distributed as ranks
from creases.growth._loss_sum import Loss
from creases.growth._parameter_changes import apply_changes, match_parameters
from creases.growth.methods._first_order.observation import Batches, PlaceObserver, iterate_batches
from creases.network.surgery import (
    Certificate,
    Link,
    Place,
    apply_and_measure,
    find_place,
    input_tensors,
    remove,
    unwrap_module,
    without_side_effects,
)

#: Added to the diagonal of a Gram matrix with ones there: dead and duplicate units are ordinary units.
RIDGE = 1e-10

#: Rounds in which a solution with the ridge is made one without.
REFINEMENTS = 3

#: Units, the easiest to replace, for which the loss without them is measured.
MEASURED = 16


@dataclass(frozen=True, eq=False)
class RedundantUnit:
    """A unit of a place that can go, and what takes over from it: for the model as it was when asked."""

    unit: int
    cost: float  #: by how much the mean loss rises (below 0: falls) without it, once the others have taken over
    unexplained: float  #: share of what it gives its consumers (squared, about its mean) that no mix of the others is
    change: Mapping[str, Tensor]  #: what is added to the consumers' parameters, by name; nothing reads the unit then


@dataclass(frozen=True, eq=False)
class _Entering:
    """The units as they enter one consumer: sums over samples and positions, in float64."""

    link: Link
    layer: nn.Module
    gram: Tensor  #: sum of a a', a = (units, 1): (width + 1, width + 1)

    @property
    def weight(self) -> Tensor:
        """The consumer's weights, (out, columns, *kernel)."""
        weight = self.layer.weight
        assert isinstance(weight, Tensor)
        return weight.detach().movedim(input_tensors(self.layer).weight_axis, 1)

    def add(self, inputs: Tensor, width: int) -> None:
        """Add what enters in one call of the consumer."""
        columns = self.link.columns(width).to(inputs.device)  # (width, per unit)
        axis = inputs.ndim - 1 if isinstance(self.layer, nn.Linear) else 1
        units = inputs.detach().movedim(axis, -1)[..., columns].movedim(-2, -1)
        rows = units.reshape(-1, width).double()
        self.gram[:width, :width] += rows.T @ rows
        self.gram[width, :width] += rows.sum(0)
        self.gram[:width, width] += rows.sum(0)
        self.gram[width, width] += len(rows)

    def change(self, mix: Floats, unit: int, width: int) -> dict[str, Tensor]:
        """What the consumer's parameters change by when a mix (width + 1,) of units and constant stands in for one."""
        columns = self.link.columns(width).to(self.weight.device)
        read = self.weight.double()[:, columns[unit]]  # (out, per unit, *kernel)
        weight = torch.zeros_like(self.weight, dtype=torch.float64)
        shares = torch.from_numpy(mix[:width]).to(weight.device).reshape(-1, *[1] * (weight.ndim - 1))
        weight[:, columns] = shares * read[:, None]
        weight[:, columns[unit]] = -read
        axis = input_tensors(self.layer).weight_axis
        out = {f"{self.link.path}.weight": weight.to(self.weight).movedim(1, axis)}
        if self.layer.bias is not None:
            constant = float(mix[width]) * read.flatten(1).sum(1)
            out[f"{self.link.path}.bias"] = constant.to(self.weight)
        return out


def redundant_units(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    validation: Batches | None = None,
    tolerance: float = 1e-3,
) -> list[RedundantUnit]:
    """The units of a place that can go at no cost worth naming, the cheapest first.

    Each is measured alone: of two equal units either can go, not both. Ask again after each release. All units are
    screened at once (one Gram matrix for each consumer gives what every unit has that the others have not); the loss
    is measured for the 16 that are easiest to replace. Dead, constant and duplicate units cost nothing. At least one
    unit stays. Everything is seen in eval mode; the model is left alone.

    Parameters
    ----------
    batches, loss
        As in :func:`creases.growth.methods.expressivity.statistics`; under torch.distributed each process gives its own samples.
    validation
        Other samples, on which the cost is measured too: on those of the re-fit it looks too low, and on a few others
        the unit that looks cheapest owes it to chance. A unit can go where both agree; the larger cost is told.
    tolerance
        How much of the mean loss a removal may cost, beside rounding.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> with torch.no_grad():
    ...     _ = model[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]))
    ...     _ = model[0].bias.zero_()
    ...     _ = model[2].weight.fill_(1.0)
    >>> x = torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    >>> sorted(one.unit for one in redundant(model, "0", (x, model(x).detach()), nn.MSELoss()))
    [1, 2]
    """
    if not 0 <= tolerance < inf:
        raise InputError(f"tolerance: expected a share of the loss, at least 0, got {tolerance!r}")
    with ranks.fail_together():
        source = list(iterate_batches(batches))
        if not source:
            raise InputError("batches: has no samples")
        observer = PlaceObserver.from_model(model, place, loss, source[0][0])
    width = observer.place.width
    if width == 1:
        return []
    with ranks.fail_together():
        entering = _observed(observer, source)
    ranks.sum_over_ranks(one.gram for one in entering)
    judged = [source, *([] if validation is None else [list(iterate_batches(validation, "validation"))])]
    before = np.array([_mean_loss(observer, part, {}) for part in judged])
    if not np.isfinite(before).all():
        raise InputError(
            f"loss: is {before.sum()} on these batches; has the training diverged? use a smaller lr, or scale the data"
        )
    allowed = tolerance * np.abs(before) + _rounding(observer, source, entering)
    missing = [_unexplained(one) for one in entering]  # of each consumer (width,)
    found: list[RedundantUnit] = []
    for unit in np.argsort(_harm(entering, missing), kind="stable")[:MEASURED].tolist():
        change: dict[str, Tensor] = {}
        for one in entering:
            change |= one.change(_stand_in(one, unit), unit, width)
        cost = np.array([_mean_loss(observer, part, change) for part in judged]) - before
        if (cost <= allowed).all():
            found.append(RedundantUnit(unit, float(cost.max()), max(float(part[unit]) for part in missing), change))
    return sorted(found, key=lambda one: one.cost)


def remove_redundant(
    model: nn.Module,
    place: Place | str,
    unit: RedundantUnit,
    optimizer: optim.Optimizer | None = None,
    *,
    data: Tensor | None = None,
) -> Certificate:
    """Let the consumers take over from a redundant unit, and remove it; the optimizer's state is carried.

    ``data``: inputs on which to measure how much the model's output changed, for the certificate. Where anything is
    wrong the model is left as it was.
    """
    model = unwrap_module(model)
    found = find_place(model, place, data=data)
    moves = match_parameters(model, unit.change, "unit", "ask redundant(...) again for the model as it is")
    done: list[Certificate] = []

    def edit() -> None:
        with apply_changes(moves):
            done.append(remove(model, found, [unit.unit], optimizer=optimizer))

    difference = apply_and_measure(model, data, edit)
    return replace(done[0], change=difference, bound=None)


def _observed(observer: PlaceObserver, source: Sequence[tuple[Tensor, Any]]) -> list[_Entering]:
    """Run all batches once; what enters each consumer."""
    width = observer.place.width
    entering = []
    for link in observer.place.consumers:
        layer = observer.twin.get_submodule(link.path)
        weight = layer.weight
        assert isinstance(weight, Tensor)
        entering.append(_Entering(link, layer, weight.new_zeros((width + 1, width + 1), dtype=torch.float64)))
    handles = [one.layer.register_forward_pre_hook(_adding(one, width)) for one in entering]
    try:
        with without_side_effects():
            for x, _ in source:
                observer.twin(x)
    finally:
        for handle in handles:
            handle.remove()
    return entering


def _adding(one: _Entering, width: int) -> Callable[[nn.Module, Any], None]:
    return lambda module, args: one.add(args[0], width)


def _mean_loss(observer: PlaceObserver, source: Sequence[tuple[Tensor, Any]], change: Mapping[str, Tensor]) -> float:
    """The mean loss when parameters change by this."""
    present = dict(observer.twin.named_parameters())
    other = {name: present[name] + move for name, move in change.items()}
    sums = torch.zeros(2, dtype=torch.float64)  # of the loss, of samples
    with ranks.fail_together(), without_side_effects():
        for x, target in source:
            value = float(observer.loss_sum(functional_call(observer.twin, other, (x,)), target, len(x)))
            sums += torch.tensor([value, len(x)], dtype=torch.float64)
    ranks.sum_over_ranks([sums])
    return float(sums[0] / sums[1])


def _rounding(observer: PlaceObserver, source: Sequence[tuple[Tensor, Any]], entering: Sequence[_Entering]) -> float:
    """What counts as no change of the loss: rounding of the loss that the model has when no unit is read."""
    unread = {}
    for one in entering:
        columns = one.link.columns(observer.place.width).flatten().to(one.weight.device)
        move = torch.zeros_like(one.weight)
        move[:, columns] = -one.weight[:, columns]
        unread[f"{one.link.path}.weight"] = move.movedim(1, input_tensors(one.layer).weight_axis)
    idle = _mean_loss(observer, source, unread)
    return torch.finfo(entering[0].weight.dtype).eps * abs(idle) if np.isfinite(idle) else 0.0


def _scaled(one: _Entering) -> tuple[Floats, Floats]:
    """The Gram matrix of units (and the constant, if the consumer has a bias) of mean square 1, and their sizes.

    A dead unit is a zero row and column, and has size 0.
    """
    gram = one.gram.cpu().numpy()
    if one.layer.bias is None:
        gram = gram[:-1, :-1]
    size = np.sqrt(np.diag(gram))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    return gram * np.outer(inverse, inverse), size


def _unexplained(one: _Entering) -> Floats:
    """Which share of each unit's values (about their mean) the others do not give: (width,), all from one inverse."""
    gram, size = _scaled(one)
    width = len(one.gram) - 1
    inverse = np.linalg.inv(gram + RIDGE * np.eye(len(gram)))
    rest = np.clip(1 / np.diag(inverse)[:width], 0.0, 1.0)
    rest[size[:width] == 0] = 0.0
    variance = 1 - gram[-1, :width] ** 2 if len(gram) > width else np.ones(width)
    return np.asarray(np.where(variance > RIDGE, np.minimum(rest / np.maximum(variance, RIDGE), 1.0), 0.0))


def _harm(entering: Sequence[_Entering], missing: Sequence[Floats]) -> Floats:
    """How much a unit's removal changes what the consumers give, squared, after the re-fit: (width,)."""
    total = np.zeros(len(missing[0]))
    for one, share in zip(entering, missing, strict=True):
        width = len(share)
        gram = one.gram.cpu().numpy()
        spread = np.diag(gram)[:width].copy()
        if one.layer.bias is not None:
            spread = np.maximum(spread - gram[width, :width] ** 2 / gram[width, width], 0.0)
        read = one.weight.double()[:, one.link.columns(width).to(one.weight.device)]  # (out, width, per unit, *kernel)
        total += share * spread * read.movedim(1, 0).flatten(1).square().sum(1).cpu().numpy()
    return total


def _stand_in(one: _Entering, unit: int) -> Floats:
    """The mix (width + 1,) of the other units and the constant that is nearest to a unit."""
    gram, size = _scaled(one)
    others = np.delete(np.arange(len(gram)), unit)
    G, g = gram[np.ix_(others, others)], gram[others, unit]
    factor = cho_factor(G + RIDGE * np.eye(len(others)))
    solution = cho_solve(factor, g)
    for _ in range(REFINEMENTS):
        solution += cho_solve(factor, g - G @ solution)
    mix = np.zeros(len(one.gram))
    mix[others] = np.divide(size[unit] * solution, size[others], out=np.zeros(len(others)), where=size[others] > 0)
    return mix
