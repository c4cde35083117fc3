"""How breakpoints move while a network trains."""

from creases.splines.dynamics._history import Frame, History
from creases.splines.dynamics._marks import Marks, marks

__all__ = [
    "Frame",
    "History",
    "Marks",
    "marks",
]
