"""Times of what is computed exactly about functions of bits, in one run.

    OMP_NUM_THREADS=1 python bench/boolean.py

Kernels are compiled, or loaded from numba's cache, before the clock starts; everything else counts. Processor times are
those of all threads together.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from creases import boolean
from record import note


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    random = np.random.default_rng(given.seed)
    fives, sixes = random.integers(0, 2**32, 10**6), random.integers(0, 2**63, 1000)
    boolean.canonical_form(3, 3), boolean.canonical_form(3, 5), boolean.swaps(3, 3)  # load the kernels

    table = Table("what", "result", "seconds", "processor seconds")

    def row(name: str, run: Callable[[], Any], told: Callable[[Any], str]) -> tuple[Any, float]:
        start, used = time.perf_counter(), time.process_time()
        found = run()
        seconds, used = time.perf_counter() - start, time.process_time() - used
        table.add_row(name, told(found), f"{seconds:.3f}", f"{used:.3f}")
        return found, used

    row("npn_classes(5)", lambda: boolean.npn_classes(5), lambda found: f"{len(found.sizes):,} classes")
    row("subset_sum_orderings(5)", lambda: boolean.subset_sum_orderings(5), lambda found: f"{len(found.orders):,}")
    found, used = row(
        f"class_swaps(5), {given.threads} threads, classes and orderings known",
        lambda: boolean.class_swaps(5, n_jobs=given.threads),
        lambda found: f"at most {found.swaps.max()}",
    )
    note("classes", f"{len(found.swaps):,}")
    note("seconds", f"{used:.1f} s")
    row("canonical_form, 10^6 functions of 5 bits", lambda: boolean.canonical_form(fives, 5), lambda _: "")
    row("canonical_form, 1000 functions of 6 bits", lambda: boolean.canonical_form(sixes, 6), lambda _: "")
    row("swaps, 100 functions of 5 bits", lambda: [boolean.swaps(f, 5).changes for f in fives[:100]], _counts)
    row("subset_sum_orderings(6)", lambda: boolean.subset_sum_orderings(6), lambda found: f"{len(found.orders):,}")
    row("swaps, the first function of 6 bits", lambda: [boolean.swaps(sixes[0], 6).changes], _counts)
    row("swaps, 20 functions of 6 bits", lambda: [boolean.swaps(f, 6).changes for f in sixes[1:21]], _counts)
    many = boolean.from_truth_table(random.integers(0, 2, 2**16))
    row("measures of a function of 16 bits", lambda: boolean.measures(many, 16), lambda _: "")
    Console().print(table)


def _counts(values: list[int]) -> str:
    return ", ".join(f"{value}: {count}" for value, count in enumerate(np.bincount(values)) if count)


if __name__ == "__main__":
    main()
