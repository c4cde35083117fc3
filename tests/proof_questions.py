"""Questions of every kind to creases about a case, each verdict judged: true, false or unknown.

A verdict is false if it contradicts rational arithmetic by any amount; ``error`` says by how much, relative to the size
of the quantity, so that rounding can be told from a wrong proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

import proof_changes as changes
import proof_properties as properties
from proof_judge import Judge, Record

KINDS: dict[str, Callable[[Judge, np.random.Generator], Iterator[Record]]] = {
    "range outputs": properties.judge_outputs,
    "range differences": properties.judge_differences,
    "range coefficients": properties.judge_coefficients,
    "bounds": properties.judge_bounds,
    "holds outputs": properties.judge_holds_outputs,
    "holds never": properties.judge_never,
    "holds always": properties.judge_always,
    "verify": properties.judge_verify,
    "monotone": properties.judge_monotone,
    "nearest l1": lambda asked, rng: changes.judge_nearest(asked, rng, "l1"),
    "nearest l2": lambda asked, rng: changes.judge_nearest(asked, rng, "l2"),
    "nearest linf": lambda asked, rng: changes.judge_nearest(asked, rng, "linf"),
    "nearest integer": changes.judge_integer,
    "nearest unbounded": changes.judge_unbounded,
    "largest difference": changes.judge_largest_difference,
    "decisions": changes.judge_compare_decisions,
}


def judge(asked: Judge, kind: str) -> Iterator[Record]:
    """Ask the questions of a kind and yield the verdicts; raises TooManyRegionsError if a case is too large."""
    yield from KINDS[kind](asked, np.random.default_rng([asked.case.seed, list(KINDS).index(kind)]))
