"""Judges, rows and pictures that many claims share.

A claim that compares numbers with printed ones stores them as a list ``"rows"`` of mappings with the fields of
:class:`creases_reproduction.claim.Row`; a theorem tried in many cases stores ``"cases"`` and ``"failed"``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import stored_table


def judge_deviations(limit: float, *names: str, cases: str = "cases") -> Callable[[Numbers], Judgement]:
    """Return a judge of a theorem: each of the named numbers, a largest deviation, is at most the limit."""

    def judge(numbers: Numbers) -> Judgement:
        deviations = {name: numbers[name] for name in names}
        words = ", ".join(f"{name} {_describe_deviation(value)}" for name, value in deviations.items())
        count = numbers.get(cases)
        over = f" over {count} cases" if count is not None else ""
        if all(value is not None and value <= limit for value in deviations.values()):
            return Judgement("agrees", f"Holds{over}: {words}.")
        return Judgement("disagrees", f"Deviates{over}: {words}; at most {limit:g} was expected.")

    return judge


def judge_cases(cases: str, *, also: str = "") -> Callable[[Numbers], Judgement]:
    """Return a judge of a theorem: it holds in every case tried. ``cases`` says what the cases are."""

    def judge(numbers: Numbers) -> Judgement:
        tried, failed = numbers["cases"], numbers["failed"]
        if not tried:
            return Judgement("disagrees", f"no {cases} were tried")
        if failed:
            return Judgement("disagrees", f"it fails at {failed} of {tried} {cases}")
        return Judgement("agrees", f"it holds at all {tried} {cases}{also}")

    return judge


def judge_rows(tolerance: float) -> Callable[[Numbers], Judgement]:
    """Return a judge of rows without spread: every printed number equals the measured one up to ``tolerance``."""

    def judge(numbers: Numbers) -> Judgement:
        all_rows = rows(numbers)
        off = [row for row in all_rows if not is_inside(row, tolerance)]
        if off:
            return Judgement("disagrees", "; ".join(describe_row(row, ".4g") for row in off))
        return Judgement("agrees", f"all {len(all_rows)} numbers are as printed")

    return judge


def count_failures(results: Iterable[bool]) -> Mapping[str, int]:
    """Count the cases tried and those in which a theorem failed; ``results`` says for each whether it holds."""
    outcomes = list(map(bool, results))
    return {"cases": len(outcomes), "failed": len(outcomes) - sum(outcomes)}


def row(
    what: str, printed: float | None, measured: float, low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    """Return a printed number beside the measured one as a mapping, with a 95 % interval where there is a spread."""
    return Row(what, printed, float(measured), low, high)._asdict()


def rows(numbers: Numbers) -> list[Row]:
    """Return the rows among a claim's numbers."""
    return [Row(**fields) for fields in numbers["rows"]]


def is_inside(row: Row, slack: float = 0.0) -> bool:
    """Whether the printed number lies in the measured interval, or within ``slack`` of a number without one."""
    if row.printed is None or row.measured is None:
        return False
    low, high = (row.measured if end is None else end for end in (row.low, row.high))
    return low - slack <= row.printed <= high + slack


def describe_row(row: Row, form: str = ".3g") -> str:
    """Return a row in words: "0.3 (0.28 to 0.32), printed 0.31"."""
    words = f"{row.what}: {row.measured:{form}}"
    if row.low is not None and row.high is not None:
        words += f" ({row.low:{form}} to {row.high:{form}})"
    return words if row.printed is None else f"{words}, printed {row.printed:{form}}"


def rows_picture(x: str, *, log: bool = False) -> Callable[[Numbers], Picture]:
    """Return a function that pictures printed numbers beside measured ones; ``x`` says what they are."""
    return lambda numbers: Picture(rows=rows(numbers), x=x, log=log)


def drawing(id: str, place: str, says: str) -> Claim:
    """Return the claim of a figure that states nothing that could be computed."""
    return Claim(id, place, says, "", None, cannot="a drawing: it claims no number and no fact beyond the text's")


def numbers_from_table(
    name: str, numbers: Callable[[pd.DataFrame], Numbers]
) -> Callable[[], tuple[Numbers, Mapping[str, str]]]:
    """Return a function that computes a claim's numbers from the stored table of a name, for ``Claim.from_table``."""

    def from_table() -> tuple[Numbers, Mapping[str, str]]:
        result = stored_table(name)
        return numbers(result.table), result.about

    return from_table


def _describe_deviation(value: float | None) -> str:
    return "is not finite" if value is None else f"{value:.2g}"
