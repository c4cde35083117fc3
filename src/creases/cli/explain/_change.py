"""The smallest change of an input that changes its decision: found, printed and as JSON."""

from __future__ import annotations

import math
from typing import Any

from creases.cli.console import out, print_table
from creases.cli.explain._subject import Subject
from creases.errors import InputError
from creases.tables import Counterfactual, counterfactual

#: Changes that are listed in a table instead of in a sentence, from this many on.
TABLE = 5


def find_change(
    subject: Subject, wishes: dict[str, str | None], norm: str, count: int, budget: float
) -> Counterfactual:
    """Return the smallest change for what the options ask."""
    if subject.regression:
        raise InputError("change", "be used with a classifier", "a regression network")
    columns = {
        name: [] if wishes[name] is None else str(wishes[name]).split(",") for name in wishes if name != "target"
    }
    return counterfactual(
        subject.net,
        subject.x.reshape(-1),
        subject.columns,
        target=_class_number(subject, wishes["target"]),
        classes=subject.classes,
        norm=norm,
        count=count,
        budget=budget,
        **{name: [_number_or_name(word.strip(), subject) for word in words] for name, words in columns.items()},
    )


def _number_or_name(word: str, subject: Subject) -> str | int:
    """Return a column as it was named; a number stands for itself unless a column has that name."""
    return int(word) if word.isdigit() and word not in subject.columns.names else word


def _class_number(subject: Subject, target: str | None) -> int | None:
    if target is None:
        return None
    names = [subject.class_name(number) for number in range(max(2, subject.net.n_out))]
    if target in names:
        return names.index(target)
    if target.isdigit() and int(target) < len(names):
        return int(target)
    raise InputError("target", f"be one of {', '.join(names)}", repr(target))


def print_change(subject: Subject, answer: Counterfactual) -> None:
    """Print the answer as sentences; a long change as a table too."""
    title = subject.title[0].upper() + subject.title[1:]
    out.print(f"{title} is classified as {answer.predicted}.", markup=False, soft_wrap=True)
    out.print(str(answer), markup=False, soft_wrap=True)
    if len(answer.changes) >= TABLE:
        out.print()
        rows: list[tuple[str, ...]] = [
            (c.name, f"{c.before:.6g}", f"{c.after:.6g}", f"{c.after - c.before:+.4g}") for c in answer.changes
        ]
        print_table("What changes", rows, ("column", "from", "to", "change"))


def as_json_data(subject: Subject, answer: Counterfactual) -> dict[str, Any]:
    """Return the answer as plain data, ready for JSON."""
    return {
        "decided": answer.predicted,
        "reached": answer.reached,
        "sentence": str(answer),
        "changes": [{"column": c.name, "from": c.before, "to": c.after} for c in answer.changes],
        "norm": answer.norm,
        "unit": subject.unit,
        "distance": finite(answer.distance),
        "lower_bound": finite(answer.lower_bound),
        "proved": answer.proved,
        "point": None if answer.point is None else answer.point.tolist(),
        "others": [as_json_data(subject, other) for other in answer.others],
    }


def finite(number: float) -> float | None:
    """Return a number, or None where it is infinite: JSON has no infinity."""
    return float(number) if math.isfinite(number) else None
