"""How each torch operation is read: as steps, as a rearrangement of entries, or not at all."""

from __future__ import annotations

from creases.network._reading.operators import affine, bends, layers

#: For each operation the function ``handler(builder, *arguments)`` that adds its steps. The arguments are those of the
#: torch function, with values in place of traced tensors.
HANDLERS = affine.HANDLERS | layers.HANDLERS | bends.HANDLERS
