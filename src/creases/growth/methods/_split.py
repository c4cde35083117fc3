"""Splitting units: copies that share the outgoing weights, as in Net2Wider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from creases._validation import check_count, check_number
from creases.growth._objective import Loss
from creases.growth._proposal import Proposal
from creases.growth.methods._evidence import Evidence
from creases.growth.methods._first_order.observation import Batches, iterate_batches
from creases.network import Place
from creases.network.surgery import find_place, input_tensors, output_tensors, unwrap_module

_EXAMPLES = 100  # samples that show what a place looks like


@dataclass(frozen=True)
class Split:
    """Growth by copies of units; see :func:`split`."""

    count: int = 1
    noise: float = 0.05

    def check(self, model: nn.Module, place: Place) -> str:
        """Return "": the units of every place can be copied."""
        return ""

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
    check_number(noise, "noise", least=0)
    model, target = splittable_place(model, place, batches, count)
    del loss
    generator = torch.Generator().manual_seed(seed)
    units = torch.randperm(target.width, generator=generator)[: min(count, target.width)].sort().values
    fan_in, bias = unit_rows(model, target, units)
    size = noise * fan_in.flatten(1).square().mean(1).sqrt().reshape(-1, *[1] * (fan_in.ndim - 1))
    fan_in = fan_in + size * torch.randn(fan_in.shape, generator=generator, dtype=torch.float64).to(fan_in)
    fan_out, change = half_columns(model, target, units)
    carriers = carrier_entries(model, target, units)
    explanation = {
        "method": "split",
        "place": target.name,
        "reason": "",
        "gain": 0.0,
        "units": len(units),
        "split": units.tolist(),
        "noise": noise,
    }
    return Proposal("split", target, fan_in, bias, fan_out, 0.0, explanation, change, carriers)


def splittable_place(model: nn.Module, place: Place | str, batches: Batches, count: int) -> tuple[nn.Module, Place]:
    """Return the module itself and one of its places."""
    check_count(count, "count")
    model = unwrap_module(model)
    data = None
    if isinstance(place, str):
        first = next(iterate_batches(batches), None)
        data = None if first is None else first[0]
    target = find_place(model, place, X=data)
    return model, target


def unit_rows(model: nn.Module, place: Place, units: Tensor) -> tuple[Tensor, Tensor]:
    """Return weights (k, *one unit's weights) and biases (k,) of some units."""
    producer = model.get_submodule(place.name)
    weight, bias = producer.weight, producer.bias
    assert isinstance(weight, Tensor)
    axis = output_tensors(producer).weight_axis
    units = units.to(weight.device)
    rows_ = weight.detach().movedim(axis, 0)[units].double()
    return rows_, bias.detach()[units].double() if isinstance(bias, Tensor) else rows_.new_zeros(len(units))


def carrier_entries(model: nn.Module, place: Place, units: Tensor) -> dict[str, Tensor]:
    """Return the entries of some units in batch norms and PReLUs."""
    entries = {}
    for link in place.carriers:
        layer = model.get_submodule(link.path)
        columns = link.columns(place.width)[units.cpu()].flatten()
        for name, _ in input_tensors(layer).tensors:
            present = getattr(layer, name, None)
            if isinstance(present, Tensor):
                entries[f"{link.path}.{name}"] = present.detach()[columns.to(present.device)].clone()
    return entries


def half_columns(model: nn.Module, place: Place, units: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return half of some units' columns for their copies, and the change that takes it from the originals."""
    outs, change = {}, {}
    for link in place.consumers:
        layer = model.get_submodule(link.path)
        weight = layer.weight
        assert isinstance(weight, Tensor)
        axis = input_tensors(layer).weight_axis
        moved = weight.detach().double().movedim(axis, 1)
        columns = link.columns(place.width)[units.cpu()].flatten().to(weight.device)
        outs[link.path] = moved[:, columns] / 2
        less = torch.zeros_like(moved)
        less[:, columns] = -moved[:, columns] / 2
        change[f"{link.path}.weight"] = less.movedim(1, axis)
    return outs, change
