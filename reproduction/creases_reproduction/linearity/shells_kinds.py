"""Which polytopes networks of n + 1 units end with around a ball (the dissertation, sections 4.1 and 4.2.2).

The networks are trained as for Fig. 4.8, and the set of the ball's class of each is decomposed exactly
(:func:`creases.regions.decision_polytopes`): hyperoctahedron, expanded simplex, one of the polytopes between them that
the dissertation does not see, another bounded polytope, unbounded, or not around the middle at all.
``stored_table("shells_kinds")`` is the result of::

    python -m creases_reproduction.linearity.shells_kinds --scale full
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np
import pandas as pd

import creases
from creases import lab
from creases.regions import DecisionPolytope, decision_polytopes
from creases_reproduction.experiment import ResultTable, Scale, check_scale, derive_seed, run_as_program
from creases_reproduction.linearity.enclosures import enclosure, face_counts
from creases_reproduction.linearity.shells_dimensions import LEAKS, train_on_shells
from creases_reproduction.statistics import add_rates

SAMPLES = 1000

Kind = Literal["hyperoctahedron", "between", "expanded simplex", "other", "unbounded", "none"]
KINDS: tuple[Kind, ...] = ("hyperoctahedron", "between", "expanded simplex", "other", "unbounded", "none")


def shells_kinds(scale: Scale = "quick", *, seed: int = 0) -> ResultTable:
    """Train networks and tell what each encloses.

    Parameters
    ----------
    scale
        "full" has 100 networks of 2, 3 and 4 dimensions each, trained for 1000 epochs over 1000 samples; "quick" 8 of
        2 and 3 dimensions, 100 epochs.

    Returns
    -------
    Measured
        A row for each dimension, leak and kind: trials, successes (networks that end with it), rate, low, high;
        ``right``, their mean share of new samples classified right; ``ratio``, the median of outer over inner radius
        about the middle, beside ``regular``, that of the regular shape; ``f_vectors``, how often each set of counts of
        faces.
    """
    check_scale(scale)
    dimensions, trials, epochs = ((2, 3, 4), 100, 1000) if scale == "full" else ((2, 3), 8, 100)
    rows = []
    for n in dimensions:
        for leak in LEAKS:
            key = derive_seed(seed, n, round(1000 * leak), 1)
            batch, right = train_on_shells(n, leak, trials, SAMPLES, epochs, seed=key)
            results = [enclosed(batch, k) for k in range(trials)]
            kinds = np.array([kind_of(polytope) for polytope in results])
            for kind in KINDS:
                part = np.flatnonzero(kinds == kind)
                bounded = [
                    polytope
                    for polytope in (results[k] for k in part)
                    if polytope is not None and polytope.extent == "bounded"
                ]
                ratios = [outer / inner for inner, outer in (polytope.radii() for polytope in bounded)]
                rows.append(
                    {
                        "dimension": n,
                        "leak": leak,
                        "kind": kind,
                        "trials": trials,
                        "successes": len(part),
                        "right": right[part].mean() if len(part) else np.nan,
                        "ratio": np.median(ratios) if ratios else np.nan,
                        "regular": _regular_ratio(kind, n),
                        "f_vectors": _counts(bounded),
                    }
                )
    return ResultTable(add_rates(pd.DataFrame(rows)), {"scale": scale, "seed": str(seed)})


def enclosed(batch: lab.Batch, k: int) -> DecisionPolytope | None:
    """Return the polytope around the origin on which network k decides for the ball.

    None where it does not decide so.
    """
    net = creases.read(batch.module(k), (batch.widths[0],))
    return next((polytope for polytope in decision_polytopes(net, inside=1) if polytope.radii()[0] > 0), None)


def kind_of(found: DecisionPolytope | None) -> Kind:
    """Return its kind, "between" by its number of vertices and facets.

    One so long that no box holds it is unbounded.
    """
    if found is None:
        return "none"
    if found.kind == "other" and found.convex:
        n = found.vertices.shape[1]
        counts = len(found.vertices), len(found.normals)
        return "between" if counts in [face_counts(n, small) for small in range(2, n + 1)] else "other"
    return "unbounded" if found.kind == "cut off" else found.kind


def _regular_ratio(kind: Kind, n: int) -> float:
    """Return outer over inner radius of the regular shape of a kind, NaN where there is none."""
    return enclosure(kind, n).ratio if kind == "hyperoctahedron" or kind == "expanded simplex" else np.nan


def _counts(polytopes: list[DecisionPolytope]) -> str:
    """Return how often each f-vector, the most frequent first; that of one that is not convex is unknown."""
    names = ("-".join(map(str, item.f_vector)) if item.f_vector else "not convex" for item in polytopes)
    return "; ".join(f"{name}: {count}" for name, count in Counter(names).most_common())


if __name__ == "__main__":
    run_as_program(shells_kinds, "linearity.shells_kinds", __doc__)
