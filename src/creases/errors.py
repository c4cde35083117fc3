"""The errors creases raises: each says what was wrong, what was given and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class CreasesError(Exception):
    """Base of every error that creases raises on purpose."""


class InputError(CreasesError, ValueError):
    """An argument is wrong.

    The parts are data, so that every front end can say them in its own words: Python names the parameter, the command
    line its option, the studio its field.

    Parameters
    ----------
    param
        The parameter's name in Python; ``"data.X"`` for a part of one.
    expected
        What it must do or be, as the rest of the sentence "``param`` must ...": ``"be a positive integer"``.
    got
        What was given instead, in words or as its ``repr``: ``"-3"``, ``"shape (3, 4)"``. Empty where there is nothing
        to show.
    hint
        What to do about it. ``{0}``, ``{1}``, ... stand for ``settings``.
    settings
        Parameters with values that the hint recommends: ``("missing", "drop")`` is ``missing='drop'`` in Python and
        ``--missing drop`` at the command line.

    Examples
    --------
    >>> print(InputError("n_epochs", "be a positive integer", "-3"))
    n_epochs must be a positive integer, got -3
    >>> error = InputError("X", "have no missing values", "3", "drop those rows with {0}", [("missing", "drop")])
    >>> print(error)
    X must have no missing values, got 3; drop those rows with missing='drop'
    >>> error.render(name=lambda param: f"--{param}", setting=lambda param, value: f"--{param} {value}")
    '--X must have no missing values, got 3; drop those rows with --missing drop'
    """

    def __init__(
        self,
        param: str,
        expected: str,
        got: str = "",
        hint: str = "",
        settings: Iterable[tuple[str, object]] = (),
    ) -> None:
        self.param, self.expected, self.got, self.hint = param, expected, got, hint
        self.settings = tuple(settings)
        super().__init__(param, expected, got, hint, self.settings)

    def render(
        self,
        name: Callable[[str], str] = str,
        setting: Callable[[str, object], str] = lambda param, value: f"{param}={value!r}",
    ) -> str:
        """Return the message as one sentence.

        Parameters
        ----------
        name
            What the front end calls a parameter.
        setting
            How the front end writes a parameter with a value.
        """
        sentence = f"{name(self.param)} must {self.expected}"
        if self.got:
            sentence += f", got {self.got}"
        if self.hint:
            told = self.hint.format(*(setting(*each) for each in self.settings)) if self.settings else self.hint
            sentence += f"; {told}"
        return sentence

    def __str__(self) -> str:
        return self.render()


class RequestError(CreasesError):
    """A request cannot be carried out as things are, whatever its arguments; the message says why and what to do."""


class LimitError(CreasesError):
    """A limit ended the work before a result was complete.

    Parameters
    ----------
    limit
        The limit as it was given: ``"max_memory=1e+09"``.
    what
        What became of it: ``"reached with 12,345 regions so far"``.
    hint
        What to do about it.
    """

    def __init__(self, limit: str, what: str, hint: str) -> None:
        self.limit, self.what, self.hint = limit, what, hint
        super().__init__(limit, what, hint)

    def __str__(self) -> str:
        return f"{self.limit} {self.what}; {self.hint}"


class ReadError(CreasesError):
    """A model cannot be read as a continuous piecewise-linear function.

    The message names the place in the model, the operation, and what to do.
    """


class ColumnWarning(UserWarning):
    """A column of a table is left out, or used although it may give the target away."""


class LinkWarning(UserWarning):
    """A model ends in softmax or the like: the scores before it are read, which decide alike."""


class FileError(CreasesError):
    """A file is missing, damaged or not what its name says."""
