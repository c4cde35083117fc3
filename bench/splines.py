"""The optimal piecewise-linear fit beside pwlf (pip install pwlf) and gradient descent: errors and times, in one run.

    OMP_NUM_THREADS=1 python bench/splines.py

20 random targets of five kinds, 40 to 100 data, 3 to 8 pieces. pwlf searches knots by differential evolution, with its
own defaults. Gradient descent is 50 restarts of Adam on breakpoints and jumps, as one batch, the best one refitted.
Times are processor times of one call (a busy machine does not lengthen them); ours after one call to load the kernels.
Errors are relative to the least of the three; "bound" is that of lines not joined, which no fit can beat.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from creases import splines
from creases_reproduction.splines.optimal_fits import NoisyCurve, descent, random_curves


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = run()
    return found, time.process_time() - start


def pwlf_error(curve: NoisyCurve) -> float:
    import pwlf

    fit = pwlf.PiecewiseLinFit(curve.x, curve.y, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit.fit(curve.pieces)
    return float(fit.ssr)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--targets", type=int, default=20)
    arguments.add_argument("--restarts", type=int, default=50)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    peer = importlib.util.find_spec("pwlf") is not None
    table = Table("target", "N", "pieces", "creases", "pwlf", "descent", "bound", "creases s", "pwlf s", "descent s")
    splines.optimal_fit(np.linspace(0, 1, 9), np.linspace(0, 1, 9) ** 2, 3)
    totals = np.zeros(3)
    worse = 0
    for curve in random_curves(given.targets, seed=given.seed):
        fit, ours = timed(lambda curve=curve: splines.optimal_fit(curve.x, curve.y, curve.pieces))  # type: ignore[misc]
        theirs, seconds = timed(lambda curve=curve: pwlf_error(curve)) if peer else (np.nan, np.nan)  # type: ignore[misc]
        losses, slow = timed(lambda curve=curve: descent(curve, given.restarts, 3000))  # type: ignore[misc]
        errors = np.array([fit.sse, theirs, losses.min(), fit.lower_bound])
        least = np.nanmin(errors[:3])
        worse += bool(fit.sse > least * (1 + 1e-9))
        totals += ours, seconds, slow
        shown = [f"{error / least - 1:+.1e}" for error in errors]
        table.add_row(
            curve.kind, str(len(curve.x)), str(curve.pieces), *shown, *(f"{t:.3f}" for t in (ours, seconds, slow))
        )
    table.add_row("all", "", "", "", "", "", "", *(f"{t:.1f}" for t in totals))
    console = Console(width=120)
    console.print(table)
    console.print(f"creases worse than pwlf or descent on {worse} of {given.targets} targets")
    if not peer:
        console.print("pwlf is not installed; pip install pwlf")


if __name__ == "__main__":
    main()
