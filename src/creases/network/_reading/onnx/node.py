"""One node of an ONNX graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from creases.errors import ReadError


@dataclass(frozen=True)
class Node:
    """An operator applied to named values."""

    op: str
    name: str
    inputs: tuple[str, ...]  #: names; "" for an optional input left out
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    opset: int

    def get(self, attribute: str, default: Any = None) -> Any:
        return self.attributes.get(attribute, default)

    def number(self, attribute: str, default: float) -> float:
        """A floating-point attribute; ONNX's are of single precision, and so are its defaults."""
        return float(np.float32(self.attributes.get(attribute, default)))

    def error(self, why: str) -> ReadError:
        return ReadError(f"{self.name} ({self.op}): {why}")

    def integers(self, attribute: str, tensor: Any, default: Any = None) -> Any:
        """Integers that older opsets give as an attribute and newer ones as an input, which must be constant."""
        from creases.network._reading.traced import Traced

        if tensor is None:
            return self.get(attribute, default)
        if isinstance(tensor, Traced):
            raise self.error(f"its {attribute} depend on the network's input")
        return [int(n) for n in tensor.reshape(-1).tolist()]
