"""What judges and pictures of the dissertation's claims (source 002) share.

Numbers printed beside measured ones are kept as a list ``"rows"`` of mappings with the fields of
:class:`creases_reproduction.claim.Row`; a theorem tried at many cases as numbers ``"cases"`` and ``"failed"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from creases_reproduction import measured
from creases_reproduction.claim import Claim, Judged, Numbers, Picture, Row


def row(
    what: str, printed: float | None, measured: float, low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    """A printed number beside the measured one, with its 95 % interval where there is a spread."""
    return Row(what, printed, float(measured), low, high)._asdict()


def rows(numbers: Numbers) -> list[Row]:
    """The rows of a claim's numbers."""
    return [Row(**one) for one in numbers["rows"]]


def inside(one: Row, slack: float = 0.0) -> bool:
    """Whether the printed number lies in the measured interval, or within ``slack`` of the number without one."""
    if one.printed is None or one.measured is None:
        return False
    low, high = (one.measured if end is None else end for end in (one.low, one.high))
    return low - slack <= one.printed <= high + slack


def told(one: Row, form: str = ".3g") -> str:
    """A row in words: "0.3 (0.28 to 0.32), printed 0.31"."""
    words = f"{one.what}: {one.measured:{form}}"
    if one.low is not None and one.high is not None:
        words += f" ({one.low:{form}} to {one.high:{form}})"
    return words if one.printed is None else f"{words}, printed {one.printed:{form}}"


def rows_picture(x: str, *, log: bool = False) -> Callable[[Numbers], Picture]:
    """A picture of printed numbers beside measured ones; ``x`` says what they are."""
    return lambda numbers: Picture(rows=rows(numbers), x=x, log=log)


def theorem(cases: str, *, also: str = "") -> Callable[[Numbers], Judged]:
    """A judge: it agrees where it holds at every case tried. ``cases`` says what the cases are."""

    def judge(numbers: Numbers) -> Judged:
        tried, failed = numbers["cases"], numbers["failed"]
        if not tried:
            return Judged("disagrees", f"no {cases} were tried")
        if failed:
            return Judged("disagrees", f"it fails at {failed} of {tried} {cases}")
        return Judged("agrees", f"it holds at all {tried} {cases}{also}")

    return judge


def formula(slack: float) -> Callable[[Numbers], Judged]:
    """A judge of rows without spread: every printed number is the measured one, up to ``slack``."""

    def judge(numbers: Numbers) -> Judged:
        found = rows(numbers)
        off = [one for one in found if not inside(one, slack)]
        if off:
            return Judged("disagrees", "; ".join(told(one, ".4g") for one in off))
        return Judged("agrees", f"all {len(found)} numbers are as printed")

    return judge


def drawing(id: str, place: str, says: str) -> Claim:
    """A figure that claims nothing that could be computed."""
    return Claim(id, place, says, "", None, cannot="a drawing: it claims no number and no fact beyond the text's")


def failed(results: Iterable[bool]) -> Mapping[str, int]:
    """How many cases were tried, and at how many a theorem failed: True is a case at which it holds."""
    found = list(results)
    return {"cases": len(found), "failed": len(found) - sum(map(bool, found))}


def kept_table(
    name: str, numbers: Callable[[pd.DataFrame], Numbers]
) -> Callable[[], tuple[Numbers, Mapping[str, str]]]:
    """How a claim's numbers are had from the table that ``measured.stored`` gives by a name."""

    def kept() -> tuple[Numbers, Mapping[str, str]]:
        found = measured.stored(name)
        return numbers(found.table), found.about

    return kept
