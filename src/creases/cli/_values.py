"""Values of options that several commands have, and how they are parsed."""

from __future__ import annotations

from enum import StrEnum

from creases.cli._arguments import parse_numbers
from creases.errors import InputError


class Engine(StrEnum):
    """Where independent tasks run."""

    local = "local"
    serial = "serial"
    ray = "ray"


def split_names(values: list[str] | None) -> tuple[str, ...]:
    """Return the names of columns, in options that may be repeated and may each hold several, with commas between."""
    return tuple(name.strip() for value in values or () for name in value.split(",") if name.strip())


def parse_budget(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def parse_widths(text: str) -> tuple[int, ...]:
    numbers = parse_numbers(text, "hidden")
    if (numbers != numbers.round()).any() or (numbers < 1).any():
        raise InputError("hidden", "be auto, or positive widths such as 2 or 4,4", repr(text))
    return tuple(int(number) for number in numbers)


def parse_class_weight(text: str | None) -> str | dict[str, float] | None:
    if text is None or "=" not in text:
        return text
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        raise InputError("class_weight", "be balanced, or weights such as yes=5,no=1", repr(text)) from None


def parse_shapes(values: list[str] | None) -> dict[str, str]:
    """Return the shapes of columns by name; a name may hold an equals sign."""
    return _parse_pairs(values, "shape", "be a column and a shape such as age=rising")


def parse_kinds(values: list[str] | None) -> dict[str, str]:
    """Return the kinds of columns by name; a name may hold an equals sign."""
    return _parse_pairs(values, "kinds", "be a column and a kind such as when=category")


def parse_codes(values: list[str] | None) -> dict[str, list[float]]:
    """Return numbers that are levels of their own by column."""
    codes: dict[str, list[float]] = {}
    for text in values or ():
        name, _, value = text.rpartition("=")
        try:
            codes.setdefault(name.strip(), []).append(float(value))
        except ValueError:
            raise InputError("codes", "be a column and a number such as income=-999", repr(text)) from None
    return codes


def _parse_pairs(values: list[str] | None, param: str, expected: str) -> dict[str, str]:
    pairs = {}
    for text in values or ():
        name, separator, value = text.rpartition("=")
        if not separator:
            raise InputError(param, expected, repr(text))
        pairs[name.strip()] = value.strip()
    return pairs


def parse_number_or_name(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text
