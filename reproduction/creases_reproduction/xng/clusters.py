"""Slide 28 of XNG: the instance nearest to the centroid of the costliest cluster, and the nearest mistake."""

from __future__ import annotations

from typing import Any, NamedTuple

from creases._typing import Floats
from creases.growth.methods.folding import typical_mispredictions


class Nearest(NamedTuple):
    """Instances of the cluster with the highest mean loss, by number."""

    instance: int  #: the nearest to the centroid, as slide 28 prints it
    mistake: int  #: the nearest mis-predicted one


def nearest_to_centroid(X: Floats, state: Any, k: int, seed: int = 0) -> Nearest:
    """Return the instances nearest to the centroid of the costliest of k clusters, in a state with mistakes."""
    first = typical_mispredictions(X, state.loss, state.wrong, k=k, restarts=2, seed=seed, weight=state.weight)[0]
    nearest = first.members[((X[first.members] - first.centroid) ** 2).sum(axis=1).argmin()]
    return Nearest(int(nearest), first.index)
