"""A proposal: new units for a place, as plain data, before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn, optim

from creases.network.surgery import Certificate, Place, widen


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
    gain: float  #: by how much the mean loss is predicted to fall, to first order
    explanation: Mapping[str, Any]  #: why these units: JSON-able, the method's own fields

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


def apply(
    proposal: Proposal, model: nn.Module, *, optimizer: optim.Optimizer | None = None, data: Tensor | None = None
) -> Certificate:
    """Put the proposed units into the model; the optimizer's state is carried.

    ``data``: inputs on which to measure how much the model's output changed, for the certificate.
    """
    return widen(
        model,
        proposal.place,
        proposal.fan_in,
        proposal.bias,
        dict(proposal.fan_out),
        optimizer=optimizer,
        data=data,
    )
