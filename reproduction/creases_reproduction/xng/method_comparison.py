"""Growth methods beside each other: 1000 networks of each on four problems, for the claims on slides 8 to 36.

    python -m creases_reproduction.xng.method_comparison --out xng_growth.json

takes about an hour of one core, divided among ``--jobs`` processes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from creases._files import write_atomically
from creases_reproduction.claim import Numbers, Picture, Row
from creases_reproduction.experiment import Scale, describe_run, round_numbers
from creases_reproduction.xng.growth_experiment import PROBLEMS, SCALES, MethodResult, run_growth_experiment

FULL_METHODS = (
    "random 2-3-2",
    "A random",
    "A gradmax",
    "A tiny",
    "A slide-29",
    "A foot-aligned",
    "A fold",
    "A search",
    "B random",
    "B tiny",
    "B fold",
)

QUICK_METHODS = ("random 2-3-2", "A random", "A gradmax", "A foot-aligned", "A fold")

#: Networks of each method at quick scale.
QUICK_NETWORKS = 16


def compare_methods(
    problem: str, methods: tuple[str, ...] = FULL_METHODS, quick: tuple[str, ...] = QUICK_METHODS
) -> Callable[[Scale], Any]:
    """Return a measure of the rates of success and losses of some growth methods on one problem."""

    def measure(scale: Scale) -> dict[str, Any]:
        networks, some = (SCALES["full"], methods) if scale == "full" else (QUICK_NETWORKS, quick)
        rows = run_growth_experiment(networks=networks, problems=[problem], methods=some)
        return _by_method(map(_as_numbers, rows))

    return measure


def _as_numbers(row: MethodResult) -> dict[str, Any]:
    return {**asdict(row), "rate": row.rate}


def _by_method(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    methods = {row["method"]: row for row in rows}
    return {"networks": next(iter(methods.values()))["networks"], "methods": methods}


def rates_picture(numbers: Numbers) -> Picture:
    """Return rates of success by method."""
    results = numbers["methods"].items()
    rows = [
        Row(name, None, 100 * method["rate"], 100 * method["low"], 100 * method["high"]) for name, method in results
    ]
    return Picture(rows=rows, x="networks that solve it, %")


def describe_rates(numbers: Numbers, *names: str) -> str:
    """Return rates of success with their intervals, in words."""
    results = numbers["methods"]
    return ", ".join(
        f"{name} {results[name]['rate']:.1%} ({results[name]['low']:.1%} to {results[name]['high']:.1%})"
        for name in names
    )


def is_lower(one: Any, other: Any) -> bool:
    """Whether a mean loss is below another one by two standard errors."""
    return bool(other["loss"] - one["loss"] > 2 * (one["error"] ** 2 + other["error"] ** 2) ** 0.5)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all methods on all problems and keep the rows as JSON, with how they were made."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--networks", type=int, default=SCALES["full"], help="of each method")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    began = perf_counter()
    rows = run_growth_experiment(
        networks=options.networks, problems=PROBLEMS, methods=FULL_METHODS, n_jobs=options.jobs
    )
    flags = f"--networks {options.networks} --jobs {options.jobs} --out {options.out.name}"
    about = describe_run(f"python -m creases_reproduction.xng.method_comparison {flags}", perf_counter() - began)
    with write_atomically(options.out) as path:
        path.write_text(json.dumps({"about": about, "rows": [round_numbers(_as_numbers(row)) for row in rows]}))


if __name__ == "__main__":
    main()
