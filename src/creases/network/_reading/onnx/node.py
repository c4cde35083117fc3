"""Nodes of an ONNX graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases.errors import ReadError

#: Entries of a constant that lists sizes, axes or repeats.
MAX_LISTED = 1_000


@dataclass(frozen=True)
class Node:
    """An operator applied to named values."""

    op: str
    name: str
    inputs: tuple[str, ...]  #: names; "" for an omitted optional input
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    opset: int

    def get(self, attribute: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.attributes.get(attribute, default)

    def number(self, attribute: str, default: float) -> float:
        """Return a floating-point attribute in single precision, which ONNX's attributes and defaults have."""
        return float(np.float32(self.attributes.get(attribute, default)))

    def error(self, why: str) -> ReadError:
        """Return an error that names the node."""
        return ReadError(f"{self.name} ({self.op}): {why}")

    def integers(self, attribute: str, tensor: Any, default: Any = None) -> Any:
        """Return integers that older opsets store as an attribute and newer ones as a constant input."""
        from creases.network._reading.traced import TracedTensor

        if tensor is None:
            return self.get(attribute, default)
        if isinstance(tensor, TracedTensor):
            raise self.error(f"its {attribute} depend on the network's input")
        return [int(n) for n in self.listed(attribute, tensor)]

    def listed(self, what: str, tensor: Any) -> list[Any]:
        """Return the entries of a constant that lists sizes, axes or repeats."""
        if tensor.numel() > MAX_LISTED:
            raise self.error(f"its {what} have {tensor.numel():,} entries; no tensor has so many axes")
        return list(tensor.reshape(-1).tolist())
