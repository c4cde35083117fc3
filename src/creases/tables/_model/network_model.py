"""The model of a table that is a grown network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases.tables._explain.table import Table, make_table
from creases.tables._model.table_model import TableModel

if TYPE_CHECKING:
    from creases.network import Network
    from creases.tables._encoding.encoding import TableEncoding
    from creases.tables._split.split import TableSplit

#: Regions, those with the most rows first, that a model lists at most.
MAX_REGIONS = 10_000

#: Functions whose coefficients differ by less than this, relative to the outputs, are the same.
SAME = 1e-11

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
    table = make_table(net, X, classes=classes)
    patterns, first, pattern_of = _unique_rows(net.pattern(table.to_network(X)).reshape(len(X), -1))
    region_of = _number_functions(*table.pieces(X[first]), table)
    names = [pattern.tobytes().hex() for pattern in patterns]
    counts = np.bincount(region_of[pattern_of], weights=count)
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


def _unique_rows(packed: Any) -> tuple[Any, Ints, Ints]:
    """Return the different patterns, the first row of each, and the pattern of each row."""
    if not packed.shape[1]:  # a network without units has one region
        return packed[:1], np.zeros(1, np.int64), np.zeros(len(packed), np.int64)
    unique, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return unique, first, inverse.reshape(-1)


def _number_functions(J: Floats, offset: Floats, table: Table) -> Ints:
    """Return for each piece J (k, q, d), offset (k, q) the number of its function; equal ones have the same."""
    center = table.X.mean(axis=0)
    scale = np.abs(table.X - center).max(axis=0)
    terms = np.concatenate([J * scale, (offset + J @ center)[..., None]], axis=2).reshape(len(J), -1)
    size = max(float(np.abs(table.values).max()), float(np.abs(terms).max()))
    direction = np.random.default_rng(0).normal(size=terms.shape[1])
    order = np.argsort(terms @ direction, kind="stable")  # equal functions are neighbors
    apart = np.abs(np.diff(terms[order], axis=0)).max(axis=1, initial=0) > SAME * size
    number = np.empty(len(J), np.int64)
    number[order] = np.append(0, np.cumsum(apart))
    return number
