"""Move breakpoints that do little to where most is missing."""

from creases.splines.relocation._callback import Relocation
from creases.splines.relocation._relocate import Move, RelocationResult, relocate

__all__ = ["Move", "Relocation", "RelocationResult", "relocate"]
