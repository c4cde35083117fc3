"""Options of configurations, each declared once: its default, what it is, and how the command line writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from inspect import signature
from textwrap import fill
from typing import Any

from creases.errors import InputError


@dataclass(frozen=True)
class Option:
    """What is said of an option, and how the command line writes it."""

    help: str  #: a first line, which is all that the command line says, and details
    metavar: str = ""
    flag: str = ""  #: if it is not called as in Python
    panel: str = "Data"  #: of the help
    choices: tuple[str, ...] = ()
    type: Any = str  #: of a word; a list where the option may be repeated; None for an option that commands lack
    read: Callable[[Any, str], Any] = lambda words, name: words  #: the value, by words and the name of the option
    write: Callable[[Any], list[str]] = lambda value: [  #: the words, one for each time it is given
        ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    ]


def option(default: Any, help: str, metavar: str = "", **how: Any) -> Any:
    """Return a field of a configuration, with an :class:`Option`."""
    is_mapping, about = default == {}, {"option": Option(help, metavar, **how)}
    return field(default_factory=dict, metadata=about) if is_mapping else field(default=default, metadata=about)


def options_of(config: type[Any]) -> dict[str, Option]:
    """Return the options of a configuration by name."""
    return {entry.name: entry.metadata["option"] for entry in fields(config) if "option" in entry.metadata}


def documents(*configs: type[Any]) -> Callable[[Any], Any]:
    """Return a decorator: ``{options}`` in a docstring becomes what a configuration says of the parameters."""

    def decorate(target: Any) -> Any:
        options = {name: each for config in configs or (target,) for name, each in options_of(config).items()}
        indent: Any = {"width": 120, "initial_indent": " " * 8, "subsequent_indent": " " * 8}
        names = [name for name in signature(target).parameters if name in options]
        text = "\n".join(f"    {name}\n{fill(options[name].help, **indent)}" for name in names)
        target.__doc__ = target.__doc__.replace("    {options}", text)
        return target

    return decorate


def _read_number(text: str, _: str) -> str | float:
    """Return a number; a text that is none as it is."""
    try:
        return float(text)
    except ValueError:
        return text


def _read_weights(text: str, name: str) -> str | dict[str, float]:
    """Return weights of classes by their names, or the name of a rule."""
    try:
        pairs = [part.rpartition("=") for part in text.split(",")]
        return {label.strip(): float(value) for label, _, value in pairs} if "=" in text else text
    except ValueError:
        raise InputError(name, "be balanced, or weights such as yes=5,no=1", repr(text)) from None


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The options of every model of a table: which rows are held out, and how classes are decided."""

    test_fraction: float = option(0.2, "Fraction of rows held out for testing.", "F", type=float)
    class_weight: str | Mapping[str, float] | None = option(
        None,
        "Class weights: balanced (the same total weight for every class), or for each class, such as yes=5,no=1.\n"
        'In Python a mapping, {"yes": 5.0}; classes that are not named have weight 1.',
        "W",
        read=_read_weights,
        write=lambda value: [
            value if isinstance(value, str) else ",".join(f"{name}={weight:g}" for name, weight in value.items())
        ],
    )
    threshold: float | str = option(
        0.5,
        "Two classes: predict the second above this probability; or choose it to maximize f1, balanced_accuracy or "
        "accuracy.\nThen it is the one that maximizes this score on held-out rows.",
        "P",
        read=_read_number,
    )
    seed: int = option(0, "Random seed of the split and of what follows.", "N", panel="Model", type=int)

    def check(self) -> None:
        """Refuse values that options cannot have."""
        from creases._validation import check_number  # imports numpy

        check_number(self.test_fraction, "test_fraction", least=0, below=1)
        weights, threshold = self.class_weight, self.threshold
        if not isinstance(weights, Mapping | None) and not (isinstance(weights, str) and weights == "balanced"):
            raise InputError("class_weight", "be None, 'balanced' or a dictionary of classes to weights", repr(weights))
        for name, weight in weights.items() if isinstance(weights, Mapping) else ():
            check_number(weight, f"class_weight[{name!r}]", above=0)
        if not isinstance(threshold, str):
            check_number(threshold, "threshold", above=0, below=1)
        elif threshold not in (scores := ("f1", "balanced_accuracy", "accuracy")):
            expected = f"be {', '.join(map(repr, scores))}, or a number between 0 and 1"
            raise InputError("threshold", expected, repr(threshold))
