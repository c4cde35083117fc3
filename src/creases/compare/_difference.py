"""The difference of two networks of any architecture: at samples, on a line, on a plane, in a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from creases._display import Described, describe
from creases._document import Document
from creases._schema import optional, sequence
from creases._validation import check_arguments
from creases.certify.differences import as_pair
from creases.compare.differences._at_samples import SampleDifference, difference_at_samples
from creases.compare.differences._in_box import BoxDifference, difference_in_box
from creases.compare.differences._on_partition import PartitionDifference, difference_on_line, difference_through
from creases.errors import InputError
from creases.network import Network, PointsLike


@dataclass(frozen=True, eq=False)
class Difference(Described):
    """The difference of two networks; ``print`` it for a summary in words."""

    samples: SampleDifference | None = None
    line: PartitionDifference | None = None  #: on the segment between two points
    plane: PartitionDifference | None = None  #: on the plane through three points
    box: BoxDifference | None = None

    @property
    def empty(self) -> bool:
        """Whether the networks are the same everywhere they were compared."""
        return all(part.empty for part in (self.samples, self.line, self.plane, self.box) if part is not None)

    def describe(self) -> Document:
        """Return the difference in words, and which decisions changed at samples."""
        return describe(self)

    def __str__(self) -> str:
        return "\n".join(str(part) for part in (self.samples, self.line, self.plane, self.box) if part is not None)


@check_arguments(through=optional(sequence()))
def difference(
    a: Network,
    b: Network,
    X: PointsLike | None = None,
    *,
    y: Any = None,
    through: Sequence[Any] | None = None,
    box: Any = None,
) -> Difference:
    """Compare two networks of any architectures with the same inputs and outputs.

    Parameters
    ----------
    a, b
        Networks, torch modules or file names. With one output the decision is its sign, with more the largest.
    X
        (p, ...) samples: reports where decisions differ, the largest ``|a - b|``, and the samples whose piece changed
        most.
    y
        (p,) the classes of the samples, if known.
    through
        Two points, for the segment between them, or three, for the plane through them: reports all regions with
        different decisions there, and the largest ``|a - b|``, exactly.
    box
        ``(lo, hi)`` for all inputs, or a pair for each: reports the largest ``|a - b|`` in the box and the fraction
        of it where they disagree, exactly in up to five dimensions if there are not too many regions. Otherwise an
        attained lower bound and a proved upper bound, and an input where they disagree or, if the bounds suffice, a
        proof that there is none.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0, 0.0]], [0.0]), ([[1.0]], [-0.5])])  # relu(x) - 0.5: class 1 beyond 0.5
    >>> b = creases.read([([[1.0, 0.0]], [0.0]), ([[1.0]], [-0.25])])
    >>> print(difference(a, b, box=(-1, 1)))  # doctest: +NORMALIZE_WHITESPACE
    The networks disagree in the box on 12.5 % of it, in 1 part; in the largest (volume 0.5), a predicts 0 and
    b predicts 1.
    Largest |a - b| there, exactly: 0.25 (output 0).
    >>> difference(a, a, box=(-1, 1)).empty
    True
    """
    a, b = as_pair(a, b)
    if X is None and through is None and box is None:
        raise InputError("X", "be given, or through or box: samples, two or three points, or a box to compare in")
    if y is not None and X is None:
        raise InputError("y", "come with samples", hint="give the samples as X")
    if through is not None and len(through) not in (2, 3):
        raise InputError("through", "be two points (a line) or three (a plane)", f"{len(through)}")
    return Difference(
        samples=None if X is None else difference_at_samples(a, b, X, y),
        line=difference_on_line(a, b, *through) if through is not None and len(through) == 2 else None,
        plane=difference_through(a, b, through) if through is not None and len(through) == 3 else None,
        box=None if box is None else difference_in_box(a, b, box, start=X),
    )
