"""A proposal: new units for a place, as plain data, before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor, nn, optim

from creases.errors import InputError
from creases.growth._parameter_changes import apply_changes, match_parameters
from creases.network.surgery import Certificate, Place, apply_and_measure, widen


@dataclass(frozen=True, eq=False)
class Proposal:
    """New units for a place: what every growth method returns, and :func:`apply` puts in.

    Leaving a proposal alone leaves no trace: nothing of it is in the model.
    """

    method: str  #: the method's name, such as "tiny"
    place: Place
    fan_in: Tensor  #: (k, *shape of one row of the producer's weight)
    bias: Tensor  #: (k,)
    fan_out: Mapping[str, Tensor]  #: for each consumer's path its new columns, as :func:`creases.widen` takes them
    gain: float  #: by how much the mean loss is predicted to fall (to first order; a fold's: when outputs have adapted)
    explanation: Mapping[str, Any]  #: why these units: JSON-able, the method's own fields
    change: Mapping[str, Tensor] = field(default_factory=dict)  #: what is added to present parameters, by their names

    @property
    def count(self) -> int:
        """Number of new units."""
        return len(self.fan_in)

    def scaled(self, fan_in: float, fan_out: float) -> Proposal:
        """The same units with their weights in (bias too) and out multiplied; the gain goes with the product."""
        return replace(
            self,
            fan_in=fan_in * self.fan_in,
            bias=fan_in * self.bias,
            fan_out={path: fan_out * columns for path, columns in self.fan_out.items()},
            gain=fan_in * fan_out * self.gain,
        )


def first_units(proposal: Proposal, k: int) -> Proposal:
    """The first k of the proposed units (methods put the strongest first); their share of the gain, taken as even.

    A proposal that also changes present parameters cannot be cut, and is left as it is or emptied.
    """
    if k >= proposal.count or (k and proposal.change):
        return proposal
    fan_out = {}
    for path, columns in proposal.fan_out.items():
        per_unit = columns.shape[1] // proposal.count if columns.shape[1] > proposal.count else 1
        fan_out[path] = columns[:, : k * per_unit]
    gain = proposal.gain * k / proposal.count
    return replace(
        proposal,
        fan_in=proposal.fan_in[:k],
        bias=proposal.bias[:k],
        fan_out=fan_out,
        gain=gain,
        explanation={**proposal.explanation, "units": k},
        change=proposal.change if k else {},
    )


def apply(
    proposal: Proposal, model: nn.Module, *, optimizer: optim.Optimizer | None = None, data: Tensor | None = None
) -> Certificate:
    """Put the proposed units into the model; the optimizer's state is carried.

    ``data``: inputs on which to measure how much the model's output changed, for the certificate. Parameters that the
    proposal changes stay the objects they are.
    """
    if not proposal.count:
        raise InputError(
            f"proposal: has no units to add: {proposal.explanation.get('reason', 'none were worth adding')}"
        )
    moves = match_parameters(model, proposal.change, "proposal", "propose again for the model as it is")
    done: list[Certificate] = []

    def edit() -> None:
        fan_in, bias, fan_out = proposal.fan_in, proposal.bias, dict(proposal.fan_out)
        with apply_changes(moves):
            done.append(widen(model, proposal.place, fan_in, bias, fan_out, optimizer=optimizer))

    difference = apply_and_measure(model, data, edit)
    return replace(done[0], change=difference, bound=None if moves else done[0].bound)
