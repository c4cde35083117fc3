"""The flow of units through a model: the layers that read them, the operations between, why some are no place."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

Owners = frozenset[str]  # paths of the layers that produced some units


@dataclass(frozen=True)
class Passage:
    """An operation between a layer and the next."""

    op: str
    module: str  #: path of the torch module that runs it, "" in forward code


@dataclass
class Use:
    """How a run used a module."""

    calls: int
    like: Tensor  #: an empty tensor of its output's dtype and device
    shape: tuple[int, ...]  #: of its output, with the batch axis
    axis: int | None  #: axis of its output that counts units; None if they spread over several
    owners: Owners  #: the layers whose units it returned


@dataclass
class Flow:
    """What a run of a model revealed."""

    first: dict[str, int] = field(default_factory=dict)  #: number of the first unit of each affine layer
    columns: dict[str, Tensor] = field(default_factory=dict)  #: for each layer the unit of each column (0: none)
    readers: dict[str, Owners] = field(default_factory=dict)  #: for each layer the producers of the units it reads
    passages: dict[str, list[Passage]] = field(default_factory=dict)  #: by the layer that produced the units
    refused: dict[str, str] = field(default_factory=dict)  #: why the units of a layer are no place
    uses: dict[str, Use] = field(default_factory=dict)  #: of torch's own modules
    outputs: list[Tensor] = field(default_factory=list)
