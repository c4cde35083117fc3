"""Words that depend on numbers, and numbers as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from math import floor, isfinite, log10
from typing import Any

#: Numbers from here on, and below the second, are written with an exponent.
LARGE, SMALL = 1e12, 1e-4

#: Letters of what a result holds, in its line.
WIDEST = 200


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 row``, ``2,000 rows``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def describe_change(name: str, before: str, now: str) -> str:
    """Return how a number changed: ``the loss fell from 0.5 to 0.4``, ``the loss stayed at 0.5``."""
    if before == now:
        return f"{name} stayed at {now}"
    return f"{name} {'rose' if float(now) > float(before) else 'fell'} from {before} to {now}"


def in_one_line(problem: object, most: int = 300) -> str:
    """Return the text of an error of another library in one line, cut where it is long."""
    text = " ".join(str(problem).split())
    return text if len(text) <= most else f"{text[:most]}..."


#: Things that a message lists at most.
MAX_LISTED = 100


def list_some(texts: Sequence[str]) -> str:
    """List texts, the first hundred of many: ``a, b and 7 more``."""
    more = f" and {len(texts) - MAX_LISTED:,} more" if len(texts) > MAX_LISTED else ""
    return ", ".join(texts[:MAX_LISTED]) + more


def list_names(names: Sequence[str]) -> str:
    """List names of columns in quotes: ``'a', 'b' and 7 more``."""
    return list_some([repr(name) for name in names])


def format_number(value: float) -> str:
    """Return a number with three digits and all digits before the point: 0.123, 12.3, 2015, 1.2e-07."""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e9 else f"{value:.3g}"


def format_value(value: float, digits: int = 6, *, commas: bool = True) -> str:
    """Return a number with at most so many digits behind which nothing is lost that shows.

    Examples
    --------
    >>> format_value(2750.0), format_value(0.30000000000000004), format_value(1978, commas=False), format_value(2.5e-7)
    ('2,750', '0.3', '1978', '2.5e-07')
    >>> format_value(1234567.8, 2), format_value(-0.0)
    ('1,200,000', '0')
    """
    if not isfinite(value) or not value:
        return "0" if not value else str(value)
    if not SMALL <= abs(value) < LARGE:
        mantissa, exponent = f"{value:.{min(digits, 3) - 1}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{exponent.removeprefix('+')}"
    decimals = digits - 1 - floor(log10(abs(value)))
    rounded = round(value, decimals)
    text = f"{rounded:,.{max(decimals, 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if commas else text.replace(",", "")


def format_change(value: float, digits: int = 2) -> str:
    """Return a number with its sign and two digits: what something adds.

    Examples
    --------
    >>> format_change(1.234), format_change(-0.0567), format_change(12345.0), format_change(0.0)
    ('+1.2', '-0.057', '+12,000', '0')
    """
    text = format_value(abs(value), digits)
    return text if text == "0" else f"{'-' if value < 0 else '+'}{text}"


def format_percent(share: float) -> str:
    """Return a probability in percent; one that is not certain never reads 0 or 100.

    Examples
    --------
    >>> format_percent(0.5), format_percent(0.8123), format_percent(0.00002), format_percent(0.99999)
    ('50 %', '81.2 %', 'under 0.1 %', 'over 99.9 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{format_value(round(100 * share, 1))} %"


def common_decimals(values: Iterable[float], digits: int = 3) -> int:
    """Return the decimals with which the largest of values has so many digits: the same for all of a column.

    Examples
    --------
    >>> common_decimals([12.3456, 0.5]), common_decimals([1234.5]), common_decimals([0.0])
    (1, 0, 2)
    """
    largest = max(map(abs, values), default=0.0) * (1 + 1e-9)
    return 2 if not largest else min(max(digits - 1 - floor(log10(largest)), 0), 12)


def format_fixed(value: float, decimals: int, *, sign: bool = True) -> str:
    """Return a number with so many decimals, for a column of numbers that add up.

    Examples
    --------
    >>> format_fixed(1234.56, 1), format_fixed(-0.04, 1), format_fixed(2.0, 2, sign=False)
    ('+1,234.6', '0.0', '2.00')
    """
    text = f"{abs(value):,.{decimals}f}"
    is_zero = not text.strip("0.,")
    return text if is_zero or (value > 0 and not sign) else f"{'-' if value < 0 else '+'}{text}"


class OneLine:
    """A result whose ``repr`` is one line: its class, then what it holds; arrays and long sequences by their size.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(repr=False)
    ... class Pieces(OneLine):
    ...     count: int
    ...     names: tuple[str, ...]
    >>> Pieces(3, ("a", "b", "c", "d"))
    Pieces(count=3, names: 4)
    """

    def __repr__(self) -> str:
        held = ((each.name, getattr(self, each.name)) for each in fields(self) if each.repr)  # type: ignore[arg-type]
        parts = [text for name, value in held if (text := _summary(name, value))]
        line = ", ".join(parts)
        return f"{type(self).__name__}({line if len(line) <= WIDEST else f'{line[:WIDEST]}...'})"


def _summary(name: str, value: Any) -> str:
    """Return a field in a few letters; nothing where there is nothing."""
    if value is None:
        return ""
    if getattr(value, "ndim", 0):
        return f"{name}: {' x '.join(map(str, value.shape))}"
    if isinstance(value, bool | int | str):
        return f"{name}={value!r}"
    if isinstance(value, float) or not isinstance(value, list | tuple | dict | set | frozenset):
        return f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={in_one_line(repr(value), 60)}"
    return f"{name}={value!r}" if len(value) <= 2 and len(repr(value)) <= 30 else f"{name}: {len(value)}"
