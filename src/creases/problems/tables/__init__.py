"""Tables: ``read_table`` and ``parse_table`` make a problem of one, with the kind of every column detected.

The problem's ``encoding`` (a ``TableEncoding``) tells the kinds, what was left out and where each ``Feature`` comes
from, encodes new rows (``EncodedRows``), and is stored as JSON. ``read_columns`` only reads a file.
"""

from creases.problems.tables._column_encoding import ColumnEncoding
from creases.problems.tables._columns import Column
from creases.problems.tables._encoding import EncodedRows, Feature, TableEncoding, number_encoding
from creases.problems.tables._files import read_columns
from creases.problems.tables._table import parse_table, read_table

__all__ = [
    "Column",
    "ColumnEncoding",
    "EncodedRows",
    "Feature",
    "TableEncoding",
    "number_encoding",
    "parse_table",
    "read_columns",
    "read_table",
]
