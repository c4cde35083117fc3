"""Claims of the sources: what is printed, how to compute it, and how to judge the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from creases_reproduction.experiment import Scale

#: What a judge says of numbers; ``pages.py`` has the words. Numbers of a set-up that shows nothing of the claim
#: (``Claim.incomparable``) are "not comparable", whatever the judge says.
Verdict = Literal["agrees", "agrees in kind", "disagrees"]

#: The families of claims, one for each source, in the order of the catalogue.
FAMILIES = {
    "xng": "slides, Explainable Network Growth by Folding on Typical Mis-predictions (XNG)",
    "tiny": "paper, Spotting Expressivity Bottlenecks and Fixing Them Optimally (TINY)",
    "linearity": "dissertation, Local Linearity of ReLU Neural Networks",
    "splines": "lecture, Understanding Neural Nets as Splines",
}

#: Measured numbers by name, as JSON holds them: numbers, text, lists, mappings.
Numbers = Mapping[str, Any]


class Judgement(NamedTuple):
    """A verdict with its reason."""

    verdict: Verdict
    why: str  #: a sentence with the measured numbers; unless the verdict is "agrees", also what differs and why


class Row(NamedTuple):
    """A printed number beside the measured one, with a 95 % interval where there is a spread."""

    what: str
    printed: float | None
    measured: float | None
    low: float | None = None
    high: float | None = None


class Curve(NamedTuple):
    """A curve of a picture, with 95 % intervals where there is a spread."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Picture:
    """The content of a claim's figure: printed and measured numbers, curves, or a heat map."""

    rows: Sequence[Row] = ()  #: printed and measured numbers, drawn as dots with intervals
    curves: Sequence[Curve] = ()
    heat: Sequence[Sequence[float]] = ()  #: (rows, columns) of a heat map; printed numbers are not drawn
    x: str = ""  #: axis labels
    y: str = ""
    x_names: Sequence[str] = ()  #: of a heat map's columns
    y_names: Sequence[str] = ()  #: of its rows
    log: bool = False  #: whether the axis of the numbers is logarithmic


@dataclass(frozen=True)
class Claim:
    """A table, figure, theorem or numeric statement of a source."""

    id: str  #: "linearity/table-3.4": family, kind, number as printed
    place: str  #: where in the source: "Table 3.4", "Proposition 3.2", "section 3.4.2", "slide 23"
    says: str  #: the statement, in a sentence or two
    printed: str = ""  #: the printed numbers, as text; "" for a theorem
    measure: Callable[[Scale], Numbers] | None = None  #: computes the numbers; None where that is not possible here
    judge: Callable[[Numbers], Judgement] | None = None
    picture: Callable[[Numbers], Picture] | None = None
    cannot: str = ""  #: why it cannot be computed here
    full: str = ""  #: the cost of the full scale, in words: "2 minutes of 2 cores", "an H200: 9 s"
    misprints: Sequence[str] = field(default_factory=tuple)  #: ids of the misprints that concern it
    #: Why numbers computed here cannot be compared with the source: it names no measure, or its set-up is another one
    #: in seeds, time, width or data. "" where they can; a function where it depends on the numbers.
    incomparable: str | Callable[[Numbers], str] = ""
    #: Numbers from the table of a full run that comes with the package, and how that table was made.
    from_table: Callable[[], tuple[Numbers, Mapping[str, str]]] | None = None

    @property
    def family(self) -> str:
        """The family, a key of ``FAMILIES``: the first part of the id."""
        return self.id.partition("/")[0]
