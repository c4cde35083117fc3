"""What changed between two networks of any architecture: at samples, on a line, on a plane, in a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from creases.compare.differences._at_samples import SampleDifference, difference_at_samples
from creases.compare.differences._in_box import BoxDifference, difference_in_box
from creases.compare.differences._joint import check_pair
from creases.compare.differences._on_partition import PartitionDifference, difference_on_line, difference_through
from creases.errors import InputError
from creases.network import Network, PointsLike


@dataclass(frozen=True, eq=False)
class Difference:
    """What changed between two networks, where it was asked; ``print`` it for a summary in words."""

    samples: SampleDifference | None = None
    line: PartitionDifference | None = None  #: on the segment between two points
    plane: PartitionDifference | None = None  #: on the plane through three points
    box: BoxDifference | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing changed, wherever it was asked."""
        return all(part.empty for part in (self.samples, self.line, self.plane, self.box) if part is not None)

    def __str__(self) -> str:
        return "\n".join(str(part) for part in (self.samples, self.line, self.plane, self.box) if part is not None)


def difference(
    a: Network,
    b: Network,
    x: PointsLike | None = None,
    *,
    labels: Any = None,
    through: Sequence[Any] | None = None,
    box: Any = None,
) -> Difference:
    """What changed between two networks of the same inputs and as many outputs, of whatever architecture.

    Parameters
    ----------
    a, b
        From :func:`creases.read`. With one output the decision is its sign, with more the largest.
    x
        (p, ...) samples: where decisions differ, the largest ``|a - b|``, the samples whose piece changed most.
    labels
        (p,) the classes of the samples, if known.
    through
        Two points, for the segment between them, or three, for the plane through them: all regions of different
        decisions there, and the largest ``|a - b|``, exactly.
    box
        ``[(lo, hi)] * n_in``: the largest ``|a - b|`` in it, exactly in up to three dimensions, else what a search
        (also from the samples) found and what is proved.

    Examples
    --------
    >>> import creases
    >>> a = creases.read([([[1.0, 0.0]], [0.0]), ([[1.0]], [-0.5])])  # relu(x) - 0.5: class 1 beyond 0.5
    >>> b = creases.read([([[1.0, 0.0]], [0.0]), ([[1.0]], [-0.25])])
    >>> found = difference(a, b, box=[(-1, 1), (-1, 1)])
    >>> print(found)  # doctest: +NORMALIZE_WHITESPACE
    The networks decide differently in the box on 12.5 % of it, in 1 part: in the largest, of volume 0.5, a says
    0 and b says 1.
    Largest |a - b| there, exactly: 0.25 (output 0).
    >>> difference(a, a, box=[(-1, 1), (-1, 1)]).empty
    True
    """
    check_pair(a, b)
    if x is None and through is None and box is None:
        raise InputError("x, through, box: nothing to look at; give samples, two or three points, or a box")
    if labels is not None and x is None:
        raise InputError("labels: given without samples; give these as x")
    if through is not None and len(through) not in (2, 3):
        raise InputError(f"through: expected two points (a line) or three (a plane), got {len(through)}")
    return Difference(
        samples=None if x is None else difference_at_samples(a, b, x, labels),
        line=difference_on_line(a, b, *through) if through is not None and len(through) == 2 else None,
        plane=difference_through(a, b, through) if through is not None and len(through) == 3 else None,
        box=None if box is None else difference_in_box(a, b, box, start=x),
    )
