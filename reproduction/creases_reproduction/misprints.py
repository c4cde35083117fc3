"""The misprints of the sources: what is printed, what is right, and the test that shows it."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

#: Modules of this package that have a list ``MISPRINTS``, one for each source.
MODULES = ("xng.misprints", "tiny.misprints", "linearity.misprints", "splines.misprints")


class Misprint(NamedTuple):
    """Something printed that is not right."""

    id: str  #: "003-theorem-4": source, and what it is about
    place: str  #: where in the source
    printed: str
    right: str
    why: str  #: what shows it, in a sentence; "" where nothing is to be added
    test: str  #: "tests/splines/test_lonely.py::test_formulas_agree_with_simulation"

    @property
    def source(self) -> str:
        """The source's number, "000" to "003"."""
        return self.id.partition("-")[0]


def misprints(source: str | None = None) -> list[Misprint]:
    """All misprints, or those of one source ("000" to "003")."""
    found = [one for module in MODULES for one in import_module(f"creases_reproduction.{module}").MISPRINTS]
    return [one for one in found if source in (None, one.source)]
