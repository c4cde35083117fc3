"""The model of a table that is a grown network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.tables._model.table_model import TableModel

if TYPE_CHECKING:
    from creases.network import Network
    from creases.tables._encoding.encoding import TableEncoding
    from creases.tables._split.split import TableSplit

#: Regions, those with the most rows first, that a model lists at most.
MAX_REGIONS = 10_000


def network_model(
    net: Network,
    data: TableSplit,
    *,
    threshold: float,
    features: Sequence[str],
    classes: Sequence[Any] | None,
    targets: Sequence[str],
    encoding: TableEncoding | None,
    run: Any = None,
    labels: NDArray[Any] | None = None,
) -> TableModel:
    """Return a network for rows in the data's own units as the model of the table."""
    X = data.rows.X[np.concatenate(data.parts[:2])]
    weight = data.rows.count[np.concatenate(data.parts[:2])]
    return TableModel(
        function=net,
        features=tuple(features),
        classes=None if classes is None else tuple(map(str, classes)),
        targets=tuple(targets),
        encoding=encoding,
        labels=labels,
        center=data.scaling.center,
        spread=data.scaling.spread,
        ranges=np.stack([X.min(axis=0), X.max(axis=0)], axis=1),
        threshold=threshold,
        regions=_count_regions(net, X, weight),
        data=data,
        run=run,
    )


def _count_regions(net: Network, X: Floats, count: Any) -> dict[str, int]:
    """Return how many rows each region holds, by its pattern, the most first."""
    patterns, which = np.unique(net.pattern(X), axis=0, return_inverse=True)
    counts = np.bincount(which.reshape(-1), weights=count)
    order = np.argsort(-counts, kind="stable")[:MAX_REGIONS]
    return {patterns[k].tobytes().hex(): int(counts[k]) for k in order}
