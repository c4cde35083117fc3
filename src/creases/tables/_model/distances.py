"""How far rows are from the nearest input with another decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from creases._typing import Floats

if TYPE_CHECKING:
    from creases.network import Network


def boundary_distances(
    net: Network, X: Floats, *, threshold: float, spread: Floats, budget: float
) -> dict[str, list[Any]]:
    """Return the distances of encoded rows X (n, d), in units of ``spread`` (d,), as columns of a table.

    ``threshold`` is the probability above which a network of two classes decides for the second, ``budget`` the time
    for each row, in seconds.
    """
    from creases.certify import nearest
    from creases.tables._fit.threshold import shift_decision

    net = shift_decision(net, threshold)
    changes = [nearest(net, x, weights=1 / spread, budget=budget) for x in X]
    return {
        "boundary distance": [change.distance for change in changes],
        "boundary distance at least": [change.lower_bound for change in changes],
        "distance proved": ["yes" if change.proved else "no" for change in changes],
    }
