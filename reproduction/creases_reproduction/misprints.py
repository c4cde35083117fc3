"""Misprints of the sources: what is printed, what is right, and the test that shows it."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from creases_reproduction.claim import FAMILIES


class Misprint(NamedTuple):
    """A printed statement or number that is wrong."""

    id: str  #: "splines/theorem-4": family, and what it is about
    place: str  #: where in the source
    printed: str
    right: str
    why: str  #: what shows it, in a sentence; "" where nothing needs to be added
    test: str  #: "reproduction/tests/theory/test_lonely.py::test_formulas_agree_with_simulation"
    #: Whether it is a matter of one character, which the transcription may have lost or changed.
    character: bool = False


def list_misprints(family: str | None = None) -> list[Misprint]:
    """Return all misprints, family by family, or those of one family."""
    return [
        misprint
        for name in FAMILIES
        if family in (None, name)
        for misprint in import_module(f"creases_reproduction.{name}.misprints").MISPRINTS
    ]
