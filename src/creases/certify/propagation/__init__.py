"""Bound propagation: intervals for every value of a network while its input stays in a box.

``value_bounds`` is interval arithmetic. ``tight_value_bounds`` takes the tightest bounds that a network's size allows:
the partition of the box, linear programs over the convex relaxation of the bends, or linear bounds carried backwards
(CROWN). Intervals and linear bounds hold in real arithmetic: what rounding may change is added to them.
"""

from creases.certify.propagation._intervals import Interval, output_change_bound, value_bounds
from creases.certify.propagation._tight import tight_value_bounds

__all__ = [
    "Interval",
    "output_change_bound",
    "tight_value_bounds",
    "value_bounds",
]
