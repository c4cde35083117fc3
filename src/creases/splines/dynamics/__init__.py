"""How breakpoints move while a network trains."""

from creases.splines.dynamics._breakpoints import Marks, marks
from creases.splines.dynamics._history import Frame, History

__all__ = [
    "Frame",
    "History",
    "Marks",
    "marks",
]
