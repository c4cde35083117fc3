"""How safe the decisions of a data set are: the exact distance of each row to the nearest change of decision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from creases._engines import choose_engine, map_in_order, open_engine
from creases._text import plural
from creases._typing import Bools, Floats, Ints
from creases._validation import check_finite, check_number, check_points
from creases.certify._nearest.nearest import nearest
from creases.errors import InputError
from creases.network import Network, NetworkLike, as_network

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Margins:
    """Distances of n rows to the nearest change of decision, as :func:`margins` returns them."""

    distance: Floats  #: (n,) infinite where no change exists or none was found
    lower_bound: Floats  #: (n,) no change of decision is nearer
    proved: Bools  #: (n,) whether the two agree; `nearest` of a row has the proof
    predicted: Ints  #: (n,) class of each row
    reached: Ints  #: (n,) class at the nearest change; -1 without one
    points: Floats  #: (n, d) the nearest input with a different decision; NaN without one
    norm: str
    seconds: float  #: in all

    @property
    def share_proved(self) -> float:
        """Fraction of the rows whose distance is proved."""
        return float(self.proved.mean())

    def least_safe(self, count: int = 10) -> Ints:
        """Return the rows with the smallest distances, the least safe first."""
        return np.argsort(self.distance, kind="stable")[:count]

    def share_safe(self, radius: float) -> tuple[float, float]:
        """Return the fractions of rows whose decision no change within a radius can alter: proved, and possible.

        The two are equal where all distances are proved.
        """
        radius = check_number(radius, "radius", least=0)
        return float((self.lower_bound >= radius).mean()), float((self.distance >= radius).mean())

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each input, the least safe first."""
        import pandas as pd

        order = self.least_safe(len(self.distance))
        columns = ("distance", "lower_bound", "proved", "predicted", "reached")
        index = pd.Index(order, name="row")
        return pd.DataFrame({name: getattr(self, name)[order] for name in columns}, index=index)

    def __str__(self) -> str:
        finite = self.distance[np.isfinite(self.distance)]
        lines = [f"{self.norm} distance to the nearest change of decision: {plural(len(self.distance), 'row')}, "
                 f"{self.share_proved:.0%} proved"]  # fmt: skip
        if len(finite):
            shares = (0, 5, 25, 50, 75, 95, 100)
            values = np.percentile(finite, shares)
            lines.append(
                "  " + ", ".join(f"{share} %: {value:.3g}" for share, value in zip(shares, values, strict=True))
            )
        rows = ", ".join(f"{row} ({self.distance[row]:.3g})" for row in self.least_safe())
        return "\n".join([*lines, f"  least safe rows: {rows}"])


def margins(
    net: NetworkLike,
    X: Any,
    *,
    norm: str = "l2",
    budget: float = 5.0,
    engine: str | None = None,
    n_jobs: int | None = None,
    address: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    **options: Any,
) -> Margins:
    """Measure how far each row of a data set is from the nearest change of decision.

    Parameters
    ----------
    net
        A network, torch module or file name.
    X
        (n, d) rows.
    norm
        ``"l1"``, ``"l2"`` or ``"linf"``.
    budget
        Seconds for each row.
    engine, n_jobs, address
        Where rows are searched: in this process (``"serial"``), the default without ``n_jobs``; by that many
        ``"local"`` processes, a row at a time; or on a ``"ray"`` cluster, by its address or started here. Distances are
        the same, bit for bit, unless time runs out.
    progress
        Called as ``progress(what, done, total)``.
    **options
        Of :func:`nearest`: ``target``, ``box``, ``fixed``, ``integer``, ``one_hot``, ``weights``, ``rising``,
        ``falling``, ``tolerance``, ``way``.

    Examples
    --------
    >>> import creases
    >>> net = creases.read([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [-1.0])])  # |x| - 1
    >>> result = margins(net, [[0.0], [0.75], [3.0]])
    >>> result.distance.round(6).tolist(), result.share_proved
    ([1.0, 0.25, 2.0], 1.0)
    >>> result.least_safe(1).tolist(), result.share_safe(0.5)
    ([1], (0.6666666666666666, 0.6666666666666666))
    """
    work = as_network(net).to("cpu").to(torch.float64)
    rows = check_points(X, work.n_in, "X")
    check_finite(rows, "X")
    if not len(rows):
        raise InputError("X", "have at least one row", "none")
    if "count" in options:
        raise InputError("count", "be left out", f"{options['count']!r}", "one distance is measured for each row")
    name = choose_engine(engine, n_jobs, address)
    measure = partial(_measure, work, norm=norm, budget=budget, **options)
    answers: list[tuple[Any, ...]] = []
    with open_engine(name, measure, len(rows), n_jobs, address) as workers:
        for answer in map_in_order(workers, ((row,) for row in rows)):
            answers.append(answer)
            if progress is not None:
                progress("measuring distances", len(answers), len(rows))
    distance, lower_bound, proved, predicted, reached, points, seconds = zip(*answers, strict=True)
    nowhere = np.full(work.n_in, np.nan)
    return Margins(
        np.array(distance),
        np.array(lower_bound),
        np.array(proved),
        np.array(predicted),
        reached=np.array([-1 if value is None else value for value in reached]),
        points=np.array([nowhere if point is None else point for point in points]),
        norm=norm,
        seconds=sum(seconds),
    )


#: What is kept of a :class:`Change`, which also holds the question with all of the network.
KEPT = ("distance", "lower_bound", "proved", "predicted", "reached", "point", "seconds")


def _measure(net: Network, row: Floats, **options: Any) -> tuple[Any, ...]:
    change = nearest(net, row, **options)
    return tuple(getattr(change, name) for name in KEPT)
