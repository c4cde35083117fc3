"""A proposal: new units for a place as plain data, before the model changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn, optim

from creases._text import OneLine
from creases.errors import InputError
from creases.network import Certificate, Place, widen
from creases.network.surgery import apply_and_measure, count_parameters, output_tensors


def weight_of(layer: nn.Module) -> Tensor:
    """Return the weight of a layer that has one."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    return weight


def unit_rows(layer: nn.Module) -> Tensor:
    """Return a view of a layer's weight with the axis of its units first."""
    return weight_of(layer).detach().movedim(output_tensors(layer).weight_axis, 0)


#: Parameters, each with what is added to it.
ParameterChanges = list[tuple[Tensor, Tensor]]


def match_parameters(model: nn.Module, change: Mapping[str, Tensor], name: str, advice: str) -> ParameterChanges:
    """Return the parameters that a change names; ``name`` is the argument it came from."""
    parameters = dict(model.named_parameters())
    for path, move in change.items():
        if path not in parameters or parameters[path].shape != move.shape:
            shape = f"has shape {tuple(parameters[path].shape)}" if path in parameters else "does not exist"
            raise InputError(
                name,
                "fit the model",
                f"a change of shape {tuple(move.shape)} for {path!r}, which {shape}",
                advice,
            )
    return [(parameters[path], move.to(parameters[path])) for path, move in change.items()]


@contextmanager
def apply_changes(moves: ParameterChanges) -> Iterator[None]:
    """Apply the changes; restore the parameters if the block fails."""
    before = [parameter.detach().clone() for parameter, _ in moves]
    with torch.no_grad():
        for parameter, move in moves:
            parameter.add_(move)
    try:
        yield
    except Exception:
        with torch.no_grad():
            for (parameter, _), value in zip(moves, before, strict=True):
                parameter.copy_(value)
        raise


@dataclass(frozen=True, eq=False, repr=False)
class Proposal(OneLine):
    """New units for a place, as every growth method returns them; :func:`apply` adds them to the model.

    The model does not change until then.
    """

    method: str  #: the method's name, such as "tiny"
    place: Place
    fan_in: Tensor  #: (k, *shape of one row of the producer's weight)
    bias: Tensor  #: (k,)
    fan_out: Mapping[str, Tensor]  #: for each consumer's path its new columns, as :func:`creases.widen` takes them
    gain: float  #: predicted decrease of the mean loss (to first order; a fold's: after the outputs adapted)
    explanation: Mapping[str, Any]  #: why these units: JSON-able, with fields of the method
    change: Mapping[str, Tensor] = field(default_factory=dict)  #: what is added to existing parameters, by name
    carriers: Mapping[str, Tensor] = field(default_factory=dict)  #: entries of batch norms, as :func:`creases.widen`

    @property
    def count(self) -> int:
        """Return the number of new units."""
        return len(self.fan_in)

    def scale(self, fan_in: float, fan_out: float) -> Proposal:
        """Return the proposal with incoming weights (and biases) and outgoing weights multiplied by factors.

        Behind a batch norm, which undoes the size of incoming weights, its own weights and biases are multiplied.
        """
        inner = 1.0 if self.place.norm else fan_in
        norm = fan_in if self.place.norm else 1.0
        carriers = {name: (1.0 if ".running_" in name else norm) * part for name, part in self.carriers.items()}
        return replace(
            self,
            fan_in=inner * self.fan_in,
            bias=inner * self.bias,
            carriers=carriers,
            fan_out={path: fan_out * columns for path, columns in self.fan_out.items()},
            gain=fan_in * fan_out * self.gain,
        )


def first_units(proposal: Proposal, k: int) -> Proposal:
    """Return a proposal of the first k units, the strongest ones, with an even share of the gain.

    A proposal that also changes existing parameters cannot be cut: it is returned as it is, or empty for k = 0.
    """
    if k >= proposal.count or (k and proposal.change):
        return proposal
    fan_out = {}
    for path, columns in proposal.fan_out.items():
        per_unit = columns.shape[1] // proposal.count if columns.shape[1] > proposal.count else 1
        fan_out[path] = columns[:, : k * per_unit]
    gain, explanation = proposal.gain * k / proposal.count, {**proposal.explanation, "units": k}
    if "folds" in explanation:
        explanation["folds"] = explanation["folds"][:k]
    return replace(
        proposal,
        fan_in=proposal.fan_in[:k],
        bias=proposal.bias[:k],
        fan_out=fan_out,
        carriers={name: part[: k * len(part) // proposal.count] for name, part in proposal.carriers.items()},
        gain=gain,
        explanation=explanation,
        change=proposal.change if k else {},
    )


def apply(
    proposal: Proposal,
    model: nn.Module,
    *,
    optimizer: optim.Optimizer | None = None,
    data: Tensor | None = None,
) -> Certificate:
    """Add the proposed units, and their state to the optimizer; move the existing weights as proposed.

    Parameters
    ----------
    proposal
        For a place of this model.
    model
        Changed in place; parameters that keep their shape stay the same objects.
    optimizer
        The model's optimizer, if any; its state is carried over.
    data
        Inputs on which to measure how much the model's output changes, for the certificate.
    """
    if not proposal.count and not proposal.change:
        reason = proposal.explanation.get("reason", "none was worth adding")
        raise InputError("proposal", "have at least one unit", f"none ({reason})")
    moves = match_parameters(model, proposal.change, "proposal", "propose again for the model as it is")
    place, size = proposal.place, count_parameters(model)
    done = [Certificate("widen", place.name, place.width, place.width, size, size, None, None, place)]

    def edit() -> None:
        fan_in, bias, fan_out = proposal.fan_in, proposal.bias, dict(proposal.fan_out)
        with apply_changes(moves):
            if proposal.count:
                carriers = dict(proposal.carriers)
                done.append(widen(model, place, fan_in, bias, fan_out, optimizer=optimizer, carriers=carriers))

    difference = apply_and_measure(model, data, edit)
    return replace(done[-1], change=difference, bound=None if moves else done[-1].bound)
