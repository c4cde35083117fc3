"""The answer to whether a property holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from creases._typing import Floats
from creases.certify.proofs import Proof


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether a property holds everywhere: proved, refuted by an input, or not known when the budget is over."""

    status: Literal["holds", "violated", "unknown"]
    counterexample: Floats | None = None  #: (n_in,), or (2, n_in) for a pair; the network was run there
    outputs: Floats | None = None  #: (m,) or (2, m), the network's outputs at the counterexample
    seconds: float = 0.0
    detail: str = ""  #: what is known, in words
    proof: Proof | None = field(default=None, repr=False)  #: of the verdict, where it was recorded

    @property
    def proof_note(self) -> str:
        """Why there is no proof; "" if there is one."""
        if self.proof is not None:
            return ""
        if self.status == "unknown":
            return "nothing was decided"
        return (
            "the search that decided records no tree (units that are choices within rows, or no trees were asked for)"
        )

    def __bool__(self) -> bool:
        """Return whether the property is proved."""
        return self.status == "holds"

    def __str__(self) -> str:
        lines = [self.status + (f": {self.detail}" if self.detail else "")]
        if self.counterexample is not None and self.outputs is not None:
            for x, y in zip(np.atleast_2d(self.counterexample), np.atleast_2d(self.outputs), strict=True):
                lines.append(f"input {_numbers(x)}, outputs {_numbers(y)}")
        return "\n".join(lines)


def _numbers(values: Floats) -> str:
    shown = ", ".join(f"{value:.6g}" for value in values[:8])
    return f"({shown}{', ...' if len(values) > 8 else ''})"
