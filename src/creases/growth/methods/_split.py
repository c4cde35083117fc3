"""Splitting units: copies that share the outgoing weights, as in Net2Wider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from creases._validation import check_count, check_number
from creases.growth._objective import Loss
from creases.growth._proposal import Proposal, unit_rows, weight_of
from creases.growth.methods._evidence import Evidence
from creases.growth.methods._first_order.observation import Batches, iterate_batches
from creases.network import Place
from creases.network.surgery import find_place, input_tensors, unwrap_module

_EXAMPLES = 100  # samples that show what a place looks like


@dataclass(frozen=True)
class Split:
    """Growth by copies of units; see :func:`split`."""

    count: int = 1
    noise: float = 0.05

    def __call__(self, model: nn.Module, place: Place, evidence: Evidence) -> Proposal:
        """Return the proposal for a place."""
        batches, _ = evidence.draw(_EXAMPLES)
        options: dict[str, Any] = {"count": self.count, "noise": self.noise, "seed": evidence.seed}
        return split(model, place, batches, evidence.objective.loss, **options)


def split(
    model: nn.Module,
    place: Place | str,
    batches: Batches,
    loss: Loss,
    *,
    count: int = Split.count,
    noise: float = Split.noise,
    seed: int = 0,
) -> Proposal:
    """Propose copies of existing units, drawn at random, that share their outgoing weights in halves (Net2Wider [1]_).

    Without noise the function does not change, but a copy and its original get the same gradient and never differ. A
    unit is copied at most once.

    Parameters
    ----------
    model, place
        A module and one of its places, or the place's name.
    batches, loss
        As in :func:`statistics`; the loss is not used.
    count
        Number of units to copy.
    noise
        Standard deviation of a normal change of the copy's weights, relative to the root mean square of the original's.
    seed
        Seed of the choice of units and of the noise.

    References
    ----------
    .. [1] Chen, Goodfellow, Shlens, "Net2Net: Accelerating Learning via Knowledge Transfer", ICLR 2016.
    """
    check_count(count, "count")
    check_number(noise, "noise", least=0)
    del loss
    model, data = unwrap_module(model), next(iterate_batches(batches), (None,)) if isinstance(place, str) else (None,)
    target = find_place(model, place, X=data[0])
    producer, generator = model.get_submodule(target.name), torch.Generator().manual_seed(seed)
    units = torch.randperm(target.width, generator=generator)[: min(count, target.width)].sort().values
    rows, bias = unit_rows(producer), producer.bias
    at = units.to(rows.device)
    fan_in = rows[at].double()
    offset = bias.detach()[at].double() if isinstance(bias, Tensor) else fan_in.new_zeros(len(units))
    size = noise * fan_in.flatten(1).square().mean(1).sqrt().reshape(-1, *[1] * (fan_in.ndim - 1))
    fan_in = fan_in + size * torch.randn(fan_in.shape, generator=generator, dtype=torch.float64).to(fan_in)
    fan_out, change, carriers = {}, {}, {}
    for link in target.consumers:  # a copy gets half of each column, which is taken from the original
        layer = model.get_submodule(link.path)
        columns, axis = link.columns(target.width)[units].flatten(), input_tensors(layer).weight_axis
        moved = weight_of(layer).detach().double().movedim(axis, 1)
        columns, less = columns.to(moved.device), torch.zeros_like(moved)
        fan_out[link.path] = moved[:, columns] / 2
        less[:, columns] = -fan_out[link.path]
        change[f"{link.path}.weight"] = less.movedim(1, axis)
    for link in target.carriers:  # batch norms and PReLUs
        layer, columns = model.get_submodule(link.path), link.columns(target.width)[units].flatten()
        for name, _ in input_tensors(layer).tensors:
            if isinstance(present := getattr(layer, name, None), Tensor):
                carriers[f"{link.path}.{name}"] = present.detach()[columns.to(present.device)].clone()
    explanation = {"method": "split", "place": target.name, "reason": "", "gain": 0.0}
    explanation |= {"units": len(units), "split": units.tolist(), "noise": noise}
    return Proposal("split", target, fan_in, offset, fan_out, 0.0, explanation, change, carriers)
