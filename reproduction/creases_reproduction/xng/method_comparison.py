"""Growth methods beside each other: 1,000 networks of each on four problems, for the claims on slides 8 to 36.

    python -m creases_reproduction.xng.method_comparison --out xng_growth.json

gives what ``results/xng_growth.json`` has: about half an hour of one core, divided among ``--jobs`` processes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

from creases._files import write_atomically
from creases_reproduction.claim import Numbers, Picture, Row
from creases_reproduction.experiment import Scale, describe_run, round_numbers
from creases_reproduction.xng.growth_experiment import PROBLEMS, SCALES, run_growth_experiment

#: Why counts of networks that succeed compare nothing with those of the slides.
UNKNOWN_SUCCESS = "The slides print neither the data, nor when a network counts as successful, nor how long it trains"

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

QUICK_METHODS = ("random 2-3-2", "A random", "A gradmax", "A slide-29", "A fold")

#: Networks of each method where all are compared, and at quick scale.
NETWORKS, QUICK_NETWORKS = 1000, 16


def compare_methods(
    problem: str, methods: tuple[str, ...], quick: tuple[str, ...], networks: int = SCALES["full"]
) -> Callable[[Scale], Any]:
    """Return a measure of the rates of success and losses of some growth methods on one problem."""

    def measure(scale: Scale) -> dict[str, Any]:
        count, some = (networks, methods) if scale == "full" else (QUICK_NETWORKS, quick)
        return _by_method(method_rows([problem], some, count))

    return measure


def comparison(
    problem: str, shown: tuple[str, ...] = FULL_METHODS, quick: tuple[str, ...] = QUICK_METHODS
) -> dict[str, Any]:
    """Return what claims on some of the methods on one problem share; at full scale all methods are run.

    The best known loss, by which success is judged, is that of all of them.
    """

    def measure(scale: Scale) -> dict[str, Any]:
        return _only(shown, compare_methods(problem, FULL_METHODS, quick, NETWORKS)(scale))

    def from_table() -> tuple[Numbers, dict[str, str]]:
        rows, about = stored_rows()
        return _only(shown, _by_method(row for row in rows if row["problem"] == problem)), about

    return {"measure": measure, "from_table": from_table, "full": "8 minutes of a core"}


def method_rows(
    problems: Sequence[str], methods: Sequence[str], networks: int, n_jobs: int = 1
) -> list[dict[str, Any]]:
    """Run methods on problems and return a row for each pair, with its rate of success."""
    rows = run_growth_experiment(networks=networks, problems=problems, methods=methods, n_jobs=n_jobs)
    return [{**asdict(row), "rate": row.rate} for row in rows]


def stored_rows() -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the stored row of every problem and method, and how they were made."""
    stored = json.loads((files("creases_reproduction") / "results" / "xng_growth.json").read_text())
    return stored["rows"], stored["about"]


def _by_method(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    methods = {row["method"]: row for row in rows}
    return {"networks": next(iter(methods.values()))["networks"], "methods": methods}


def _only(shown: Sequence[str], numbers: dict[str, Any]) -> dict[str, Any]:
    return numbers | {"methods": {name: row for name, row in numbers["methods"].items() if name in shown}}


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


def is_more_often(one: Any, other: Any) -> bool:
    """Whether a share of networks that solve their problem is above another one by two standard errors."""
    variance = sum(item["rate"] * (1 - item["rate"]) / item["networks"] for item in (one, other))
    return bool(one["rate"] - other["rate"] > 2 * variance**0.5)


def is_lower(one: Any, other: Any) -> bool:
    """Whether a mean loss is below another one by two standard errors."""
    return bool(other["loss"] - one["loss"] > 2 * (one["error"] ** 2 + other["error"] ** 2) ** 0.5)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all methods on all problems and keep the rows as JSON, with how they were made."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--networks", type=int, default=NETWORKS, help="of each method")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    began = perf_counter()
    rows = method_rows(PROBLEMS, FULL_METHODS, options.networks, options.jobs)
    flags = f"--networks {options.networks} --jobs {options.jobs} --out {options.out.name}"
    about = describe_run(f"python -m creases_reproduction.xng.method_comparison {flags}", perf_counter() - began)
    with write_atomically(options.out) as path:
        path.write_text(json.dumps({"about": about, "rows": round_numbers(rows)}))


if __name__ == "__main__":
    main()
