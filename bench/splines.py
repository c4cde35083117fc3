"""The optimal piecewise-linear fit beside pwlf (pip install pwlf) and gradient descent: errors and times, in one run.

    OMP_NUM_THREADS=1 python bench/splines.py

20 random targets of five kinds, 40 to 100 data, 3 to 8 pieces. pwlf searches knots by differential evolution, with its
own defaults. Gradient descent is 50 restarts of Adam on breakpoints and jumps, as one batch, the best one refitted.
Times are processor times of one call (a busy machine does not lengthen them); ours after one call to load the kernels.
Errors are relative to the least of the three; "bound" is the lower bound on all of them, "proved" whether a search has
shown that no fit is better. ``--fast`` leaves gradient descent out.
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
from record import note


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
    arguments.add_argument("--fast", action="store_true")
    given = arguments.parse_args()
    peer = importlib.util.find_spec("pwlf") is not None
    peers = ("creases", "pwlf", "descent")
    table = Table("target", "N", "pieces", *peers, "bound", "proved", *(f"{name} s" for name in peers))
    splines.compile_kernels(lambda: None)
    times = []
    worse, compared, proved = 0, 0, 0
    for curve in random_curves(given.targets, seed=given.seed):
        fit, ours = timed(lambda curve=curve: splines.optimal_fit(curve.x, curve.y, curve.pieces))  # type: ignore[misc]
        theirs, seconds = timed(lambda curve=curve: pwlf_error(curve)) if peer else (np.nan, np.nan)  # type: ignore[misc]
        losses, slow = np.array([np.nan]), np.nan
        if not given.fast:
            losses, slow = timed(lambda curve=curve: descent(curve, given.restarts, 3000))  # type: ignore[misc]
        errors = np.array([fit.sse, theirs, losses.min(), fit.lower_bound])
        least = np.nanmin(errors[:3])
        compared += bool(np.isfinite(errors[1:3]).any())
        worse += not fit.sse <= least * (1 + 1e-9)  # so is a fit without a number
        proved += fit.is_optimal
        times.append((ours, seconds, slow))
        shown = [*(f"{error / least - 1:+.1e}" for error in errors), "yes" if fit.is_optimal else "no"]
        table.add_row(
            curve.kind, str(len(curve.x)), str(curve.pieces), *shown, *(f"{t:.3f}" for t in (ours, seconds, slow))
        )
    totals = np.sum(times, axis=0)
    table.add_row("all", "", "", "", "", "", "", str(proved), *(f"{t:.2f}" for t in totals))
    console = Console(width=120)
    console.print(table)
    console.print(f"creases worse than pwlf or descent on {worse} of {compared} targets where these ran")
    note("creases", f"{totals[0]:.2f} s")
    if peer:
        ratios = np.array(times)[:, 1] / np.array(times)[:, 0]
        note("pwlf", f"{totals[1]:.0f} s")
        for name, value in {"least": ratios.min(), "most": ratios.max(), "median": np.median(ratios)}.items():
            note(f"ratio_{name}", f"{value:.0f}")
        console.print(
            f"processor time of pwlf over that of creases: {totals[1] / totals[0]:.0f} in all; by target "
            f"{ratios.min():.0f} to {ratios.max():.0f}, median {np.median(ratios):.0f}"
        )
    else:
        console.print("pwlf is not installed; pip install pwlf")


if __name__ == "__main__":
    main()
