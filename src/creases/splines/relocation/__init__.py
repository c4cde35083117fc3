"""Move the least useful breakpoints to where the error is largest.

:func:`relocate` moves breakpoints of a network once; :class:`Relocation` does it repeatedly in a training loop.
"""

from creases.splines.relocation._callback import Relocation
from creases.splines.relocation._relocate import Move, RelocationResult, relocate

__all__ = ["Move", "Relocation", "RelocationResult", "relocate"]
