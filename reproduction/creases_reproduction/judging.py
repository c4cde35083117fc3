"""Judges that many claims share."""

from __future__ import annotations

from collections.abc import Callable

from creases_reproduction.claim import Judged, Numbers, Picture, Row


def within(limit: float, *names: str, cases: str = "cases") -> Callable[[Numbers], Judged]:
    """For theorems: each of the named numbers, a largest deviation, is at most the limit."""

    def judge(numbers: Numbers) -> Judged:
        found = {name: numbers[name] for name in names}
        told = ", ".join(f"{name} {_told(value)}" for name, value in found.items())
        count = numbers.get(cases)
        over = f" over {count} cases" if count is not None else ""
        if all(value is not None and value <= limit for value in found.values()):
            return Judged("agrees", f"Holds{over}: {told}.")
        return Judged("disagrees", f"Deviates{over}: {told}; at most {limit:g} was expected.")

    return judge


def rows_picture(rows: Callable[[Numbers], list[Row]], x: str, *, log: bool = False) -> Callable[[Numbers], Picture]:
    """A picture of printed beside measured numbers."""
    return lambda numbers: Picture(rows=rows(numbers), x=x, log=log)


def _told(value: float | None) -> str:
    return "is not finite" if value is None else f"{value:.2g}"
