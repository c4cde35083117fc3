"""Numbers as people write them: few digits, commas between thousands, a sign where it matters."""

from __future__ import annotations

from math import floor, isfinite, log10

import numpy as np

from creases._typing import Floats

#: Numbers from here on, and below its inverse, are written with an exponent.
LARGE, SMALL = 1e12, 1e-4

#: A step by which slopes are told is at most this share of the column's range.
STEP = 0.1


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


def common_decimals(values: Floats, digits: int = 3) -> int:
    """Return the decimals with which the largest of values (n,) has so many digits: the same for all of a column.

    Examples
    --------
    >>> common_decimals(np.array([12.3456, 0.5])), common_decimals(np.array([1234.5])), common_decimals(np.zeros(2))
    (1, 0, 2)
    """
    largest = float(np.abs(values).max(initial=0.0)) * (1 + 1e-9)
    return 2 if not largest else int(np.clip(digits - 1 - floor(log10(largest)), 0, 12))


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


def round_step(low: float, high: float, *, whole: bool) -> float:
    """Return the power of ten by which to tell slopes over a range: 100 of 1,600 to 5,100; at least 1 if whole.

    Examples
    --------
    >>> round_step(1613, 5140, whole=True), round_step(3, 8, whole=True), round_step(0.1, 0.9, whole=False)
    (100.0, 1.0, 0.01)
    """
    exponent = floor(log10(STEP * (high - low) * (1 + 1e-12)))
    return 10.0 ** (max(exponent, 0) if whole else exponent)
