"""A grown network of the rows of a table, with its history and its regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from creases._typing import Floats, Ints
from creases.errors import InputError
from creases.tables._explain.table import Table, make_table
from creases.tables._folder.folder import RunFile
from creases.tables._folder.settings import RunSettings
from creases.tables._model.row_model import RowModel
from creases.tables._model.schema import RowSchema
from creases.tables._scores.baselines import choose_threshold
from creases.tables._split.split import TableSplit

if TYPE_CHECKING:
    from creases.growth import History
    from creases.network import Network
    from creases.tables._fit.snapshots import Snapshot
    from creases.tables._words.card import PointsCard
    from creases.tables._words.terms import Terms

#: Regions, those with the most rows first, that a model lists at most.
MAX_REGIONS = 10_000

#: Numbers in a table up to which functions of regions are compared: beyond, they would fill the memory.
MAX_NUMBERS = 500_000

#: Inputs up to which a folder holds what each column adds: of images that takes minutes.
MAX_EXPLAINED = 256

#: Functions whose coefficients differ by less than this, relative to the outputs, are the same.
SAME = 1e-11


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GrownModel(RowModel):
    """A network that grew on a table: what :func:`creases.tables.grow_table` and ``creases grow`` make.

    It predicts and explains rows as :class:`creases.tables.TableModel` does, by a network with regions instead of a sum
    with curves.
    """

    _title: ClassVar[str] = "grown network"

    function: Network  #: of encoded rows, in the table's own units; with classes, it has a logit for each
    regions: Mapping[str, int] = field(default_factory=dict)  #: rows trained on, by pattern
    same: Mapping[str, str] = field(default_factory=dict)  #: other patterns of these regions
    run: SavedRun | None = None  #: how it grew; None if loaded

    @property
    def network(self) -> Network:
        """The network of encoded rows; with classes, it has a logit for each."""
        return self.function

    @property
    def history(self) -> History | None:
        """Every epoch and growth step; None if loaded."""
        return None if self.run is None else self.run.history

    def _outputs(self, X: Floats) -> Floats:
        """Return what the network puts out for encoded rows X (n, d): a logit for each class, or the targets."""
        return np.asarray(self.network(X)) if len(X) else np.zeros((0, self.network.n_out))

    def _attributions(self, X: Floats) -> Floats:
        """Return what each input adds (n, d, m) to the scores of the mean row on the way to each row of X (n, d).

        These are integrated gradients, which add up exactly.
        """
        from creases.explain import attributions

        values = np.zeros((*X.shape, len(self.schema.score_weights)))
        for i, x in enumerate(X):
            for k, weight in enumerate(self.schema.score_weights):
                values[i, :, k] = attributions(self.network, x, baseline=self.schema.center, output=weight).values
        return values

    def _layers(self) -> list[tuple[Floats, Floats]]:
        """Return weights and biases of the network's layers, with a ReLU between them."""
        module: Any = self.network.module()
        linear = [layer for layer in module if hasattr(layer, "weight")]
        return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear]

    def _describe(self) -> dict[str, Any]:
        """Return the units, the regions and what columns do, if the rows are known, as plain data for JSON."""
        plain: dict[str, Any] = {"regions": dict(self.regions), "same": dict(self.same)}
        if self._facts.effects is not None or (self.data is not None and self.network.n_in <= MAX_EXPLAINED):
            plain["effects"] = self._effects
        return {"kind": "network", "units": self.network.n_units, **plain}

    def _write_files(self, folder: Path) -> None:
        """Write the network."""
        self.network.save(folder / RunFile.MODEL)

    def card(self, *, integer: bool = False) -> PointsCard:
        """Refuse: a network of units has no points to add up."""
        hint = "creases explain RUN --row 0 explains a row, creases report RUN the whole; creases fit makes a card"
        raise InputError("row", "be given for a grown network, which has no card of points", hint=hint)

    def _terms(self) -> Terms:
        """Return what the columns add, with their names and units, for words."""
        from creases.tables._words.model_text import NetworkTerms
        from creases.tables._words.terms import plain_name

        schema = self.schema
        return NetworkTerms(schema.encoder, schema.classes, plain_name(schema.target), schema.threshold, self)

    def regions_of(self, X: Floats) -> tuple[Ints, Ints]:
        """Return the regions (n,) of encoded rows X (n, d), by number, and the training rows in each (n,).

        Regions are numbered from 1 by their number of training rows, the most first; 0 is any region without any.
        Regions with the same function are one.
        """
        number = {pattern: k for k, pattern in enumerate(self.regions, 1)}
        patterns = [pattern.tobytes().hex() for pattern in self.network.pattern(X)] if len(X) else []
        patterns = [self.same.get(pattern, pattern) for pattern in patterns]
        return (
            np.array([number.get(pattern, 0) for pattern in patterns], np.int64),
            np.array([self.regions.get(pattern, 0) for pattern in patterns], np.int64),
        )

    def _place(self, X: Floats) -> dict[str, Any]:
        region, rows = self.regions_of(X)
        return {"region": region, "rows in region": rows}

    def _without_rows(self) -> Self:
        """Return the same model without the rows and the run; it keeps its importance."""
        return replace(super()._without_rows(), run=None)


@dataclass(frozen=True, eq=False)
class SavedRun:
    """A growth run, as far as it has come."""

    settings: RunSettings
    data: TableSplit
    history: History
    snapshots: tuple[Snapshot, ...]  #: in order; the last is of the network kept, or the latest of an unfinished run
    digest: str  #: of the data's file; "" for a built-in problem

    @property
    def net(self) -> Network:
        """The network that was kept; of an unfinished run the latest one."""
        return self.snapshots[-1].net

    @property
    def threshold(self) -> float:
        """Probability above which that network predicts the second of two classes."""
        return choose_threshold(self.net, self.data, self.settings.config.threshold)

    @cached_property
    def model(self) -> GrownModel:
        """That network as a model of the table."""
        return make_grown_model(self.net, self.data, threshold=self.threshold, run=self, **self.data.table_names)

    @property
    def epoch(self) -> int:
        """The epoch of that network."""
        return self.snapshots[-1].epoch


def make_grown_model(
    net: Network,
    data: TableSplit,
    *,
    threshold: float,
    run: SavedRun | None = None,
    **named: Any,
) -> GrownModel:
    """Return a network for rows in the data's own units as a model of the table; the rest is for its schema."""
    X = data.rows.X[np.concatenate(data.parts[:2])]
    weight = data.rows.count[np.concatenate(data.parts[:2])]
    regions, same = _count_regions(net, X, weight, named["classes"])
    return GrownModel(
        function=net,
        schema=RowSchema.from_rows(X, (data.scaling.center, data.scaling.spread), threshold=threshold, **named),
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
    packed = table.net.pattern(table.to_network(X)).reshape(len(X), -1)
    first, pattern_of = np.zeros(1, np.int64), np.zeros(len(X), np.int64)
    if packed.shape[1]:  # a network without units has one region
        _, first, pattern_of = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    merged = _merge_functions(*table.pieces(X[first]), table)
    of_rows = merged[pattern_of.reshape(-1)]
    counts = np.bincount(of_rows, weights=count)
    order = np.lexsort((-np.bincount(of_rows), -counts))[:MAX_REGIONS].tolist()  # of equal ones those of most rows
    lead: dict[int, str] = {}
    names = {pattern.tobytes().hex(): region for pattern, region in zip(packed[first], merged.tolist(), strict=True)}
    for name, region in names.items():
        lead.setdefault(region, name)
    listed = set(order)
    same = {name: lead[region] for name, region in names.items() if region in listed and lead[region] != name}
    return {lead[region]: int(counts[region]) for region in order}, same


def _merge_functions(J: Floats, offset: Floats, table: Table) -> Ints:
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
