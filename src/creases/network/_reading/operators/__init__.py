"""How each torch operation is read: as steps, as a rearrangement of entries, or not at all."""

from __future__ import annotations

from creases.network._reading.operators import arithmetic, bends, layers, pooling, shapes
from creases.network._reading.operators.names import (
    CONDITIONS,
    DENSE,
    IDENTITY_FUNCTIONS,
    MOVES,
    QUERIES,
    REFUSED,
    refusal,
)

#: For each operation the function ``handler(builder, *arguments)`` that adds its steps. The arguments are those of the
#: torch function, with values in place of traced tensors.
HANDLERS = {**arithmetic.HANDLERS, **layers.HANDLERS, **pooling.HANDLERS, **shapes.HANDLERS, **bends.HANDLERS}

__all__ = ["CONDITIONS", "DENSE", "HANDLERS", "IDENTITY_FUNCTIONS", "MOVES", "QUERIES", "REFUSED", "refusal"]
