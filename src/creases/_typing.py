"""Names for arrays of one dtype, whatever their shape, and for other types that rooms share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]  #: bits, 64 in a word
Bytes = NDArray[np.uint8]

Task = Literal["classification", "regression"]

#: What long work calls to say how far it is: what it is doing, how many parts are done, of how many (None: not known).
Progress = Callable[[str, int, int | None], None]
