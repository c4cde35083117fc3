"""Short vectors in code compiled by numba: each operation is a single instruction over all entries."""

from creases.lab._simd._vectors import fma, load_wide, store_wide, vectors

__all__ = ["fma", "load_wide", "store_wide", "vectors"]
