"""Ask every question of certify that takes a budget, on networks of up to 100-256-256-256-10, and time the answers.

    python bench/budgets.py [--calls 40] [--budgets 1 3 10] [--seed 0] [--question NAME ...] [--json FILE]

Networks and boxes are random, from 2-8-2 on; each question is asked so many times, with the budgets in turn. Prints
every answer that comes more than 20 % and one second after its budget, and for each question the median and the largest
excess. The exit status is 1 if an answer is late. A question that is decided before its budget ends says nothing of it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import creases
from creases.certify import holds, lipschitz, monotone, nearest, output_range
from creases.certify.differences import compare_decisions, largest_difference
from creases.certify.properties import Case, Property, verify
from record import note, note_table

#: Widths of the networks, in turn.
WIDTHS = ([2, 8, 2], [5, 50, 50, 5], [20, 64, 64, 3], [10, 128, 128, 128, 4], [100, 256, 256, 256, 10])


def make_network(seed: int) -> tuple[Any, Any, Any]:
    """Return a random network, one with other weights nearby, and a box."""
    rng, widths = np.random.default_rng(seed), WIDTHS[seed % len(WIDTHS)]
    layers = [(rng.standard_normal((m, n)) * np.sqrt(2 / n), 0.1 * rng.standard_normal(m)) for n, m in pairwise(widths)]
    near = [(W * (1 + 1e-3 * rng.standard_normal(W.shape)), b) for W, b in layers]
    middle, half = rng.standard_normal(widths[0]), rng.choice([0.01, 0.1, 1.0])
    return creases.read(layers), creases.read(near), np.stack([middle - half, middle + half], axis=1)


def ask_verify(a: Any, b: Any, box: Any, budget: float) -> Any:
    n, m = a.n_in, a.n_out
    limit = float(a(box.mean(axis=1)).reshape(-1)[0]) + float(np.ptp(box[0]))
    part = Case(box, np.zeros((0, n)), np.zeros(0), -np.eye(1, m), np.zeros((1, n)), np.array([-limit]))
    return verify(a, Property(n, m, (part,)), budget=budget, proof=True)


QUESTIONS: dict[str, Callable[..., Any]] = {
    "range of outputs": lambda a, b, box, s: output_range(a, box, budget=s),
    "range of differences": lambda a, b, box, s: output_range(a, box, quantity="differences", budget=s),
    "range of coefficients": lambda a, b, box, s: output_range(a, box, quantity="coefficients", budget=s),
    "lipschitz l1": lambda a, b, box, s: lipschitz(a, box, "l1", budget=s),
    "lipschitz l2": lambda a, b, box, s: lipschitz(a, box, "l2", budget=s),
    "holds never": lambda a, b, box, s: holds(a, box, never=1, budget=s),
    "holds always": lambda a, b, box, s: holds(a, box, always=0, budget=s),
    "verify": ask_verify,
    "monotone": lambda a, b, box, s: monotone(a, 0, box, budget=s),
    "nearest l1": lambda a, b, box, s: nearest(a, box.mean(axis=1), norm="l1", box=box, budget=s),
    "nearest l2": lambda a, b, box, s: nearest(a, box.mean(axis=1), budget=s),
    "nearest linf": lambda a, b, box, s: nearest(a, box.mean(axis=1), norm="linf", budget=s),
    "largest difference": lambda a, b, box, s: largest_difference(a, b, box, budget=s),
    "decisions": lambda a, b, box, s: compare_decisions(a, b, box, budget=s),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=40, help="of each question")
    parser.add_argument("--budgets", type=float, nargs="+", default=[1.0, 3.0, 10.0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--question", nargs="+", default=list(QUESTIONS), choices=list(QUESTIONS))
    parser.add_argument("--json", help="file for all times")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[list[str]] = []
    times: list[tuple[str, int, float, float]] = []
    late = 0
    verify(creases.read([([[1.0]], [0.0])]), Property(1, 1, ()), budget=1.0)  # what is compiled once does not count
    for question in options.question:
        excess = []
        for k in range(options.calls):
            seed, budget = options.seed + k, options.budgets[k % len(options.budgets)]
            a, b, box = make_network(seed)
            begin = time.perf_counter()
            QUESTIONS[question](a, b, box, budget)
            seconds = time.perf_counter() - begin
            excess.append(seconds - budget)
            times.append((question, seed, budget, round(seconds, 3)))
            if seconds > 1.2 * budget + 1.0:
                late += 1
                print(f"{question}, seed {seed}, budget {budget:g} s: {seconds:.2f} s", flush=True)
        rows.append([question, str(options.calls), f"{np.median(excess):.2f} s", f"{max(excess):.2f} s"])
    columns = ["question", "calls", "median excess", "largest excess"]
    for row in [columns, *rows]:
        print(" | ".join(row))
    note_table("by question", columns, rows)
    note("calls", str(len(times)))
    note("late", str(late))
    if options.json:
        Path(options.json).write_text(json.dumps(times))
    print(f"{len(times)} calls, {late} late")
    return int(late > 0)


if __name__ == "__main__" and main():
    raise SystemExit(1)
