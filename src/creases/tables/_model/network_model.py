"""The model of a table that is a grown network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats
from creases.tables._explain.numbering import number_regions
from creases.tables._explain.table import make_table
from creases.tables._model.table_model import TableModel

if TYPE_CHECKING:
    from creases.network import Network
    from creases.tables._encoding.encoding import TableEncoding
    from creases.tables._split.split import TableSplit

#: Regions, those with the most rows first, that a model lists at most.
MAX_REGIONS = 10_000

#: Numbers in a table up to which functions of regions are compared: beyond, they would fill the memory.
MAX_NUMBERS = 500_000


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
    regions, same = _count_regions(net, X, weight, classes)
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
        regions=regions,
        same=same,
        data=data,
        run=run,
    )


def _count_regions(
    net: Network, X: Floats, count: NDArray[Any], classes: Sequence[Any] | None
) -> tuple[dict[str, int], dict[str, str]]:
    """Return how many rows each region holds, the most first, by a pattern of it; and that of its other patterns.

    Regions with the same function are one, unless the table is large.
    """
    if X.size > MAX_NUMBERS:
        patterns, which = np.unique(net.pattern(X), axis=0, return_inverse=True)
        sums = np.bincount(which.reshape(-1), weights=count)
        return {patterns[k].tobytes().hex(): int(sums[k]) for k in np.argsort(-sums, kind="stable")[:MAX_REGIONS]}, {}
    numbers = number_regions(make_table(net, X, classes=classes))
    names = [pattern.tobytes().hex() for pattern in numbers.patterns]
    region_of = numbers.region_of_pattern
    counts = np.bincount(region_of[numbers.pattern_of], weights=count)
    order = np.argsort(-counts, kind="stable")[:MAX_REGIONS]
    lead: dict[int, str] = {}
    for name, region in zip(names, region_of.tolist(), strict=True):
        lead.setdefault(region, name)
    listed = set(order.tolist())
    same = {
        name: lead[region]
        for name, region in zip(names, region_of.tolist(), strict=True)
        if region in listed and lead[region] != name
    }
    return {lead[region]: int(counts[region]) for region in order.tolist()}, same
