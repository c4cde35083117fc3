"""Ask every question of random networks whose weights and boxes are of any scale from 1e-320 to 1e300.

    python bench/scales.py [--chains 2000] [--networks 500] [--seed 0] [--seconds S] [--budget 0.3]

Chains of single units on one input, and small networks; what is true is found in fractions along segments through the
box. Prints every answer that is false, every own proof that is refused and every exception, and how many cases were
asked. The exit status is 1 if there is any. A case is asked again by ``--chains 0 --networks 1 --seed SEED``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from extreme_scales import chain_case, judge, network_case
from record import note


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=2000)
    parser.add_argument("--networks", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the first case of each kind")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no case after so long")
    parser.add_argument("--budget", type=float, default=0.3, help="seconds for each question")
    options = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)  # sums that overflow are what is asked about
    end, counts, problems = time.monotonic() + options.seconds, Counter[str](), 0
    for kind, make, count in (("chains", chain_case, options.chains), ("networks", network_case, options.networks)):
        for seed in range(options.seed, options.seed + count):
            if time.monotonic() > end:
                break
            counts[kind] += 1
            for question, problem in judge(make(seed), seed, options.budget):
                problems += 1
                print(f"{kind} {seed}, {question}: {problem}", flush=True)
    for kind in ("chains", "networks"):
        note(kind, f"{counts[kind]:,}")
    note("problems", str(problems))
    print(f"{dict(counts)}, {problems} problems; {time.process_time():.0f} CPU-seconds")
    return int(problems > 0)


if __name__ == "__main__" and main():
    raise SystemExit(1)
