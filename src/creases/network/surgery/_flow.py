"""What following units through a model shows: where they enter, what they pass, and why some cannot grow."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

Owners = frozenset[str]  # paths of the layers that made some units


@dataclass(frozen=True)
class Passage:
    """An operation that units pass on their way to the next layer."""

    op: str
    module: str  #: path of torch's own module that it is in, "" in forward code


@dataclass
class Use:
    """How a module was used in one run."""

    calls: int
    like: Tensor  #: an empty tensor of its output's dtype and device
    shape: tuple[int, ...]  #: of its output, with the batch axis
    axis: int | None  #: of its output, that counts units; None where units lie across axes
    owners: Owners  #: the layers whose units it gave


@dataclass
class Flow:
    """What one run of a model showed."""

    first: dict[str, int] = field(default_factory=dict)  #: number of the first unit of each affine layer
    taken: dict[str, Tensor] = field(default_factory=dict)  #: number of the unit (0: none) by column of each layer
    takers: dict[str, Owners] = field(default_factory=dict)  #: whose units enter each layer
    passages: dict[str, list[Passage]] = field(default_factory=dict)  #: by the layer that made the units
    refused: dict[str, str] = field(default_factory=dict)  #: why the units of a layer are not a place
    uses: dict[str, Use] = field(default_factory=dict)  #: of torch's own modules
    outputs: list[Tensor] = field(default_factory=list)
