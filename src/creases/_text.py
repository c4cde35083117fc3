"""Words that depend on numbers, and numbers as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Letters of a name in a line.
LONGEST = 28

_BRACKETS = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")


def plural(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 row``, ``2 rows``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def is_or_are(count: int) -> str:
    """Return the verb for a count: ``1 is``, ``0 are``, ``2 are``."""
    return "is" if count == 1 else "are"


def describe_change(name: str, before: str, now: str) -> str:
    """Return how a number changed: ``the loss fell from 0.5 to 0.4``, ``the loss stayed at 0.5``."""
    if before == now:
        return f"{name} stayed at {now}"
    return f"{name} {'rose' if float(now) > float(before) else 'fell'} from {before} to {now}"


def in_one_line(problem: object, most: int = 300) -> str:
    """Return the text of an error of another library in one line, cut where it is long."""
    text = " ".join(str(problem).split())
    return text if len(text) <= most else f"{text[:most]}..."


def format_number(value: float) -> str:
    """Return a number with three digits and all digits before the point: 0.123, 12.3, 2015, 1.2e-07."""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e9 else f"{value:.3g}"


def format_signed(value: float) -> str:
    """Return a number with its sign and two digits, large ones written out.

    Examples
    --------
    >>> format_signed(8542.0), format_signed(-15.3), format_signed(0.123)
    ('+8,500', '-15', '+0.12')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:+,.0f}" if 10 <= abs(rounded) < 1e12 else f"{rounded:+.2g}"


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names without what they have in brackets, and no longer than a few words, unless two become equal.

    Examples
    --------
    >>> short_names(["Adelie Penguin (Pygoscelis adeliae)", "Gentoo penguin (Pygoscelis papua)"])
    ('Adelie Penguin', 'Gentoo penguin')
    >>> short_names(["a (1)", "a (2)"])
    ('a (1)', 'a (2)')
    """
    for shorten in (lambda name: _BRACKETS.sub("", name)[:LONGEST].strip(), lambda name: name[:LONGEST].strip()):
        short = [shorten(name) for name in names]
        if all(short) and len(set(short)) == len(short):
            return tuple(short)
    return tuple(names)
