"""Tables in files: ``read_table`` and ``parse_table`` make a problem of one, ``read_columns`` only reads it."""

from creases.problems.tables._files import read_columns
from creases.problems.tables._table import parse_table, read_table

__all__ = ["parse_table", "read_columns", "read_table"]
