"""Coverage of intervals of 95 %: level effects and curves of models of tables whose truth is known.

    python bench/standard_errors.py [--draws 1000]

Every table is a wave, a line, and five levels, plus noise. The truth of an effect is that of the known sum, its mean
over the rows fitted taken out; an interval is the effect plus and minus 1.96 of its standard errors, that of a curve at
the knots nearest to three points. The exit status is 1 unless every level and point is covered 92 to 98 % of the time,
in the first 200 draws too.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import creases
from record import note, note_table

TOWNS = {"A": 0.0, "B": 0.5, "C": -0.4, "D": 1.0, "E": -0.8}
SHARES = (0.4, 0.25, 0.2, 0.1, 0.05)

#: Draws that are told apart from all.
FIRST = 200

#: By column, what it adds to the target, and three points.
CURVES: dict[str, tuple[Callable[[Any], Any], tuple[float, float, float]]] = {
    "x": (lambda x: 1.2 * np.sin(x / 2), (2.0, 5.0, 8.0)),
    "z": (lambda z: 0.3 * z, (-2.0, 0.0, 2.0)),
}


def draw_table(seed: int) -> pd.DataFrame:
    """Return rows of a known sum: a wave, a line, and five towns, the rarest of which has one row of twenty."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.uniform(0, 10, 400), "z": rng.normal(size=400)})
    frame["town"] = rng.choice(list(TOWNS), 400, p=SHARES)
    effects = sum(effect(frame[name]) for name, (effect, _) in CURVES.items()) + frame["town"].map(TOWNS)
    return frame.assign(y=effects + rng.normal(0, 0.5, 400))


def deviations(seed: int) -> dict[str, float]:
    """Return by how many standard errors each effect is off: levels, and curves at their knots nearest to points."""
    model = creases.fit_table(draw_table(seed), "y", seed=0)
    assert model.data is not None
    used = model.data.fitted_rows
    names, X = list(model.schema.features), model.data.rows.X[used]
    weight = model.data.rows.weight[used]
    result = {}
    for name, (effect, points) in CURVES.items():
        curve, mean = model.curves[name], np.average(effect(X[:, names.index(name)]), weights=weight)
        for point in points:
            k = int(np.abs(curve.knots - point).argmin())
            off = curve.values[k, 0] - (effect(curve.knots[k]) - mean)
            result[f"{name} near {point:g}"] = off / curve.errors[k, 0]
    shares = {town: np.average(X[:, names.index(f"town={town}")], weights=weight) for town in TOWNS}
    mean = sum(shares[town] * value for town, value in TOWNS.items())
    for town, value in TOWNS.items():
        curve = model.curves[f"town={town}"]
        result[town] = (curve.values[1, 0] - (value - mean)) / curve.errors[1, 0]
    return result


def main() -> None:
    """Draw tables, and print the share of intervals that hold the truth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore")
    is_covered = pd.DataFrame([deviations(seed) for seed in range(draws)]).abs() <= 1.959964
    counts = [min(FIRST, draws), draws]
    shares = pd.DataFrame({n: is_covered[:n].mean() for n in counts})
    rows = [[name, *(f"{100 * share:.1f} %" for share in row)] for name, *row in shares.itertuples()]
    table = ["effect", *(f"covered in {n:,} draws" for n in shares)]
    for row in [table, *rows]:
        print("".join(f"{cell:<26}" for cell in row).rstrip())
    note_table("coverage", table, rows)
    note("least", f"{100 * shares.to_numpy().min():.1f} %")
    note("most", f"{100 * shares.to_numpy().max():.1f} %")
    if not ((shares >= 0.92) & (shares <= 0.98)).all(axis=None):
        sys.exit(1)


if __name__ == "__main__":
    main()
