"""How far rows are from the nearest input with another decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from creases._typing import Floats

if TYPE_CHECKING:
    from creases.network import Network


def boundary_distances(
    net: Network, X: Floats, *, threshold: float, spread: Floats, budget: float, **where: Any
) -> dict[str, list[Any]]:
    """Return the distances of encoded rows X (n, d), in units of ``spread`` (d,), as columns of a table.

    ``threshold`` is the probability above which a network of two classes decides for the second, ``budget`` the time
    for each row, in seconds; ``where`` has the engine, n_jobs and address of :func:`creases.certify.margins`.
    """
    from creases.certify import margins
    from creases.tables._fit.threshold import shift_decision

    names = ("boundary distance", "boundary distance at least", "distance proved")
    if not len(X):
        return {name: [] for name in names}
    safe = margins(shift_decision(net, threshold), X, weights=1 / spread, budget=budget, **where)
    proved = ["yes" if proved else "no" for proved in safe.proved]
    return dict(zip(names, (safe.distance.tolist(), safe.lower_bound.tolist(), proved), strict=True))
