"""How torch's operations are read, by name: as steps, as movements of entries, or not at all."""

from __future__ import annotations

from creases.network._reading.operators import arithmetic, bends, layers, pooling, shapes
from creases.network._reading.operators.names import DENSE, IDENTITY_FUNCTIONS, MOVES, QUERIES
from creases.network._reading.operators.refused import CONDITIONS, REFUSED, refusal

#: Name of an operation to the function ``handler(tape, *arguments)`` that writes its steps. Arguments are those of the
#: torch function, with values in place of traced tensors.
HANDLERS = {**arithmetic.HANDLERS, **layers.HANDLERS, **pooling.HANDLERS, **shapes.HANDLERS, **bends.HANDLERS}

__all__ = ["CONDITIONS", "DENSE", "HANDLERS", "IDENTITY_FUNCTIONS", "MOVES", "QUERIES", "REFUSED", "refusal"]
