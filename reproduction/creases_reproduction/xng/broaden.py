"""Slide 29 of XNG, Hidden Layer Broaden: the rule as printed beside random growth and other rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from creases_reproduction.claim import Claim, Judgement, Numbers, Picture, Row
from creases_reproduction.experiment import Scale
from creases_reproduction.xng.growth_experiment import NEARS, PROBLEMS
from creases_reproduction.xng.method_comparison import (
    FULL_METHODS,
    NETWORKS,
    UNKNOWN_SUCCESS,
    is_more_often,
    method_rows,
    stored_rows,
)

METHODS = ("random 2-3-2", "A random", "A gradmax", "A slide-29", "A foot-aligned", "A fold")


def measure_rules(scale: Scale) -> Numbers:
    """Measure mean losses, and rates of success at several limits, by problem and method."""
    if scale == "full":
        return _by_problem(method_rows(PROBLEMS, FULL_METHODS, NETWORKS))
    return _by_problem(method_rows(PROBLEMS[:1], ("random 2-3-2", "A random", "A slide-29"), 8))


def rules_from_table() -> tuple[Numbers, dict[str, str]]:
    """Return the stored losses and rates, and how they were made."""
    rows, about = stored_rows()
    return _by_problem(rows), about


def _by_problem(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    results: dict[str, dict[str, Any]] = {row["problem"]: {} for row in rows}
    for row in rows:
        if row["method"] in METHODS:
            results[row["problem"]][row["method"]] = row
    return {"networks": rows[0]["networks"], "problems": results}


def judge_rules(numbers: Numbers) -> Judgement:
    """Judge by slide 36's measure: whether the rule as printed solves problems more often than random weights do."""
    problems = numbers["problems"]
    names = ("random 2-3-2", "A random", "A slide-29")
    words = "; ".join(
        f"{_title(problem)}: "
        + ", ".join(f"{name} {part[name]['rate']:.1%} (mean loss {part[name]['loss']:.3f})" for name in names)
        for problem, part in problems.items()
    )
    more, less = ([_title(n) for n, part in problems.items() if _differs(part, "random 2-3-2", way)] for way in (1, -1))
    over_chance, under_chance = (
        [_title(n) for n, part in problems.items() if _differs(part, "A random", way)] for way in (1, -1)
    )
    words = (
        f"Solved of {numbers['networks']} networks, {words}. More often than random weights on {_list(more)}, less "
        "often "
        f"on {_list(less)}. Our control, growth by a random unit, which the slides do not have: more often on "
        f"{_list(over_chance)}, less often on {_list(under_chance)}. {_describe_order(numbers)}"
    )
    return Judgement("agrees" if len(more) == len(problems) else "disagrees", words)


def _differs(part: Any, other: str, way: int) -> bool:
    """Whether the rule as printed solves a problem more often than another method (``way`` 1) or less often (-1)."""
    pair = (part["A slide-29"], part[other])
    return is_more_often(*pair[::way])


def _title(problem: str) -> str:
    return problem.replace("_", " ")


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _describe_order(numbers: Numbers) -> str:
    """Return which method succeeds most often at each limit, on the first problem."""
    problem, part = next(iter(numbers["problems"].items()))
    best = {str(near): max(part, key=lambda name: part[name]["rates"][str(near)]) for near in NEARS}
    each = ", ".join(f"{name} ({part[name]['rates'][near]:.0%}) within {near}" for near, name in best.items())
    return f"Most often solved on {_title(problem)}: {each} of the way to the linear model's loss."


def picture_rules(numbers: Numbers) -> Picture:
    """Picture mean losses with twice their standard errors."""
    rows = [
        Row(
            f"{problem.replace('_', ' ')}, {name}",
            None,
            item["loss"],
            item["loss"] - 1.96 * item["error"],
            item["loss"] + 1.96 * item["error"],
        )
        for problem, part in numbers["problems"].items()
        for name, item in part.items()
    ]
    return Picture(rows=rows, x="mean loss after training")


CLAIMS = [
    Claim(
        "xng/slide-29",
        "slide 29, Hidden Layer Broaden",
        (
            "A new unit with b = 0 and w . x_f = 0, by GradMax and aligned with x_t - x_f: by the measure of slide 36, "
            "networks grown by it solve their problem more often than networks from random weights."
        ),
        printed="no number; slide 36 counts 65 of 1000 from random weights and 360 of 1000 grown",
        measure=measure_rules,
        judge=judge_rules,
        incomparable=UNKNOWN_SUCCESS,
        picture=picture_rules,
        full="half an hour of a core",
        from_table=rules_from_table,
        misprints=("xng/slide-29-rows", "xng/slide-29-zero"),
    ),
]
