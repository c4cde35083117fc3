"""The errors creases raises: each says what was given, what was expected and what to do."""

from __future__ import annotations


class CreasesError(Exception):
    """Base of every error that creases raises on purpose."""


class InputError(CreasesError, ValueError):
    """An argument is wrong; the message names it, what was given and what to do."""


class ReadError(CreasesError):
    """A model cannot be read as a continuous piecewise-linear function.

    The message names the place in the model, the operation, and what to do.
    """


class FileError(CreasesError):
    """A file is missing, damaged or not what its name says."""
