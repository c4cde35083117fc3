"""Functions of a few bits, the smallest problems: solved exactly."""

from creases.boolean.functions import function_of, parity, points, table_of

__all__ = ["function_of", "parity", "points", "table_of"]
