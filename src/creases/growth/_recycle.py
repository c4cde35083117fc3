"""Redundant units: how to find them and remove them.

The values of a unit are approximated by the other units and a constant (least squares over samples and positions); the
consumers' weights take over this combination, and the unit is removed. If the loss does not increase, the unit was
redundant, and another one can be grown where it is more useful.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve
from torch import Tensor, nn, optim
from torch.func import functional_call

from creases._typing import Floats
from creases._validation import check_number
from creases.errors import InputError
from creases.growth._loss_sum import Loss
from creases.growth._parameter_changes import apply_changes, match_parameters
from creases.growth.integrations import _ranks as ranks
from creases.growth.methods._first_order.observation import Batches, PlaceObserver, iterate_batches
from creases.network import Certificate, Place, remove
from creases.network.surgery import (
    Link,
    apply_and_measure,
    find_place,
    input_tensors,
    unwrap_module,
    without_side_effects,
)

#: Added to the diagonal of a Gram matrix with ones there, so that dead and duplicate units are no special case.
RIDGE = 1e-10

#: Iterations that remove the effect of the ridge from a solution.
REFINEMENTS = 3

#: Number of units, the easiest to replace, for which the loss without them is measured.
MEASURED = 16


@dataclass(frozen=True, eq=False)
class RedundantUnit:
    """A redundant unit of a place, and the change of parameters that replaces it, for one state of a model."""

    unit: int
    cost: float  #: increase of the mean loss without it, after the change; below 0 for a decrease
    unexplained: float  #: share of its variance that no combination of the other units explains
    change: Mapping[
        str, Tensor
    ]  #: what is added to the consumers' parameters, by name, so that no consumer uses the unit


@dataclass(frozen=True, eq=False)
class _UnitInputs:
    """The units at the input of one consumer: sums over samples and positions, in float64."""

    link: Link
    layer: nn.Module
    gram: Tensor  #: sum of a a', a = (units, 1): (width + 1, width + 1)

    @property
    def weight(self) -> Tensor:
        """Return the consumer's weights, (out, columns, *kernel)."""
        weight = self.layer.weight
        assert isinstance(weight, Tensor)
        return weight.detach().movedim(input_tensors(self.layer).weight_axis, 1)

    def add(self, inputs: Tensor, width: int) -> None:
        """Add the inputs of one call of the consumer."""
        columns = self.link.columns(width).to(inputs.device)  # (width, per unit)
        axis = inputs.ndim - 1 if isinstance(self.layer, nn.Linear) else 1
        units = inputs.detach().movedim(axis, -1)[..., columns].movedim(-2, -1)
        rows = units.reshape(-1, width).double()
        self.gram[:width, :width] += rows.T @ rows
        self.gram[width, :width] += rows.sum(0)
        self.gram[:width, width] += rows.sum(0)
        self.gram[width, width] += len(rows)

    def change(self, mix: Floats, unit: int, width: int) -> dict[str, Tensor]:
        """Return the change of the consumer's parameters that replaces a unit by a mix (width + 1,) of the others."""
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
    """Return the units of a place that can be removed at hardly any cost, the cheapest first.

    Each is measured alone: of two equal units either is redundant, not both, so call it again after each removal. All
    units are screened at once (one Gram matrix for each consumer gives the unexplained part of every unit); the loss
    is measured for the 16 that are easiest to replace. Dead, constant and duplicate units cost nothing. At least one
    unit stays. The model runs in eval mode and does not change.

    Parameters
    ----------
    batches, loss
        As in :func:`creases.growth.methods.expressivity.statistics`; under torch.distributed each process passes its
        own samples.
    validation
        Other samples, on which the cost is measured too: it is underestimated on those of the fit, and noisy on a few
        others. A unit is redundant if both agree; the larger cost is returned.
    tolerance
        Largest cost of a removal, relative to the mean loss, apart from rounding.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> with torch.no_grad():
    ...     _ = model[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]))
    ...     _ = model[0].bias.zero_()
    ...     _ = model[2].weight.fill_(1.0)
    >>> x = torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    >>> sorted(unit.unit for unit in redundant_units(model, "0", (x, model(x).detach()), nn.MSELoss()))
    [1, 2]
    """
    check_number(tolerance, "tolerance", least=0)
    with ranks.fail_together():
        source = list(iterate_batches(batches))
        if not source:
            raise InputError("batches", "have at least one sample")
        observer = PlaceObserver.from_model(model, place, loss, source[0][0])
    width = observer.place.width
    if width == 1:
        return []
    with ranks.fail_together():
        entering = _observe_units(observer, source)
    ranks.sum_over_ranks(consumer.gram for consumer in entering)
    samples = [source, *([] if validation is None else [list(iterate_batches(validation, "validation"))])]
    before = np.array([_mean_loss(observer, part, {}) for part in samples])
    if not np.isfinite(before).all():
        raise InputError(
            "loss",
            "be finite on the batches",
            f"{before.sum()}",
            "use a smaller lr, or scale the data, if the training has diverged",
        )
    allowed = tolerance * np.abs(before) + _rounding(observer, source, entering)
    missing = [_unexplained_share(consumer) for consumer in entering]  # of each consumer (width,)
    redundant: list[RedundantUnit] = []
    for unit in np.argsort(_removal_effect(entering, missing), kind="stable")[:MEASURED].tolist():
        change: dict[str, Tensor] = {}
        for consumer in entering:
            change |= consumer.change(_best_substitute(consumer, unit), unit, width)
        cost = np.array([_mean_loss(observer, part, change) for part in samples]) - before
        if (cost <= allowed).all():
            redundant.append(RedundantUnit(unit, float(cost.max()), max(float(part[unit]) for part in missing), change))
    return sorted(redundant, key=lambda unit: unit.cost)


def remove_redundant(
    model: nn.Module,
    place: Place | str,
    unit: RedundantUnit,
    optimizer: optim.Optimizer | None = None,
    *,
    data: Tensor | None = None,
) -> Certificate:
    """Remove a redundant unit, and change its consumers to replace it; the optimizer's state is carried over.

    Parameters
    ----------
    model, place
        A module and one of its places, or the place's name. If anything fails, the model does not change.
    unit
        As returned by :func:`redundant_units` for this state of the model.
    optimizer
        The model's optimizer, if any.
    data
        Inputs on which to measure how much the model's output changes, for the certificate.
    """
    model = unwrap_module(model)
    target = find_place(model, place, X=data)
    moves = match_parameters(model, unit.change, "unit", "call redundant_units again for the current model")
    done: list[Certificate] = []

    def edit() -> None:
        with apply_changes(moves):
            done.append(remove(model, target, [unit.unit], optimizer=optimizer))

    difference = apply_and_measure(model, data, edit)
    return replace(done[0], change=difference, bound=None)


def _observe_units(observer: PlaceObserver, source: Sequence[tuple[Tensor, Any]]) -> list[_UnitInputs]:
    """Run all batches once; return the units at the input of each consumer."""
    width = observer.place.width
    entering = []
    for link in observer.place.consumers:
        layer = observer.twin.get_submodule(link.path)
        weight = layer.weight
        assert isinstance(weight, Tensor)
        entering.append(_UnitInputs(link, layer, weight.new_zeros((width + 1, width + 1), dtype=torch.float64)))
    handles = [consumer.layer.register_forward_pre_hook(_add_hook(consumer, width)) for consumer in entering]
    try:
        with without_side_effects():
            for x, _ in source:
                observer.twin(x)
    finally:
        for handle in handles:
            handle.remove()
    return entering


def _add_hook(consumer: _UnitInputs, width: int) -> Callable[[nn.Module, Any], None]:
    return lambda module, args: consumer.add(args[0], width)


def _mean_loss(observer: PlaceObserver, source: Sequence[tuple[Tensor, Any]], change: Mapping[str, Tensor]) -> float:
    """Return the mean loss after a change of parameters."""
    present = dict(observer.twin.named_parameters())
    other = {name: present[name] + move for name, move in change.items()}
    sums = torch.zeros(2, dtype=torch.float64)  # of the loss, of samples
    with ranks.fail_together(), without_side_effects():
        for x, target in source:
            value = float(observer.loss_sum(functional_call(observer.twin, other, (x,)), target, len(x)))
            sums += torch.tensor([value, len(x)], dtype=torch.float64)
    ranks.sum_over_ranks([sums])
    return float(sums[0] / sums[1])


def _rounding(observer: PlaceObserver, source: Sequence[tuple[Tensor, Any]], entering: Sequence[_UnitInputs]) -> float:
    """Return the rounding error of the loss, from the loss without any of the units."""
    unread = {}
    for consumer in entering:
        columns = consumer.link.columns(observer.place.width).flatten().to(consumer.weight.device)
        move = torch.zeros_like(consumer.weight)
        move[:, columns] = -consumer.weight[:, columns]
        unread[f"{consumer.link.path}.weight"] = move.movedim(1, input_tensors(consumer.layer).weight_axis)
    idle = _mean_loss(observer, source, unread)
    return torch.finfo(entering[0].weight.dtype).eps * abs(idle) if np.isfinite(idle) else 0.0


def _scaled_gram(consumer: _UnitInputs) -> tuple[Floats, Floats]:
    """Return the Gram matrix of units scaled to mean square 1 (with the constant, if there is a bias), and their sizes.

    A dead unit has a zero row and column, and size 0.
    """
    gram = consumer.gram.cpu().numpy()
    if consumer.layer.bias is None:
        gram = gram[:-1, :-1]
    size = np.sqrt(np.diag(gram))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    return gram * np.outer(inverse, inverse), size


def _unexplained_share(consumer: _UnitInputs) -> Floats:
    """Return the share of each unit's variance that the others do not explain, (width,), all from one inverse."""
    gram, size = _scaled_gram(consumer)
    width = len(consumer.gram) - 1
    inverse = np.linalg.inv(gram + RIDGE * np.eye(len(gram)))
    rest = np.clip(1 / np.diag(inverse)[:width], 0.0, 1.0)
    rest[size[:width] == 0] = 0.0
    variance = 1 - gram[-1, :width] ** 2 if len(gram) > width else np.ones(width)
    return np.asarray(np.where(variance > RIDGE, np.minimum(rest / np.maximum(variance, RIDGE), 1.0), 0.0))


def _removal_effect(entering: Sequence[_UnitInputs], missing: Sequence[Floats]) -> Floats:
    """Return how much the removal of each unit changes the consumers' outputs, squared, after the fit: (width,)."""
    total = np.zeros(len(missing[0]))
    for consumer, share in zip(entering, missing, strict=True):
        width = len(share)
        gram = consumer.gram.cpu().numpy()
        spread = np.diag(gram)[:width].copy()
        if consumer.layer.bias is not None:
            spread = np.maximum(spread - gram[width, :width] ** 2 / gram[width, width], 0.0)
        read = consumer.weight.double()[
            :, consumer.link.columns(width).to(consumer.weight.device)
        ]  # (out, width, per unit, *kernel)
        total += share * spread * read.movedim(1, 0).flatten(1).square().sum(1).cpu().numpy()
    return total


def _best_substitute(consumer: _UnitInputs, unit: int) -> Floats:
    """Return the mix (width + 1,) of the other units and the constant that is nearest to a unit."""
    gram, size = _scaled_gram(consumer)
    others = np.delete(np.arange(len(gram)), unit)
    G, g = gram[np.ix_(others, others)], gram[others, unit]
    factor = cho_factor(G + RIDGE * np.eye(len(others)))
    solution = cho_solve(factor, g)
    for _ in range(REFINEMENTS):
        solution += cho_solve(factor, g - G @ solution)
    mix = np.zeros(len(consumer.gram))
    mix[others] = np.divide(size[unit] * solution, size[others], out=np.zeros(len(others)), where=size[others] > 0)
    return mix
