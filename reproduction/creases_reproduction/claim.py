"""A claim of a source that can be computed: what was printed, how to compute it, and how to judge what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from creases_reproduction.measured import Scale

#: How a claim fares. "agrees": the printed numbers lie within the measured spread, or the theorem holds at every case
#: tried; "agrees in kind": what is said of them holds, the numbers differ; "disagrees": it does not hold.
Verdict = Literal["agrees", "agrees in kind", "disagrees"]

#: The four sources by number.
SOURCES = {
    "000": "slides, Explainable Network Growth by Folding on Typical Mis-predictions (XNG)",
    "001": "paper, Spotting Expressivity Bottlenecks and Fixing Them Optimally (TINY)",
    "002": "dissertation, Local Linearity of ReLU Neural Networks",
    "003": "lecture, Understanding Neural Nets as Splines",
}

#: Numbers by what they are, as JSON has them: numbers, text, lists, mappings of these.
Numbers = Mapping[str, Any]


class Judged(NamedTuple):
    """A verdict with its reason."""

    verdict: Verdict
    why: str  #: a sentence with the measured numbers in it; for other verdicts than "agrees" what differs, and why


class Row(NamedTuple):
    """One printed number beside the measured one, with the 95 % interval where there is a spread."""

    what: str
    printed: float | None
    measured: float | None
    low: float | None = None
    high: float | None = None


class Curve(NamedTuple):
    """A curve of a picture, with the 95 % interval where there is a spread."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Picture:
    """What :func:`creases_reproduction.figures.claims.plot_claim` draws: numbers beside print, curves, or a heat map."""

    rows: Sequence[Row] = ()  #: printed and measured numbers, as dots with intervals
    curves: Sequence[Curve] = ()
    heat: Sequence[Sequence[float]] = ()  #: (rows, columns); printed numbers are not drawn
    x: str = ""  #: what the axes are
    y: str = ""
    x_names: Sequence[str] = ()  #: of a heat map's columns
    y_names: Sequence[str] = ()  #: of its rows
    log: bool = False  #: whether the numbers' axis is logarithmic


@dataclass(frozen=True)
class Claim:
    """A table, figure, theorem or numeric claim of a source."""

    id: str  #: "002-table-3.4": source, kind, number as printed
    place: str  #: where in the source: "Table 3.4", "Proposition 3.2", "section 3.4.2", "slide 23"
    says: str  #: what it claims, in a sentence or two
    printed: str  #: the printed numbers, as text; "" for a theorem
    measure: Callable[[Scale], Numbers] | None  #: computes it; None where it cannot be computed here
    judge: Callable[[Numbers], Judged] | None = None
    picture: Callable[[Numbers], Picture] | None = None
    cannot: str = ""  #: why it cannot be computed here
    full: str = ""  #: what the full scale takes, in words: "2 minutes of 2 cores", "an H200: 9 s"
    misprints: Sequence[str] = field(default_factory=tuple)  #: of reproduce/misprints.py that concern it
    #: Numbers of a full run whose table comes with the package, and how that table was made (kept.py writes these).
    kept: Callable[[], tuple[Numbers, Mapping[str, str]]] | None = None

    @property
    def source(self) -> str:
        """The source's number, "000" to "003"."""
        return self.id.partition("-")[0]
